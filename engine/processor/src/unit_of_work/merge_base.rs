//! While a change of ours is on its way to the EHR, what the EHR still has lies beside the document: a refused change is put back, and
//! what a pull shows meanwhile goes there instead of over the change.

use std::collections::BTreeSet;

use location::intent::WriteIntent;
use records::{Appointment, document::Document, record::Record};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use store::keys;

use crate::{error::Reject, processor::decode, unit_of_work::UnitOfWork};

impl UnitOfWork<'_> {
    /// Call before the first change: keeps what is there now, unless an earlier change has kept it already.
    pub fn keep_merge_base<T: Document>(&mut self, record: &T) -> Result<(), Reject> {
        let key = keys::before(T::KIND.byte(), record.scope(), record.id());
        if self.guarded(key.clone())?.is_none() {
            let bytes = serde_json::to_vec(record).map_err(|_| Reject::Damaged("a document that cannot be kept"))?;
            self.put_raw(key, bytes);
        }
        Ok(())
    }

    /// What the EHR has of a record that is being changed here.
    pub fn merge_base<T: Document>(&mut self, scope: u32, id: u64) -> Result<Option<T>, Reject> {
        if self.is_fresh::<T>(id) {
            return Ok(None);
        }
        self.guarded(keys::before(T::KIND.byte(), scope, id))?.map(|bytes| decode(&bytes)).transpose()
    }

    /// What a pull says of a record that is being changed here.
    pub fn set_merge_base<T: Document>(&mut self, record: &T) -> Result<(), Reject> {
        let bytes = serde_json::to_vec(record).map_err(|_| Reject::Damaged("a document that cannot be kept"))?;
        self.put_raw(keys::before(T::KIND.byte(), record.scope(), record.id()), bytes);
        Ok(())
    }

    /// Nothing is on its way any more.
    pub fn forget_merge_base<T: Document>(&mut self, scope: u32, id: u64) {
        self.delete(keys::before(T::KIND.byte(), scope, id));
    }
}

pub fn fields<T: Serialize>(record: &T) -> Result<Map<String, Value>, Reject> {
    match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(Reject::Damaged("a document that cannot be kept")),
    }
}

/// A change of ours that is on its way, made on what the EHR has now instead of what it had: staff's changes of other fields stay.
pub fn three_way_merge<T: Serialize + DeserializeOwned>(had: &T, ours: &T, has: &T) -> Result<T, Reject> {
    let (had, ours, mut merged) = (fields(had)?, fields(ours)?, fields(has)?);
    // A field without a value may be left out.
    let names: BTreeSet<&String> = had.keys().chain(ours.keys()).collect();
    for name in names.into_iter().filter(|name| had.get(*name) != ours.get(*name)) {
        match ours.get(name) {
            Some(value) => merged.insert(name.clone(), value.clone()),
            None => merged.remove(name),
        };
    }
    serde_json::from_value(Value::Object(merged)).map_err(|_| Reject::Damaged("a document that cannot be kept"))
}

/// Copies what a write of an appointment is about.
pub fn copy_written(work: WriteIntent, from: &Record<Appointment>, to: &mut Record<Appointment>) {
    match work {
        WriteIntent::Confirm(_) => (to.confirmed, to.confirmed_at) = (from.confirmed, from.confirmed_at),
        WriteIntent::CheckIn(_) => to.checkin_at = from.checkin_at,
        WriteIntent::Note(_) => to.note.clone_from(&from.note),
        // Places are the machine's.
        WriteIntent::CreatePatient(_)
        | WriteIntent::CreateAppointment(_)
        | WriteIntent::Reschedule(_)
        | WriteIntent::Cancel(_)
        | WriteIntent::Record { .. } => {}
    }
}

/// Works that [`copy_written`] knows of.
pub fn changes_content(work: WriteIntent) -> bool {
    matches!(work, WriteIntent::Confirm(_) | WriteIntent::CheckIn(_) | WriteIntent::Note(_))
}
