//! The times at which institutions and locations were first set up and last changed. Read without an actor.

use location::Timestamp;
use records::document::DocumentKind;
use serde::{Deserialize, Serialize};
use setup::{Institution, LocationSetup, Setup, country::CountryCode};
use sha2::{Digest, Sha256};
use store::{Batch, CommitError, Key, Store, StoreError, keys};

/// The setup times of an institution or a location, as observed at starts and reloads of the setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetUp {
    pub first: Timestamp,
    /// Time of the start or reload that found a change.
    pub changed: Timestamp,
    digest: [u8; 16],
}

/// Institutions or locations per commit.
const AT_ONCE: usize = 500;
/// Scopes of the records.
pub(crate) const INSTITUTIONS: u32 = 0;
pub(crate) const LOCATIONS: u32 = 1;
/// The record of all institutions and locations has id 0. It is committed last.
const ALL: u32 = 2;

/// Stores the times of new and changed parts of the setup. If nothing changed, it reads one record: reading those of
/// all locations would delay a start, and fill the store's cache.
pub(crate) async fn note(store: &dyn Store, setup: &Setup, now: Timestamp) -> Result<(), CommitError> {
    let institutions =
        setup.institutions.values().map(|it| (set_up_key(INSTITUTIONS, it.id.0), institution_digest(it)));
    let locations = setup.locations.values().map(|it| (set_up_key(LOCATIONS, it.id.0), location_digest(it)));
    let mut all: Vec<(Key, [u8; 16])> = institutions.chain(locations).collect();
    let (key, digest) = (set_up_key(ALL, 0), digest_of_all(&all));
    if read(store, &key)?.is_some_and(|before| before.digest == digest) {
        return Ok(());
    }
    if all.len() >= AT_ONCE {
        // If the commits below are interrupted, the next start compares all parts, even those of the previous setup.
        let mut removal = Batch::new();
        removal.delete(key.clone());
        store.commit(removal).await?;
    }
    all.push((key, digest));
    for some in all.chunks(AT_ONCE) {
        let mut batch = Batch::new();
        for (key, digest) in some {
            let before = read(store, key)?;
            if before.is_none_or(|before| before.digest != *digest) {
                let noted = SetUp { first: before.map_or(now, |it| it.first), changed: now, digest: *digest };
                batch.put(key.clone(), serde_json::to_vec(&noted).expect("numbers can always be written as JSON"));
            }
        }
        if !batch.is_empty() {
            store.commit(batch).await?;
        }
    }
    Ok(())
}

pub(crate) fn set_up_key(scope: u32, id: u32) -> Key {
    keys::record(DocumentKind::SetUp.byte(), scope, id.into())
}

pub(crate) fn read(store: &dyn Store, key: &[u8]) -> Result<Option<SetUp>, StoreError> {
    let Some(value) = store.get(key)? else { return Ok(None) };
    serde_json::from_slice(&value).map(Some).map_err(|_| StoreError::damaged(key, "not the record of a setup"))
}

fn institution_digest(it: &Institution) -> [u8; 16] {
    digest(&(&it.subdomain, &it.name, &it.phone_number, it.country_code.as_str()))
}

/// Returns a digest of the fields that the API shows.
fn location_digest(it: &LocationSetup) -> [u8; 16] {
    let country = it.country_code.as_ref().map(CountryCode::as_str);
    let place = (&it.street_address, &it.extras().street_address_2, &it.city, &it.state, &it.zip_code, country);
    let status = format!("{:?}", it.status);
    let way = (it.extras().latitude, it.extras().longitude, &it.phone_number, &it.email, it.zone.name());
    digest(&(&it.name, place, way, it.map_by_operatory, status, it.source, &it.foreign_id))
}

fn digest(shown: &impl Serialize) -> [u8; 16] {
    let text = serde_json::to_vec(shown).expect("texts and numbers can always be written as JSON");
    *Sha256::digest(&text).first_chunk().expect("a digest is longer")
}

fn digest_of_all(parts: &[(Key, [u8; 16])]) -> [u8; 16] {
    let mut hash = Sha256::new();
    for (key, digest) in parts {
        hash.update(key);
        hash.update(digest);
    }
    *hash.finalize().first_chunk().expect("a digest is longer")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use store::MemoryStore;

    use super::*;

    fn setup(name: &str) -> Setup {
        testing::setup([Institution { name: name.into(), ..testing::institution(1) }], [], [])
    }

    #[tokio::test]
    async fn first_setup_time_is_kept_and_changes_are_recorded() {
        let store = MemoryStore::new();
        let noted = || {
            let noted = read(&store, &set_up_key(INSTITUTIONS, 1)).unwrap().unwrap();
            (noted.first.0, noted.changed.0)
        };
        note(&store, &setup("Acme"), Timestamp(1)).await.unwrap();
        assert_eq!(noted(), (1, 1));
        note(&store, &setup("Acme"), Timestamp(2)).await.unwrap();
        assert_eq!(noted(), (1, 1), "the same as before");
        note(&store, &setup("Acme Dental"), Timestamp(3)).await.unwrap();
        assert_eq!(noted(), (1, 3));
    }

    #[tokio::test]
    async fn unchanged_setup_reads_no_institution() {
        let (store, key) = (MemoryStore::new(), set_up_key(INSTITUTIONS, 1));
        note(&store, &setup("Acme"), Timestamp(1)).await.unwrap();
        let mut removal = Batch::new();
        removal.delete(key.clone());
        store.commit_now(removal).unwrap();
        note(&store, &setup("Acme"), Timestamp(2)).await.unwrap();
        assert_eq!(read(&store, &key).unwrap(), None);
        note(&store, &setup("Acme Dental"), Timestamp(3)).await.unwrap();
        assert!(read(&store, &key).unwrap().is_some());
        note(&store, &setup("Acme"), Timestamp(4)).await.unwrap();
        assert_eq!(read(&store, &key).unwrap().unwrap().changed, Timestamp(4));
    }

    #[tokio::test]
    async fn previous_setup_after_an_interrupted_change_is_recorded() {
        let setup = |name: &str| {
            let institution = |id| Institution { name: name.into(), ..testing::institution(id) };
            testing::setup((1..=600).map(institution), [], [])
        };
        let store = testing::HookedStore::default().on_commit(|inner, batch| {
            // The first setup takes three commits, and the change fails in its third.
            inner.set_full(inner.commits() == 5);
            inner.commit(batch)
        });
        note(&store, &setup("Acme"), Timestamp(1)).await.unwrap();
        note(&store, &setup("Acme Dental"), Timestamp(2)).await.unwrap_err();
        store.inner.set_full(false);
        note(&*store.inner, &setup("Acme"), Timestamp(3)).await.unwrap();
        let changed = |id| read(&*store.inner, &set_up_key(INSTITUTIONS, id)).unwrap().unwrap().changed;
        assert_eq!((changed(1), changed(600)), (Timestamp(3), Timestamp(1)));
    }
}
