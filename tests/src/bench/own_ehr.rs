//! An in-process EHR for benchmarks of other parts: a small practice that answers immediately, and takes writes
//! immediately or never.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use records::ehr::{
    Description, Ehr, EhrAppointment, EhrFuture, EhrOperatory, EhrProvider, EhrRecord, EhrWorkingHour, Fault, Page,
    PullAbility, Receipt, Resource, Write,
};

pub const OPERATORIES: usize = 10;
pub const PROVIDERS: usize = 5;
const PULLS: [Resource; 4] =
    [Resource::Providers, Resource::Operatories, Resource::WorkingHours, Resource::Appointments];
const MINUTES: i64 = 30;

/// Treatment of writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Writes stay in flight, so that a run measures bookings only.
    Wait,
    TakenAtOnce,
}

pub struct InProcessEhr {
    writes: Writes,
    appointments: Vec<EhrAppointment>,
    written: AtomicU64,
}

impl InProcessEhr {
    pub fn new(writes: Writes) -> InProcessEhr {
        InProcessEhr { writes, appointments: Vec::new(), written: AtomicU64::new(0) }
    }

    /// Creates an EHR with `count` appointments from `start` (seconds since 1970) on, back to back in all
    /// operatories.
    pub fn booked(start: i64, count: usize) -> InProcessEhr {
        let appointment = |n: usize| {
            let start = start + (n / OPERATORIES) as i64 * MINUTES * 60;
            EhrAppointment {
                id: format!("a{n}"),
                provider: Some(provider_id(n % OPERATORIES)),
                operatory: Some(operatory_id(n % OPERATORIES)),
                start,
                end: start + MINUTES * 60,
                note: Some("prefers mornings".to_owned()),
                ..EhrAppointment::default()
            }
        };
        InProcessEhr { appointments: (0..count).map(appointment).collect(), ..InProcessEhr::new(Writes::Wait) }
    }

    pub(super) fn records(&self, resource: Resource) -> Vec<EhrRecord> {
        match resource {
            Resource::Providers => (0..PROVIDERS).map(provider).collect(),
            Resource::Operatories => (0..OPERATORIES).map(operatory).collect(),
            Resource::WorkingHours => (0..OPERATORIES).map(hours).collect(),
            Resource::Appointments => self.appointments.iter().cloned().map(EhrRecord::Appointment).collect(),
            _ => Vec::new(),
        }
    }
}

fn provider_id(operatory: usize) -> String {
    format!("p{}", operatory % PROVIDERS)
}

fn operatory_id(n: usize) -> String {
    format!("o{n}")
}

fn provider(n: usize) -> EhrRecord {
    EhrRecord::Provider(EhrProvider {
        id: provider_id(n),
        first_name: "Søren".to_owned(),
        last_name: format!("Provider{n}"),
        ..EhrProvider::default()
    })
}

fn operatory(n: usize) -> EhrRecord {
    let name = format!("Operatory {n}");
    EhrRecord::Operatory(EhrOperatory {
        id: operatory_id(n),
        name,
        active: true,
        bookable_online: true,
        ..EhrOperatory::default()
    })
}

fn hours(operatory: usize) -> EhrRecord {
    EhrRecord::WorkingHour(EhrWorkingHour {
        id: format!("h{operatory}"),
        provider: provider_id(operatory),
        operatory: Some(operatory_id(operatory)),
        ..testing::working_hour("08:00", "18:00")
    })
}

impl Ehr for InProcessEhr {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        let ability = |resource| PullAbility { resource, delta: false, deletions_by_absence: false };
        let writes = ["create-patient", "create-appointment", "reschedule-appointment", "cancel-appointment"];
        let description = Description {
            name: "An EHR in the process".to_owned(),
            version: "1".to_owned(),
            hosting: "local".to_owned(),
            pulls: PULLS.map(ability).to_vec(),
            writes: writes.map(str::to_owned).to_vec(),
            new_patients: true,
            operatories: true,
            ..Description::default()
        };
        Box::pin(async { Ok(description) })
    }

    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, _: Duration) -> EhrFuture<'_, Page> {
        let all = self.records(resource);
        let from = cursor.and_then(|at| at.parse().ok()).filter(|at| *at < all.len()).unwrap_or(0);
        let until = all.len().min(from + limit as usize);
        let page = Page {
            estimate: Some(all.len() as u64),
            records: all[from..until].to_vec(),
            deleted: Vec::new(),
            skipped: Vec::new(),
            cursor: until.to_string(),
            last: until == all.len(),
            whole: true,
        };
        Box::pin(async { Ok(page) })
    }

    fn push(&self, _: String, _: Write, deadline: Duration) -> EhrFuture<'_, Receipt> {
        let id = format!("w{}", self.written.fetch_add(1, Ordering::Relaxed));
        Box::pin(async move {
            match self.writes {
                Writes::TakenAtOnce => Ok(Receipt { id, version: None }),
                Writes::Wait => {
                    tokio::time::sleep(deadline).await;
                    Err(Fault::RetryLater { reason: "it takes its time".to_owned(), after: None })
                }
            }
        })
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        Box::pin(async { Ok(None) })
    }
}
