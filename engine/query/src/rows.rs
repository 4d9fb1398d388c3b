//! Rows of recent lists in memory: decoded records, and their JSON in the forms of recent responses.
//!
//! A row belongs to one version of one record. Every list reads the current versions from the store. So a list never
//! has an outdated row or a deleted record, whichever process wrote the record. Nothing has to be invalidated: rows of
//! earlier versions are replaced, or dropped with their generation.
//!
//! Like the index, rows contain patient data in the memory of the process, and are never written to a disk.

use std::{any::Any, borrow::Borrow, collections::HashMap, mem, ops::Deref, sync::Arc};

use parking_lot::Mutex;
use records::document::Document;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest, Sha256};
use store::{Key, SealedValue, Version};

/// Maximum size of all rows, by an estimate of each: about 25,000 patients.
const MOST_BYTES: usize = 64 << 20;
/// Number of locks. Records with consecutive ids have different ones.
const SHARDS: usize = 16;
/// Overhead of a row and of a form, in addition to their contents.
const OVERHEAD: usize = 256;
/// Maximum number of forms of a row. A further one replaces the oldest.
const FORMS: usize = 4;

/// A record of a list.
pub struct Row<D>(Arc<CachedRow<D>>);

struct CachedRow<D> {
    record: D,
    shard: usize,
    /// Size without the forms.
    bytes: usize,
    forms: Mutex<Vec<RenderedForm>>,
}

struct RenderedForm {
    form: Form,
    also: Option<Box<str>>,
    rendered: Arc<Rendered>,
}

/// The properties of a response on which its rows depend, in addition to their records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The path of the endpoint, which determines the view.
    pub endpoint: &'static str,
    /// The version of the API.
    pub version: &'static str,
    /// The view contains amounts of records that are not about money.
    pub amounts: bool,
    /// The number of the setup, whose names and time zones a view may contain.
    pub setup: u64,
}

/// A row as JSON.
pub struct Rendered {
    pub text: Box<RawValue>,
    pub digest: u128,
}

impl<D> Deref for Row<D> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.0.record
    }
}

impl<D> Borrow<D> for Row<D> {
    fn borrow(&self) -> &D {
        self
    }
}

impl<D> Row<D> {
    fn bytes(&self) -> usize {
        self.0.bytes + self.0.forms.lock().iter().map(RenderedForm::bytes).sum::<usize>()
    }
}

impl RenderedForm {
    fn bytes(&self) -> usize {
        OVERHEAD + self.rendered.text.get().len() + self.also.as_ref().map_or(0, |also| also.len())
    }
}

impl Rendered {
    fn new(view: &impl Serialize) -> Result<Rendered, serde_json::Error> {
        let text = to_raw_value(view)?;
        let digest: [u8; 32] = Sha256::digest(text.get()).into();
        let digest = u128::from_be_bytes(std::array::from_fn(|at| digest[at]));
        Ok(Rendered { text, digest })
    }
}

/// Rows in two generations. When the younger one is full, the older one is dropped.
#[derive(Default)]
struct Shard {
    young: HashMap<Key, StoredRow>,
    old: HashMap<Key, StoredRow>,
    /// Bytes added to rows since `young` was begun.
    bytes: usize,
}

struct StoredRow {
    version: Version,
    /// A `CachedRow`.
    row: Arc<dyn Any + Send + Sync>,
}

impl StoredRow {
    fn row<D: Document>(&self, version: Version) -> Option<Row<D>> {
        let row = Some(&self.row).filter(|_| self.version == version)?;
        row.clone().downcast().ok().map(Row)
    }
}

impl Shard {
    /// Returns the row of this version, which is then in the younger generation.
    fn get<D: Document>(&mut self, key: &[u8], version: Version, most_bytes: usize) -> Option<Row<D>> {
        if let Some(known) = self.young.get(key) {
            return known.row(version);
        }
        let row = self.old.get(key)?.row::<D>(version)?;
        let (key, known) = self.old.remove_entry(key)?;
        self.add(key, known, row.bytes(), most_bytes);
        Some(row)
    }

