//! Staff who book, move, cancel and delete appointments in the EHR, including ours.

use location::{
    ids::LocationId,
    time::{HOUR, MINUTE, SECOND, Timestamp},
};
use records::ehr::{EhrAppointment, EhrRecord, Resource};

use super::{SimEhr, move_to};
use crate::simulation::plan::{PERSONS, patient_of, person, seconds};
use tests::harness::random::SeededRandom;

impl SimEhr {
    /// Performs a random action of staff and returns the line for the log.
    pub fn staff_acts(
        &mut self,
        institution: u32,
        now: Timestamp,
        wanted: Option<(LocationId, EhrAppointment)>,
        random: &mut SeededRandom,
    ) -> String {
        let what = match random.weighted(&[30, 20, 15, 10, 10, 5, 10]) {
            0 => {
                let wanted = wanted.filter(|_| random.chance(700));
                let place = wanted.or_else(|| self.place(None, now, random));
                place.and_then(|place| self.staff_book(now, place, random))
            }
            1 if random.chance(300) => self.any(random).and_then(|id| self.staff_send(&id, now, random)),
            1 => self.any(random).and_then(|id| self.staff_move(&id, now, random)),
            2 => self.any(random).and_then(|id| self.staff_cancel(&id)),
            3 => self.any(random).and_then(|id| self.staff_delete(&id)),
            4 => self.any(random).and_then(|id| self.staff_confirm(&id)),
            5 => {
                // Mostly a new person, sometimes one who also books online.
                let number = if random.chance(300) { random.below(PERSONS) } else { 100 + random.below(1_000) };
                let id = self.add(None, EhrRecord::Patient(patient_of(&person(institution, number))));
                Some(format!("adds patient {id}"))
            }
            _ => self.staff_hours(random),
        };
        format!("staff of {} {}", self.source, what.unwrap_or_else(|| "looks around".to_owned()))
    }

    /// Performs a random action of staff on a new appointment.
    pub fn staff_notice(&mut self, id: &str, now: Timestamp, random: &mut SeededRandom) -> Option<String> {
        self.appointment(id)?.occupying()?;
        match random.weighted(&[30, 20, 20, 10]) {
            0 => self.staff_move(id, now, random),
            1 => self.staff_cancel(id),
            2 => self.staff_delete(id),
            _ => self.staff_confirm(id),
        }
    }

    fn any(&self, random: &mut SeededRandom) -> Option<String> {
        let occupying = self.rows_for(Resource::Appointments).filter(|(_, row)| row.occupying().is_some());
        let ids: Vec<&str> = occupying.map(|(id, _)| id).collect();
        random.pick(&ids).map(|id| (*id).to_owned())
    }

    fn staff_cancel(&mut self, id: &str) -> Option<String> {
        self.change_appointment(id, |appointment| appointment.cancelled = true);
        self.change(Resource::Appointments, id, |row| row.by_staff = true);
        Some(format!("cancels appointment {id}"))
    }

    fn staff_delete(&mut self, id: &str) -> Option<String> {
        self.change(Resource::Appointments, id, |row| {
            row.deleted = true;
            row.by_staff = true;
        });
        Some(format!("deletes appointment {id}"))
    }

    fn staff_confirm(&mut self, id: &str) -> Option<String> {
        self.change_appointment(id, |appointment| appointment.confirmed = true);
        Some(format!("confirms appointment {id}"))
    }

    /// Returns a random place within the next two days: operatory, provider, start and end.
    fn place(
        &self,
        location: Option<LocationId>,
        now: Timestamp,
        random: &mut SeededRandom,
    ) -> Option<(LocationId, EhrAppointment)> {
        let rooms: Vec<_> = self
            .rows_for(Resource::Operatories)
            .filter(|(_, row)| location.is_none() || row.location == location)
            .filter_map(|(id, row)| Some((id.to_owned(), row.location?)))
            .collect();
        let (operatory, at) = random.pick(&rooms)?.clone();
        let providers: Vec<_> = self.rows_for(Resource::Providers).map(|(id, _)| id.to_owned()).collect();
        let provider = random.pick(&providers)?.clone();
        let quarter = 15 * MINUTE;
        let start = Timestamp((now.0 / quarter + random.between(-8..=48 * HOUR / quarter)) * quarter);
        let end = start.plus(random.between(1..=4) * quarter);
        let (start, end) = (seconds(start), seconds(end));
        Some((
            at,
            EhrAppointment {
                operatory: Some(operatory),
                provider: Some(provider),
                start,
                end,
                ..EhrAppointment::default()
            },
        ))
    }

    /// Books an appointment or time off, possibly on top of another one unless the EHR refuses overlaps.
    fn staff_book(
        &mut self,
        now: Timestamp,
        (at, mut appointment): (LocationId, EhrAppointment),
        random: &mut SeededRandom,
    ) -> Option<String> {
        appointment.unavailable = random.chance(150);
        let patients: Vec<_> = self.rows_for(Resource::Patients).map(|(id, _)| id.to_owned()).collect();
        appointment.patient = random.pick(&patients).filter(|_| !appointment.unavailable).cloned();
        self.refuse_overlap(None, &appointment).ok()?;
        let start = appointment.start * SECOND - now.0;
        let id = self.add(Some(at), EhrRecord::Appointment(appointment));
        Some(format!("takes a slot at {at} in {} minutes: appointment {id}", start / MINUTE))
    }

    fn staff_move(&mut self, id: &str, now: Timestamp, random: &mut SeededRandom) -> Option<String> {
        let location = self.appointment(id)?.location;
        let (_, to) = self.place(location, now, random)?;
        self.refuse_overlap(Some(id), &to).ok()?;
        self.change_appointment(id, |appointment| move_to(appointment, &to));
        self.change(Resource::Appointments, id, |row| row.by_staff = true);
        Some(format!("moves appointment {id}"))
    }

    /// Moves an appointment to another location.
    fn staff_send(&mut self, id: &str, now: Timestamp, random: &mut SeededRandom) -> Option<String> {
        let from = self.appointment(id)?.location?;
        let (to, place) = self.place(None, now, random)?;
        // A visit that is being replaced here cannot also belong to another location.
        if to == from || !self.moves {
            return None;
        }
        self.refuse_overlap(Some(id), &place).ok()?;
        self.change_appointment(id, |appointment| move_to(appointment, &place));
        self.change(Resource::Appointments, id, |row| {
            row.by_staff = true;
            row.location = Some(to);
        });
        let change = self.appointment(id)?.changed;
        self.rows.get_mut(&(Resource::Appointments, id.to_owned()))?.left.insert(from, change);
        Some(format!("moves appointment {id} from {from} to {to}"))
    }

    fn staff_hours(&mut self, random: &mut SeededRandom) -> Option<String> {
        let hours: Vec<_> = self.rows_for(Resource::WorkingHours).map(|(id, _)| id.to_owned()).collect();
        let id = random.pick(&hours)?.clone();
        let (end, active) = (["12:00", "17:00", "18:00", "06:00"][random.below(4)], random.chance(800));
        self.change(Resource::WorkingHours, &id, |row| {
            if let EhrRecord::WorkingHour(hour) = &mut row.record {
                hour.end_time = end.to_owned();
                hour.active = active;
            }
        });
        Some(format!("changes hours {id}"))
    }
}
