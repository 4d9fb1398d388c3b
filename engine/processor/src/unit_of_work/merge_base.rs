//! Merge bases: the EHR's version of a record while a local change of the record is pending. A refused change is
//! reverted to the merge base, and pulls update it instead of the document.

use std::collections::BTreeSet;

use location::WriteIntent;
use records::{Appointment, Record, document::Document};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use store::keys;

use crate::{Reject, UnitOfWork, processor::decode};

impl UnitOfWork<'_> {
    /// Stores the record as the merge base before its first change, unless an earlier change has stored one.
    pub fn keep_merge_base<T: Document>(&mut self, record: &T) -> Result<(), Reject> {
        let key = keys::before(T::BYTE, record.scope(), record.id());
        if self.guarded(key.clone())?.is_none() {
            let bytes = serde_json::to_vec(record).map_err(|_| Reject::Damaged("a document that cannot be kept"))?;
            self.put_raw(key, bytes);
        }
        Ok(())
    }

    /// Returns the EHR's version of a record that is being changed here.
    pub fn merge_base<T: Document>(&mut self, scope: u32, id: u64) -> Result<Option<T>, Reject> {
        if self.is_fresh::<T>(id) {
            return Ok(None);
        }
        self.guarded(keys::before(T::BYTE, scope, id))?.map(|bytes| decode(&bytes)).transpose()
    }

    /// Stores the version that a pull shows of a record that is being changed here.
    pub fn set_merge_base<T: Document>(&mut self, record: &T) -> Result<(), Reject> {
        let bytes = serde_json::to_vec(record).map_err(|_| Reject::Damaged("a document that cannot be kept"))?;
        self.put_raw(keys::before(T::BYTE, record.scope(), record.id()), bytes);
        Ok(())
    }

    /// Deletes the merge base, because no change is pending any more.
    pub fn forget_merge_base<T: Document>(&mut self, scope: u32, id: u64) {
        self.delete(keys::before(T::BYTE, scope, id));
    }
}

pub fn fields<T: Serialize>(record: &T) -> Result<Map<String, Value>, Reject> {
    match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(Reject::Damaged("a document that cannot be kept")),
    }
}

/// Applies a pending local change to the EHR's current version, so that staff's changes of other fields are kept.
pub fn three_way_merge<T: Serialize + DeserializeOwned>(had: &T, local: &T, has: &T) -> Result<T, Reject> {
    let (had, local, mut merged) = (fields(had)?, fields(local)?, fields(has)?);
    // Fields without a value may be absent.
    let names: BTreeSet<&String> = had.keys().chain(local.keys()).collect();
    for name in names.into_iter().filter(|name| had.get(*name) != local.get(*name)) {
        match local.get(name) {
            Some(value) => merged.insert(name.clone(), value.clone()),
            None => merged.remove(name),
        };
    }
    serde_json::from_value(Value::Object(merged)).map_err(|_| Reject::Damaged("a document that cannot be kept"))
}

/// Copies the fields that a write of an appointment covers.
pub fn copy_written(work: WriteIntent, from: &Record<Appointment>, to: &mut Record<Appointment>) {
    match work {
        WriteIntent::Confirm(_) => (to.confirmed, to.confirmed_at) = (from.confirmed, from.confirmed_at),
        WriteIntent::CheckIn(_) => to.checkin_at = from.checkin_at,
        WriteIntent::Note(_) => to.note.clone_from(&from.note),
        // The machine keeps the placements.
        WriteIntent::CreatePatient(_)
        | WriteIntent::CreateAppointment(_)
        | WriteIntent::Reschedule(_)
        | WriteIntent::Replace(_)
        | WriteIntent::CancelReplaced { .. }
        | WriteIntent::Cancel(_)
        | WriteIntent::Record { .. } => {}
    }
}

/// Returns `true` if [`copy_written`] handles the write.
pub fn changes_content(work: WriteIntent) -> bool {
    matches!(work, WriteIntent::Confirm(_) | WriteIntent::CheckIn(_) | WriteIntent::Note(_))
}
