//! An EHR that may answer late, twice, wrongly or not at all. A look-up by write key returns the true result.

use std::collections::BTreeMap;

use location::{
    command::{Failure, Outcome, Placement, PulledAppointment, PulledPage, Written},
    hours::WorkingHour,
    ids::{AppointmentId, PatientId, WorkingHourId},
    intent::WriteIntent,
    resource::Operation,
};

#[derive(Clone, Debug)]
pub struct SimAppointment {
    pub placement: Placement,
    pub cancelled: bool,
    /// Number of the last change.
    changed: u64,
}

#[derive(Default)]
pub struct SimEhr {
    pub records: BTreeMap<AppointmentId, SimAppointment>,
    /// Number of the deletion of each deleted appointment.
    tombstones: BTreeMap<AppointmentId, u64>,
    changes: u64,
    /// Number of times that each write key was applied.
    done: BTreeMap<String, u32>,
    /// Hours by the EHR's own ids, with the number of their last change.
    pub hours: BTreeMap<u32, (WorkingHour, u64)>,
    hours_gone: BTreeMap<u32, u64>,
    next_hour: u32,
    /// The id that each write of hours returned.
    hours_done: BTreeMap<String, u32>,
    /// The visit and write key of each appointment that a replacement created.
    made: BTreeMap<AppointmentId, (AppointmentId, String)>,
    /// `true` for whole passes, `false` for changes since a cursor with tombstones.
    whole: bool,
}

const PAGE: usize = 3;
/// First id of hours created by writes; lower ids are those of the initial hours.
pub const FIRST_HOUR: u32 = 100;

/// First id of appointments created by replacements.
const FIRST_REPLACEMENT: u64 = 2_000_000;

pub fn written(id: u64) -> Written {
    Written { foreign_id: format!("f{id}"), version: None }
}

impl SimEhr {
    pub fn new(whole: bool) -> SimEhr {
        SimEhr { whole, ..SimEhr::default() }
    }

    /// Applies a write of hours. `number` is the id that the EHR has allotted to them.
    pub fn push_hour(
        &mut self,
        key: &str,
        operation: Operation,
        number: Option<u32>,
        hour: Option<WorkingHour>,
    ) -> Outcome<Written> {
        let known = number.filter(|number| self.hours.contains_key(number));
        let number = match (operation, known, hour) {
            (Operation::Create, _, Some(hour)) => {
                assert!(!self.hours_done.contains_key(key), "hours are made twice");
                let number = FIRST_HOUR + self.next_hour;
                self.next_hour += 1;
                self.set_hour(number, Some(hour));
                number
            }
            (Operation::Update, Some(number), Some(hour)) => {
                self.set_hour(number, Some(hour));
                number
            }
            (Operation::Delete, Some(number), _) => {
                self.set_hour(number, None);
                number
            }
            _ => return Err(Failure::Rejected("no such hours".into())),
        };
        self.hours_done.insert(key.to_owned(), number);
        Ok(written(number.into()))
    }

    pub fn find_hour(&self, key: &str) -> Option<Written> {
        self.hours_done.get(key).map(|number| written(u64::from(*number)))
    }

    pub fn set_hour(&mut self, number: u32, hour: Option<WorkingHour>) {
        let changed = self.next_change();
        match hour {
            Some(hour) => drop(self.hours.insert(number, (hour, changed))),
            None => {
                self.hours.remove(&number);
                self.hours_gone.insert(number, changed);
            }
        }
    }

    /// Returns a page of hours under the EHR's ids.
    pub fn page_of_hours(&self, cursor: Option<&str>) -> PulledPage {
        let from: u64 = cursor.filter(|_| !self.whole).map_or(0, |cursor| cursor.parse().expect("a cursor of ours"));
        let changed = self.hours.iter().filter(|(_, (_, changed))| *changed > from || self.whole);
        let shown = changed.map(|(number, (hour, _))| WorkingHour { id: WorkingHourId(*number), ..hour.clone() });
        let gone = self.hours_gone.iter().filter(|(_, changed)| **changed > from && !self.whole);
        PulledPage {
            hours: shown.collect(),
            deleted: gone.map(|(number, _)| u64::from(*number)).collect(),
            cursor: self.changes.to_string(),
            last: true,
            whole: self.whole,
            ..PulledPage::default()
        }
    }