    /// Adds a row, unless it is larger than a generation.
    fn add(&mut self, key: Key, row: StoredRow, bytes: usize, most_bytes: usize) {
        if bytes <= most_bytes {
            self.charge(bytes, most_bytes);
            self.young.insert(key, row);
        }
    }

    /// Counts bytes, and begins a generation if the younger one would exceed its limit.
    fn charge(&mut self, bytes: usize, most_bytes: usize) {
        if self.bytes + bytes > most_bytes {
            self.old = mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += bytes;
    }
}

/// The rows of a store's records.
pub struct RowCache {
    /// Maximum size of a generation of a shard.
    most_bytes: usize,
    shards: [Mutex<Shard>; SHARDS],
}

impl Default for RowCache {
    fn default() -> RowCache {
        RowCache::with_bytes(MOST_BYTES)
    }
}

impl RowCache {
    fn with_bytes(bytes: usize) -> RowCache {
        RowCache { most_bytes: bytes / SHARDS / 2, shards: Default::default() }
    }

    /// Returns the row of a record. `decode` is called if the row is not in memory. It returns the record and the size
    /// of its JSON.
    pub(crate) fn row<D: Document, E>(
        &self,
        key: Key,
        value: SealedValue,
        decode: impl FnOnce(&[u8], SealedValue) -> Result<(D, usize), E>,
    ) -> Result<Row<D>, E> {
        let shard = usize::from(key.last().copied().unwrap_or_default()) % SHARDS;
        let version = value.version;
        if let Some(row) = self.shards[shard].lock().get(&key, version, self.most_bytes) {
            return Ok(row);
        }
        let (record, json_bytes) = decode(&key, value)?;
        // The texts of a record take at most the size of its JSON, and lists of numbers up to twice as much.
        let bytes = OVERHEAD + key.len() + size_of::<CachedRow<D>>() + 2 * json_bytes;
        let row = Arc::new(CachedRow { record, shard, bytes, forms: Mutex::default() });
        let stored = StoredRow { version, row: row.clone() };
        self.shards[shard].lock().add(key, stored, bytes, self.most_bytes);
        Ok(Row(row))
    }

