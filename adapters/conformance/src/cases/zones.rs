//! Changes of the location's clock.

use std::rc::Rc;

use chrono::{DateTime, Offset, TimeZone};
use records::ehr::{EhrRecord, Resource, Write};

use super::writing::met;
use crate::{
    ehr_under_test::EhrUnderTest,
    report::{CaseResult, skip_unless},
    subject::Subject,
};

const HOUR: i64 = 3_600;

pub async fn appointments_keep_their_instants_where_the_clock_changes<S: EhrUnderTest>(
    subject: Rc<Subject<S>>,
) -> CaseResult {
    subject.needs(&["create-appointment"])?;
    let changes = changes(subject.system.zone(), runtime::clock::now().0 / 1_000);
    skip_unless(changes.len() == 2, format!("{} has no daylight saving", subject.system.zone()))?;
    let mut written = 0;
    for (at, forward) in changes {
        // The day before and after at the same local hour, and times shortly before and after the change.
        let mut starts = vec![at - 17 * HOUR, at - 2 * HOUR, at + HOUR, at + 7 * HOUR, at + 31 * HOUR];
        if forward || subject.system.keeps_instants() {
            // The last half hour before the change and the first after it; if clocks go back, the local times repeat.
            starts.extend([at - HOUR / 2, at]);
        }
        for start in starts.into_iter().filter(|start| subject.system.is_free(*start)) {
            written += 1;
            let n = subject.number();
            let write = subject.adjusted(Write::CreateAppointment(subject.appointment_at(start, n)));
            let id = subject.written(&write).await?.id;
            let shown = met(&subject, &write, &id).await?;
            if subject.ability(Resource::Appointments).is_none() {
                continue;
            }
            let began = match shown {
                Some(EhrRecord::Appointment(shown)) => Some(shown.start),
                _ => None,
            };
            let side = if start < at { "before" } else { "after" };
            subject.hold_seen(
                began == Some(start),
                format!("appointment {id} begins at {began:?}"),
                format!("at {start}, {side} the change of the clocks at {at}"),
                CLOCKS,
            )?;
        }
    }
    skip_unless(written > 0, "all times are occupied, for example by an earlier run")
}

/// On the days of the change, across it: working hours are in local time, as staff read them.
pub async fn working_hours_keep_the_clock_of_the_wall_where_it_changes<S: EhrUnderTest>(
    subject: Rc<Subject<S>>,
) -> CaseResult {
    subject.needs(&["create-working-hour"])?;
    let zone = subject.system.zone();
    let changes = changes(zone, runtime::clock::now().0 / 1_000);
    skip_unless(changes.len() == 2, format!("{zone} has no daylight saving"))?;
    for (at, _) in changes {
        let day = DateTime::from_timestamp(at, 0).expect("the present is near").with_timezone(&zone).date_naive();
        for (begin, end) in [("00:30", "04:30"), ("08:15", "17:45")] {
            let write = subject.adjusted(Write::CreateWorkingHour(subject.hour_on(day, begin, end)));
            let id = subject.written(&write).await?.id;
            met(&subject, &write, &id).await?;
        }
    }
    Ok(())
}

const CLOCKS: &str = "turn instants into the EHR's local time by the rules of the location's zone on that day, not by today's offset: \
    `clock::to_local` and `clock::to_instant`";

/// Returns the next two clock changes of the zone, in seconds since 1970, each with `true` if clocks go forward.
fn changes(zone: chrono_tz::Tz, now: i64) -> Vec<(i64, bool)> {
    let offset = |at: i64| {
        let instant = DateTime::from_timestamp(at, 0).expect("the present is near").naive_utc();
        zone.offset_from_utc_datetime(&instant).fix().local_minus_utc()
    };
    // Two days ahead, so that the day before is in the future.
    let first = now - now.rem_euclid(HOUR) + 48 * HOUR;
    let hours = (0..400 * 24).map(|n| first + n * HOUR);
    let changes = hours.filter(|at| offset(*at) != offset(at - HOUR)).map(|at| (at, offset(at) > offset(at - HOUR)));
    changes.take(2).collect()
}
