//! Appointments that occupy a schedule's practitioners and rooms, read with one search for all of them.

use adapter_sdk::{Fault, spans::Span};

use crate::{
    client, enrich,
    hours::OccupiedTime,
    map, requests,
    responses::{Appointment, Schedule, Slot},
    settings::Settings,
    site::Site,
};

/// The appointments that occupy the actors of a schedule.
#[derive(Default)]
pub struct Busy {
    /// Appointments with their span, and `true` if the engine has the appointment in the same form.
    appointments: Vec<(Span, bool, Appointment)>,
}

impl Busy {
    /// Reads the appointments. If the server refuses, there are none and every busy slot is closed.
    pub fn read(
        settings: &Settings,
        site: Option<&Site>,
        schedule: &Schedule,
        practitioners: &[String],
        slots: &[Slot],
        (from, until): Span,
    ) -> Result<Busy, Fault> {
        let people = practitioners.iter().map(|id| format!("Practitioner/{id}"));
        let rooms = schedule.actor.iter().filter_map(|actor| actor.id_of("Location"));
        let actors: Vec<String> = people.chain(rooms.map(|id| format!("Location/{id}"))).collect();
        let search = requests::appointments_near(&actors, from, until);
        let found = client::all(settings, "Appointment", &search);
        let mut found = client::unless_refused(found, "working hours are made without appointments")?;
        enrich::roles_of(settings, &mut found)?;
        let mut busy = Busy::default();
        for mut resource in found {
            let ours = site.is_none_or(|site| site.is_ours(&mut resource));
            let Ok(read) = map::read::<Appointment>(resource) else { continue };
            // An appointment without a room is assigned by the practitioners who work here at the time of a pass, so
            // the engine may not know it yet.
            let shown = ours && (site.is_none() || read.actor("Location").is_some());
            let span = map::span(&read).ok().or_else(|| span_of_slots(&read, slots));
            busy.appointments.extend(span.filter(|_| read.takes_time()).map(|span| (span, shown, read)));
        }
        Ok(busy)
    }

    /// Returns the occupied times of a practitioner in a room.
    pub fn taken(&self, provider: &str, room: Option<&str>) -> Vec<OccupiedTime> {
        let takes = |(span, shown, a): &(Span, bool, Appointment)| {
            let theirs = a.actors("Practitioner").any(|id| id == provider);
            let there = room.is_some_and(|room| a.actors("Location").any(|id| id == room));
            // A record has only one practitioner and one room.
            let first = a.actor("Practitioner").as_deref() == Some(provider)
                || (room.is_some() && a.actor("Location").as_deref() == room);
            (theirs || there).then_some(OccupiedTime { span: *span, shown: *shown && first })
        };
        self.appointments.iter().filter_map(takes).collect()
    }
}

/// Returns the time of the slots named by an appointment without times.
fn span_of_slots(a: &Appointment, slots: &[Slot]) -> Option<Span> {
    let named = a.slots();
    let spans = slots.iter().filter(|slot| named.contains(&slot.id)).filter_map(Slot::span);
    spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}