    /// Returns a row as JSON, in a form. `view` is called if the row was not rendered in this form before. It may
    /// depend on the record, the form and `also` only.
    pub fn rendered<'a, D, V: Serialize>(
        &self,
        row: &'a Row<D>,
        form: Form,
        also: Option<&str>,
        view: impl FnOnce(&'a D) -> V,
    ) -> Result<Arc<Rendered>, serde_json::Error> {
        let is_asked = |known: &&RenderedForm| known.form == form && known.also.as_deref() == also;
        if let Some(known) = row.0.forms.lock().iter().find(is_asked) {
            return Ok(known.rendered.clone());
        }
        let rendered = Arc::new(Rendered::new(&view(&row.0.record))?);
        let new = RenderedForm { form, also: also.map(Box::from), rendered: rendered.clone() };
        let bytes = new.bytes();
        if bytes <= self.most_bytes {
            let mut forms = row.0.forms.lock();
            // Another thread may have rendered the same form meanwhile.
            if let Some(known) = forms.iter().find(is_asked) {
                return Ok(known.rendered.clone());
            }
            if forms.len() == FORMS {
                forms.remove(0);
            }
            forms.push(new);
            // `Shard::get` takes the locks in the other order.
            drop(forms);
            self.shards[row.0.shard].lock().charge(bytes, self.most_bytes);
        }
        Ok(rendered)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::Cell;

    use location::time::Timestamp;
    use proptest::prelude::*;
    use records::{Patient, record::Record};
    use store::{Batch, MemoryStore, Store, StoreError, keys};

    use super::*;

    const OWNER: u32 = 7;
    const IDS: u64 = 40;

    #[derive(Clone, Debug)]
    enum Step {
        /// Creates or changes a record, marks it as deleted, or restores it.
        Put {
            id: u64,
            name: usize,
            deleted: bool,
        },
        Remove(u64),
        /// Reads all records in a form.
        Read {
            version: bool,
            amounts: bool,
            setup: u64,
            also: Option<&'static str>,
        },
    }

    fn some_step() -> impl Strategy<Value = Step> {
        let also = prop::sample::select(vec![None, Some("Anna"), Some("Ben")]);
        prop_oneof![
            4 => (1..=IDS, 0..400usize, any::<bool>()).prop_map(|(id, name, deleted)| Step::Put { id, name, deleted }),
            1 => (1..=IDS).prop_map(Step::Remove),
            3 => (any::<bool>(), any::<bool>(), 0..3u64, also)
                .prop_map(|(version, amounts, setup, also)| Step::Read { version, amounts, setup, also }),
        ]
    }

    type View<'a> = (Option<&'static str>, Option<&'a str>, u64, Option<&'a Record<Patient>>, &'a str);

    fn view<'a>(form: Form, also: Option<&'a str>, it: &'a Record<Patient>) -> View<'a> {
        (
            form.amounts.then_some("amounts"),
            also,
            form.setup,
            (form.version == "v2").then_some(it),
            it.first_name.as_str(),
        )
    }

    #[derive(Default)]
    struct RowsWorld {
        store: MemoryStore,
        rows: RowCache,
        decoded: Cell<usize>,
    }

    impl RowsWorld {
        fn with_bytes(bytes: usize) -> RowsWorld {
            RowsWorld { rows: RowCache::with_bytes(bytes), ..RowsWorld::default() }
        }

        fn key(id: u64) -> Key {
            keys::record(Record::<Patient>::BYTE, OWNER, id)
        }

        fn write(&self, id: u64, patient: Option<&Record<Patient>>) {
            let mut batch = Batch::new();
            match patient {
                Some(patient) => batch.put(Self::key(id), serde_json::to_vec(patient).unwrap()),
                None => batch.delete(Self::key(id)),
            };
            self.store.commit_now(batch).unwrap();
        }

        fn row(&self, id: u64) -> Option<Row<Record<Patient>>> {
            let key = Self::key(id);
            let value = self.store.get_sealed(std::slice::from_ref(&key)).unwrap().remove(0)?;
            let row = self.rows.row(key, value, |key, value| {
                self.decoded.set(self.decoded.get() + 1);
                let json = self.store.unseal(key, value)?;
                Ok::<_, StoreError>((serde_json::from_slice(&json).unwrap(), json.len()))
            });
            Some(row.unwrap())
        }

        /// Compares all rows with the stored records.
        fn compare(&self, form: Form, also: Option<&str>) {
            for id in 1..=IDS {
                let stored = self.store.get(&Self::key(id)).unwrap();
                let stored: Option<Record<Patient>> = stored.map(|value| serde_json::from_slice(&value).unwrap());
                let row = self.row(id);
                assert_eq!(row.is_some(), stored.is_some(), "{id}");
                let Some((row, stored)) = row.zip(stored) else { continue };
                let rendered = self.rows.rendered(&row, form, also, |it| view(form, also, it)).unwrap();
                let expected = Rendered::new(&view(form, also, &stored)).unwrap();
                assert_eq!((rendered.text.get(), rendered.digest), (expected.text.get(), expected.digest), "{id}");
            }
        }

        /// Returns the size of all rows.
        fn bytes(&self) -> usize {
            let of_row = |it: &StoredRow| it.row::<Record<Patient>>(it.version).unwrap().bytes();
            let of_shard = |shard: &Mutex<Shard>| -> usize {
                let shard = shard.lock();
                shard.young.values().chain(shard.old.values()).map(of_row).sum()
            };
            self.rows.shards.iter().map(of_shard).sum()
        }
    }

    fn patient(id: u64, name: usize) -> Record<Patient> {
        let body = Patient { first_name: "N".repeat(name), ..Patient::default() };
        Record::new(id as u32, OWNER, Timestamp(0), body)
    }

    const FORM: Form = Form { endpoint: "/patients", version: "v2", amounts: false, setup: 1 };

    proptest! {
        #[test]
        fn rows_equal_the_stored_records_in_any_history_and_size(
            steps in prop::collection::vec(some_step(), 1..60),
            bytes in prop::sample::select(vec![0_usize, 60_000, 200_000, 64 << 20]),
        ) {
            let world = RowsWorld::with_bytes(bytes);
            for step in steps {
                match step {
                    Step::Put { id, name, deleted } => {
                        let deleted_at = deleted.then_some(Timestamp(1));
                        world.write(id, Some(&Record { deleted_at, ..patient(id, name) }));
                    }
                    Step::Remove(id) => world.write(id, None),
                    Step::Read { version, amounts, setup, also } => {
                        let version = if version { "v2" } else { "v3" };
                        world.compare(Form { version, amounts, setup, ..FORM }, also);
                    }
                }
                prop_assert!(world.bytes() <= bytes, "{} bytes of {bytes}", world.bytes());
            }
        }
    }

    #[test]
    fn unchanged_rows_are_decoded_and_rendered_once() {
        let world = RowsWorld::default();
        (1..=IDS).for_each(|id| world.write(id, Some(&patient(id, 3))));
        let rendered = Cell::new(0);
        let read = |form| {
            for id in 1..=IDS {
                let count = |it| {
                    rendered.set(rendered.get() + 1);
                    view(form, None, it)
                };
                world.rows.rendered(&world.row(id).unwrap(), form, None, count).unwrap();
            }
            (world.decoded.take(), rendered.take())
        };
        assert_eq!(read(FORM), (40, 40));
        assert_eq!(read(FORM), (0, 0));
        assert_eq!(read(Form { amounts: true, ..FORM }), (0, 40));
        assert_eq!(read(FORM), (0, 0));
        world.write(5, Some(&patient(5, 4)));
        world.write(6, Some(&patient(6, 3)));
        assert_eq!(read(FORM), (2, 2), "a version is rendered, whatever its content");
    }

    #[test]
    fn a_row_keeps_its_latest_forms() {
        let world = RowsWorld::default();
        world.write(1, Some(&patient(1, 3)));
        let row = world.row(1).unwrap();
        for setup in 0..10 {
            world.rows.rendered(&row, Form { setup, ..FORM }, None, |it| view(FORM, None, it)).unwrap();
        }
        let kept: Vec<u64> = row.0.forms.lock().iter().map(|known| known.form.setup).collect();
        assert_eq!(kept, [6, 7, 8, 9]);
    }

    #[test]
    fn a_form_that_two_threads_render_is_kept_once() {
        let world = RowsWorld::default();
        world.write(1, Some(&patient(1, 3)));
        let row = world.row(1).unwrap();
        let other_thread = Cell::new(None);
        let rendered = world.rows.rendered(&row, FORM, None, |it| {
            other_thread.set(Some(world.rows.rendered(&row, FORM, None, |it| view(FORM, None, it)).unwrap()));
            view(FORM, None, it)
        });
        assert!(Arc::ptr_eq(&rendered.unwrap(), &other_thread.take().unwrap()));
        assert_eq!(row.0.forms.lock().len(), 1);
    }

    #[test]
    fn a_value_under_another_key_is_decoded() {
        let world = RowsWorld::default();
        world.write(1, Some(&patient(1, 3)));
        world.row(1).unwrap();
        let moved = world.store.get_sealed(&[RowsWorld::key(1)]).unwrap().remove(0).unwrap();
        let refused = world.rows.row::<Record<Patient>, _>(RowsWorld::key(17), moved, |_, _| Err("not opened"));
        assert_eq!(refused.err(), Some("not opened"));
    }
}