    fn next_change(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    pub fn put(&mut self, id: AppointmentId, placement: Placement, cancelled: bool) {
        let changed = self.next_change();
        self.records.insert(id, SimAppointment { placement, cancelled, changed });
    }

    pub fn delete(&mut self, id: AppointmentId) {
        let changed = self.next_change();
        if self.records.remove(&id).is_some() {
            self.tombstones.insert(id, changed);
        }
    }

    /// Returns the visit and write key of an appointment that a replacement created.
    pub fn made_for(&self, id: AppointmentId) -> Option<(AppointmentId, &str)> {
        self.made.get(&id).map(|(visit, key)| (*visit, key.as_str()))
    }

    /// Applies a write to `target`. Keys are not deduplicated: a second push would create a second record.
    pub fn push(
        &mut self,
        key: &str,
        work: WriteIntent,
        target: Option<AppointmentId>,
        placement: Option<Placement>,
    ) -> Outcome<Written> {
        let known = |ehr: &SimEhr, id| ehr.records.get(&id).filter(|record| !record.cancelled).cloned();
        let rejected = || Failure::Rejected("no such appointment".into());
        let id = match work {
            WriteIntent::CreatePatient(id) => u64::from(id.0),
            WriteIntent::CreateAppointment(id) => {
                self.put(id, placement.expect("an insert has a place"), false);
                id.0
            }
            WriteIntent::Reschedule(_) => {
                let id = target.filter(|id| known(self, *id).is_some()).ok_or_else(rejected)?;
                self.put(id, placement.expect("a move has a place"), false);
                id.0
            }
            WriteIntent::Replace(visit) => {
                let id = AppointmentId(FIRST_REPLACEMENT + self.made.len() as u64);
                self.made.insert(id, (visit, key.to_owned()));
                self.put(id, placement.expect("an insert has a place"), false);
                id.0
            }
            WriteIntent::Cancel(_) | WriteIntent::CancelReplaced { .. } => {
                let id = target.ok_or_else(rejected)?;
                let record = known(self, id).ok_or_else(rejected)?;
                self.put(id, record.placement, true);
                id.0
            }
            WriteIntent::Confirm(_) | WriteIntent::CheckIn(_) | WriteIntent::Note(_) => {
                target.filter(|id| known(self, *id).is_some()).ok_or_else(rejected)?.0
            }
            WriteIntent::Record { id, .. } => id,
        };
        let times = self.done.entry(key.to_owned()).or_default();
        *times += 1;
        let creates = |work| {
            matches!(
                work,
                WriteIntent::CreatePatient(_)
                    | WriteIntent::CreateAppointment(_)
                    | WriteIntent::Replace(_)
                    | WriteIntent::Record { operation: Operation::Create, .. }
            )
        };
        assert!(*times == 1 || !creates(work), "{work:?} twice");
        Ok(written(id))
    }

    pub fn find(&self, key: &str, work: WriteIntent) -> Option<Written> {
        self.done.contains_key(key).then(|| match work {
            WriteIntent::CreatePatient(id) => written(id.0.into()),
            WriteIntent::Record { id, .. } => written(id),
            WriteIntent::Replace(_) => {
                let made = self.made.iter().find(|(_, (_, made_with))| made_with == key);
                written(made.map_or(0, |(id, _)| id.0))
            }
            _ => written(work.appointment().map_or(0, |id| id.0)),
        })
    }

    pub fn page(&self, cursor: Option<&str>) -> PulledPage {
        let from: u64 = cursor.map_or(0, |cursor| cursor.parse().expect("a cursor of ours"));
        if self.whole { self.page_of_all(from) } else { self.page_of_changes(from) }
    }

    fn page_of_all(&self, from: u64) -> PulledPage {
        let rest: Vec<_> = self.records.iter().filter(|(id, _)| id.0 >= from).collect();
        let last = rest.len() <= PAGE;
        let shown = &rest[..rest.len().min(PAGE)];
        PulledPage {
            appointments: shown.iter().map(|(id, record)| pulled(**id, record)).collect(),
            seen: shown.iter().map(|(id, _)| id.0).collect(),
            cursor: if last { "0".into() } else { rest[PAGE].0.to_string() },
            last,
            whole: true,
            ..PulledPage::default()
        }
    }

    fn page_of_changes(&self, from: u64) -> PulledPage {
        enum EhrChange<'a> {
            Shown(AppointmentId, &'a SimAppointment),
            Gone(AppointmentId),
        }
        let shown = self.records.iter().map(|(id, record)| (record.changed, EhrChange::Shown(*id, record)));
        let gone = self.tombstones.iter().map(|(id, changed)| (*changed, EhrChange::Gone(*id)));
        let mut changes: Vec<_> = shown.chain(gone).filter(|(changed, _)| *changed > from).collect();
        changes.sort_by_key(|(changed, _)| *changed);
        let last = changes.len() <= PAGE;
        changes.truncate(PAGE);
        let mut page = PulledPage { cursor: from.to_string(), last, ..PulledPage::default() };
        for (changed, change) in changes {
            page.cursor = changed.to_string();
            match change {
                EhrChange::Shown(id, record) => {
                    page.appointments.push(pulled(id, record));
                    page.seen.push(id.0);
                }
                EhrChange::Gone(id) => page.deleted.push(id.0),
            }
        }
        page
    }

    /// Returns two active records of different visits that overlap in one operatory.
    pub fn double_booked(&self) -> Option<(AppointmentId, AppointmentId)> {
        let active: Vec<_> = self.records.iter().filter(|(_, record)| !record.cancelled).collect();
        active.iter().enumerate().find_map(|(index, (a, first))| {
            let visit = |id: &AppointmentId| self.made_for(*id).map_or(*id, |(visit, _)| visit);
            let same = |b: &AppointmentId, second: &SimAppointment| {
                second.placement.operatory == first.placement.operatory
                    && second.placement.span.overlaps(first.placement.span)
                    && visit(a) != visit(b)
            };
            active[index + 1..].iter().find(|(b, second)| same(b, second)).map(|(b, _)| (**a, **b))
        })
    }
}

fn pulled(id: AppointmentId, record: &SimAppointment) -> PulledAppointment {
    PulledAppointment {
        id,
        patient: Some(PatientId(id.0 as u32 % 5)),
        appointment_type: None,
        placement: record.placement,
        unavailable: false,
        cancelled: record.cancelled,
        written: written(id.0),
        replacement: None,
    }
}
