//! Working hours in the simulation: the mapping from the EHR's ids to ours, and changes by staff.

use std::collections::{BTreeMap, BTreeSet};

use location::{
    command::{Command, PulledPage},
    event::Event,
    hours::{HourSource, WorkingHour},
    ids::WorkingHourId,
    intent::WriteIntent,
    pull::Resource,
    resource::Operation,
    time::Timestamp,
};

use super::{Sim, ehr::FIRST_HOUR};

/// Offset of our ids for hours that the EHR showed before they could be matched with ours.
const DUPLICATES: u32 = 10_000;
const OURS: u32 = 1_000;

#[derive(Default)]
pub struct HourMap {
    next: u32,
    /// Our ids by those of the EHR.
    links: BTreeMap<u32, WorkingHourId>,
    /// Ids on pages, or reported as deleted there, without a match.
    unmatched: BTreeSet<u32>,
}

impl HourMap {
    /// Returns the EHR's id of local hours.
    pub fn number(&self, id: u64) -> Option<u32> {
        self.links.iter().find(|(_, local)| u64::from(local.0) == id).map(|(number, _)| *number)
    }

    fn known(&self, number: u32) -> (WorkingHourId, HourSource) {
        match self.links.get(&number) {
            Some(local) => (*local, HourSource::Manual),
            None if number < FIRST_HOUR => (WorkingHourId(number), HourSource::Synced),
            None => (WorkingHourId(DUPLICATES + number), HourSource::Synced),
        }
    }
}

impl Sim {
    pub fn set_hours(&mut self, which: u8, what: u8) {
        let manual = self.location.state.hours.values().filter(|hour| hour.source == HourSource::Manual);
        let known: Vec<WorkingHour> = manual.cloned().collect();
        let chosen = known.get(usize::from(which) % known.len().max(1)).cloned();
        let end = 600 + u16::from(what);
        match (what % 3, chosen) {
            (0, _) if known.len() < 4 => {
                self.hours.next += 1;
                let like = self.location.state.hours[&WorkingHourId(0)].clone();
                let id = WorkingHourId(OURS + self.hours.next);
                let hour = WorkingHour { id, end, source: HourSource::Manual, ..like };
                self.run(&Command::SetHour { hour, here_only: false });
            }
            (1, Some(hour)) => {
                self.run(&Command::SetHour { hour: WorkingHour { end, ..hour }, here_only: false });
            }
            (2, Some(hour)) => {
                self.run(&Command::RemoveHour { hour: hour.id });
            }
            _ => {}
        }
    }

    pub fn staff_hours(&mut self, which: u8, what: u8) {
        let made: Vec<u32> = self.ehr.hours.keys().copied().filter(|number| *number >= FIRST_HOUR).collect();
        let chosen = made.get(usize::from(which) % made.len().max(1)).copied().filter(|_| self.staff);
        let Some(number) = chosen else { return };
        let hour = self.ehr.hours[&number].0.clone();
        let changed = (!what.is_multiple_of(4)).then_some(WorkingHour { end: 900 + u16::from(what), ..hour });
        self.ehr.set_hour(number, changed);
    }

    /// Translates the ids of a page to ours.
    pub fn hours_shown(&mut self, mut page: PulledPage) -> PulledPage {
        let HourMap { links, unmatched, .. } = &mut self.hours;
        let numbers: Vec<u32> =
            page.hours.iter().map(|hour| hour.id.0).chain(page.deleted.iter().map(|id| *id as u32)).collect();
        for number in numbers.into_iter().filter(|number| *number >= FIRST_HOUR && !links.contains_key(number)) {
            page.unmatched += u32::from(!unmatched.contains(&number));
        }
        for hour in &mut page.hours {
            (hour.id, hour.source) = self.hours.known(hour.id.0);
            page.seen.push(hour.id.0.into());
        }
        for id in &mut page.deleted {
            *id = self.hours.known(*id as u32).0.0.into();
        }
        page
    }

    /// Links ids after a write of hours succeeded, and records unmatched ids after a page was applied.
    pub fn link_written_hours(&mut self, events: &[Event]) {
        let applied = |event: &Event| matches!(event, Event::PageApplied { resource: Resource::WorkingHours, .. });
        if events.iter().any(applied) {
            let shown = self.ehr_numbers().filter(|number| !self.hours.links.contains_key(number)).collect::<Vec<_>>();
            let duplicate = |number: &u32| self.location.state.hours.contains_key(&WorkingHourId(DUPLICATES + number));
            let shown: Vec<u32> = shown.into_iter().filter(duplicate).collect();
            self.hours.unmatched.extend(shown);
        }
        for event in events {
            let Event::WriteDone {
                work: WriteIntent::Record { resource: Resource::WorkingHours, id, operation: Operation::Create },
                written: Some(written),
                ..
            } = event
            else {
                continue;
            };
            let number: u32 = written.foreign_id[1..].parse().unwrap();
            let local = WorkingHourId(*id as u32);
            self.hours.links.insert(number, local);
            let duplicate = WorkingHourId(DUPLICATES + number);
            if self.hours.unmatched.contains(&number) {
                let shown = self.location.state.hours.get(&duplicate).cloned();
                let shown = shown.map(|hour| WorkingHour { id: local, source: HourSource::Manual, ..hour });
                self.run(&Command::HourDuplicateFound { duplicate, local, shown });
            }
        }
    }

    /// Returns the ids that the EHR may have allotted.
    fn ehr_numbers(&self) -> impl Iterator<Item = u32> {
        FIRST_HOUR..FIRST_HOUR + 1_000
    }

    /// Asserts that the local hours and those of the EHR are the same.
    pub fn hours_agree(&self) {
        let in_ehr = self.ehr.hours.iter().map(|(number, (hour, _))| (self.hours.known(*number).0, hour.end));
        let in_ehr: BTreeMap<WorkingHourId, u16> = in_ehr.collect();
        let in_machine: BTreeMap<_, _> = self.location.state.hours.values().map(|hour| (hour.id, hour.end)).collect();
        assert_eq!(in_machine, in_ehr, "hours: machine and EHR agree at {:?}", Timestamp(self.now.0));
    }
}
