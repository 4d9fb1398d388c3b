//! Where the practice's clock changes.

use std::rc::Rc;

use chrono::{DateTime, Offset, TimeZone};
use records::ehr::{EhrRecord, Resource, Write};

use super::writing::met;
use crate::conformance::{EhrUnderTest, Subject};

const HOUR: i64 = 3_600;

pub async fn appointments_keep_their_instants_where_the_clock_changes<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    if !subject.writes("create-appointment") {
        return;
    }
    let changes = changes(subject.system.zone(), runtime::clock::now().0 / 1_000);
    assert_eq!(changes.len(), 2, "the subject's zone has daylight saving");
    for (at, forward) in changes {
        // The day before and after at the same local hour, and up to the change and from it on.
        let mut starts = vec![at - 17 * HOUR, at - 2 * HOUR, at + HOUR, at + 7 * HOUR, at + 31 * HOUR];
        if forward || subject.system.keeps_instants() {
            // The last half hour before the change, and the first after it: where clocks go back, both are called 01:30 and 01:00.
            starts.extend([at - HOUR / 2, at]);
        }
        for start in starts {
            let n = subject.number();
            let mut write = Write::CreateAppointment(subject.appointment_at(start, n));
            subject.system.adjust(&mut write);
            let id = subject.written(&write).await.id;
            met(&subject, &write, &id).await;
            let shown = subject.shown(Resource::Appointments, &id).await;
            let Some(EhrRecord::Appointment(shown)) = shown else { panic!("{shown:?}") };
            assert_eq!(shown.start, start, "{} of the change at {at}", if start < at { "before" } else { "after" });
        }
    }
}

/// The zone's next change forward and its next change back, in seconds since 1970, each with whether it goes forward.
fn changes(zone: chrono_tz::Tz, now: i64) -> Vec<(i64, bool)> {
    let offset = |at: i64| {
        let instant = DateTime::from_timestamp(at, 0).expect("the present is near").naive_utc();
        zone.offset_from_utc_datetime(&instant).fix().local_minus_utc()
    };
    // Two days from now on, so that the day before is still to come.
    let first = now - now.rem_euclid(HOUR) + 48 * HOUR;
    let hours = (0..400 * 24).map(|n| first + n * HOUR);
    let changes = hours.filter(|at| offset(*at) != offset(at - HOUR)).map(|at| (at, offset(at) > offset(at - HOUR)));
    changes.take(2).collect()
}
