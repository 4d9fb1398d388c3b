//! The EHR of a simulated practice. Each pull returns the changes since its cursor, and each write succeeds.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use location::time::{DAY, SECOND};
use parking_lot::Mutex;
use records::{
    ehr::{Description, Ehr, EhrFuture, EhrRecord, Fault, Page, PullAbility, Receipt, Resource, Write},
    schema,
};

use crate::bench::own_ehr::InProcessEhr;

/// Appointments of a practice at the start.
pub(super) const APPOINTMENTS: usize = 200;
/// Prefix of cursors within the whole pass of the first read cycle.
const WHOLE: &str = "whole:";

pub(super) struct ChangingEhr {
    /// Records at the start, shared by all practices.
    initial: Arc<BTreeMap<Resource, Vec<EhrRecord>>>,
    changes: Mutex<BTreeMap<Resource, Changes>>,
    written: AtomicU64,
}

/// Changes of a resource. Those before the last cursor are dropped, so that they do not count as memory of the engine.
#[derive(Default)]
struct Changes {
    dropped: usize,
    kept: VecDeque<EhrRecord>,
}

/// Returns the records of a practice, with appointments from `start` (seconds since 1970) on.
pub(super) fn initial_records(start: i64) -> Arc<BTreeMap<Resource, Vec<EhrRecord>>> {
    let ehr = InProcessEhr::booked(start, APPOINTMENTS);
    Arc::new(schema::RESOURCES.iter().map(|resource| (*resource, ehr.records(*resource))).collect())
}

impl ChangingEhr {
    pub(super) fn new(initial: Arc<BTreeMap<Resource, Vec<EhrRecord>>>) -> ChangingEhr {
        ChangingEhr { initial, changes: Mutex::default(), written: AtomicU64::new(0) }
    }

    /// Changes the note of an appointment and, for every second one, its time.
    pub(super) fn change_by_staff(&self, number: usize) {
        let appointment = self.initial_of(Resource::Appointments).get(number % APPOINTMENTS).cloned();
        let Some(EhrRecord::Appointment(mut appointment)) = appointment else { return };
        appointment.note = Some(format!("change {number}"));
        if number.is_multiple_of(2) {
            let week = 7 * DAY / SECOND;
            (appointment.start, appointment.end) = (appointment.start + week, appointment.end + week);
        }
        self.change(EhrRecord::Appointment(appointment));
    }

    fn change(&self, record: EhrRecord) {
        self.changes.lock().entry(record.resource()).or_default().kept.push_back(record);
    }

    fn initial_of(&self, resource: Resource) -> &[EhrRecord] {
        self.initial.get(&resource).map_or(&[], Vec::as_slice)
    }

    fn page(&self, resource: Resource, cursor: Option<&str>, limit: usize) -> Result<Page, Fault> {
        let number = |text: &str| text.parse::<usize>().map_err(|_| Fault::Rejected(format!("cursor {text:?}")));
        let mut changes = self.changes.lock();
        let Changes { dropped, kept } = changes.entry(resource).or_default();
        let from = match cursor.map(|cursor| cursor.strip_prefix(WHOLE).ok_or(cursor)) {
            None => 0,
            Some(Ok(from)) => number(from)?,
            Some(Err(since)) => {
                let seen = number(since)?.saturating_sub(*dropped).min(kept.len());
                kept.drain(..seen);
                *dropped += seen;
                let records: Vec<EhrRecord> = kept.iter().take(limit).cloned().collect();
                let (cursor, last) = ((*dropped + records.len()).to_string(), records.len() == kept.len());
                return Ok(Page { records, cursor, last, ..Page::default() });
            }
        };
        if *dropped > 0 {
            return Err(Fault::Rejected("only the first read cycle may read everything".to_owned()));
        }
        let all = self.initial_of(resource);
        let until = all.len().min(from + limit);
        let last = until == all.len();
        let records = all[from.min(until)..until].to_vec();
        let cursor = if last { "0".to_owned() } else { format!("{WHOLE}{until}") };
        Ok(Page { records, cursor, last, whole: true, estimate: Some(all.len() as u64), ..Page::default() })
    }
}

impl Ehr for ChangingEhr {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        let ability =
            |resource: &Resource| PullAbility { resource: *resource, delta: true, deletions_by_absence: false };
        let writes = ["create-patient", "create-appointment", "reschedule-appointment", "cancel-appointment"];
        let description = Description {
            name: "A simulated practice".to_owned(),
            version: "1".to_owned(),
            hosting: "cloud".to_owned(),
            pulls: schema::RESOURCES.iter().map(ability).collect(),
            writes: writes.map(str::to_owned).to_vec(),
            new_patients: true,
            operatories: true,
            ..Description::default()
        };
        Box::pin(async { Ok(description) })
    }

    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, _: Duration) -> EhrFuture<'_, Page> {
        let page = self.page(resource, cursor.as_deref(), limit as usize);
        Box::pin(async { page })
    }

    fn push(&self, _: String, write: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        let id = format!("w{}", self.written.fetch_add(1, Ordering::Relaxed));
        let record = match write {
            Write::CreatePatient(patient) => Ok(EhrRecord::Patient(patient)),
            Write::CreateAppointment(appointment) => Ok(EhrRecord::Appointment(appointment)),
            other => Err(Fault::Unsupported(other.kind())),
        };
        let receipt = record.map(|mut record| {
            record.set_id(id.clone());
            self.change(record);
            Receipt { id, version: None }
        });
        Box::pin(async { receipt })
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        Box::pin(async { Ok(None) })
    }
}
