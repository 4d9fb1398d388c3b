//! Booking rules: no intent is granted a hold, a visit or a new time that they refuse. The rules are calculated here a
//! second time, without the engine's function. A visit booked with a hold was checked when it was held.

use chrono::{DateTime, Timelike};
use chrono_tz::Tz;
use location::{
    command::Placement,
    event::Event,
    ids::{AppointmentId, AppointmentTypeId, LocationId},
    rules::VisitRules,
    time::{Span, Timestamp},
};
use setup::LocationSetup;

use crate::simulation::sim::Sim;

/// A granted time.
struct Grant {
    appointment: Option<AppointmentId>,
    appointment_type: Option<AppointmentTypeId>,
    place: Placement,
}

/// Checks the events of one commit. The memory of the location is as before it.
pub fn committed(sim: &Sim, location: LocationId, events: &[Event]) {
    let setup = sim.plan.setup.locations.get(&location).expect("the location is in the setup");
    if setup.settings.booking.rules.is_neutral() {
        return;
    }
    let with_hold = events.iter().any(|event| matches!(event, Event::HoldEnded { .. }));
    let is_reschedule = events.iter().any(|event| matches!(event, Event::KeyUsed { .. }));
    let mut earlier: Vec<Grant> = Vec::new();
    for event in events {
        let grant = match event {
            Event::Held { placement, .. } => Grant { appointment: None, appointment_type: None, place: *placement },
            // Operators and staff use no key.
            Event::Booked { appointment, placement, appointment_type, key, .. }
                if !with_hold && (key.is_some() || !earlier.is_empty()) =>
            {
                let appointment_type = *appointment_type;
                Grant { appointment: Some(*appointment), appointment_type, place: *placement }
            }
            Event::Moved { appointment, to, .. } if is_reschedule && !with_hold => {
                Grant { appointment: Some(*appointment), appointment_type: None, place: *to }
            }
            _ => continue,
        };
        check(sim, setup, &earlier, &grant);
        earlier.push(grant);
    }
}

fn check(sim: &Sim, setup: &LocationSetup, earlier: &[Grant], grant: &Grant) {
    let rules = setup.settings.booking.rules.effective(grant.appointment_type, None);
    let span = grant.place.span;
    let (now, start) = (local(sim.now, setup.zone), local(span.start, setup.zone));
    let what = format!("rules: {} was granted {:?} at {now}", setup.id, grant.place);
    assert!(span.start.since(sim.now) >= rules.minimum_notice, "{what}: too soon");
    let minute = now.hour() * 60 + now.minute();
    let cut = rules.cutoff.is_some_and(|cutoff| minute >= u32::from(cutoff));
    let days = (start.date_naive() - now.date_naive()).num_days();
    assert!(days >= i64::from(rules.minimum_notice_days) + i64::from(cut), "{what}: too soon or after the cutoff");
    assert!(days <= i64::from(rules.horizon_days), "{what}: beyond the horizon");
    assert!(rules.align.is_none_or(|align| start.minute().is_multiple_of(align.into())), "{what}: not aligned");
    let Some(host) = sim.process.hosts.get(&setup.id).filter(|host| !host.behind) else { return };
    let known = host.processor.machine.state.appointments.iter();
    let live = known.filter(|(id, it)| !it.cancelling && !it.unavailable && Some(**id) != grant.appointment);
    let others = live.map(|(_, it)| it.placement).chain(earlier.iter().map(|other| other.place));
    let others: Vec<Placement> = others.collect();
    let date = |at: &Placement| local(at.span.start, setup.zone).date_naive();
    let same_day = others.iter().filter(|other| date(other) == start.date_naive()).count();
    assert!(rules.daily_visits.is_none_or(|cap| same_day < cap as usize), "{what}: more than the daily visits");
    let reach = with_buffers(&rules, span);
    let near = others
        .iter()
        .find(|other| other.column().is_some() && other.column() == grant.place.column() && other.span.overlaps(reach));
    assert!(near.is_none(), "{what}: within the buffers of {near:?}");
}

fn with_buffers(rules: &VisitRules, span: Span) -> Span {
    Span { start: span.start.minus(rules.buffer_before), end: span.end.plus(rules.buffer_after) }
}

fn local(at: Timestamp, zone: Tz) -> DateTime<Tz> {
    DateTime::from_timestamp_millis(at.0).expect("the time is near").with_timezone(&zone)
}
