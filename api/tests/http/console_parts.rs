//! Parts of the console without a server.

use location::{
    OperatoryId,
    time::{DAY, HOUR, MINUTE, SECOND, Timestamp},
};
use operator_console::{
    location_page::calendar::{AppointmentBlock, Columns, Placed, column, omit_empty},
    sign_in::inside,
    words::{Badge, RelativeTime, span},
};

#[test]
fn targets_outside_the_console_lead_to_its_start_page() {
    assert_eq!(inside("/console/locations/1?day=2026-12-01"), "/console/locations/1?day=2026-12-01");
    for to in ["", "//evil.example", "https://evil.example", "/consoles", "/console\\evil", "/console/a\nb", "/metrics"]
    {
        assert_eq!(inside(to), "/console", "{to}");
    }
}

#[test]
fn durations_are_shown_in_a_suitable_unit() {
    let text = |length| span(length);
    assert_eq!([text(0), text(119 * SECOND), text(2 * MINUTE)], ["0 s", "119 s", "2 min"]);
    assert_eq!([text(119 * MINUTE), text(2 * HOUR), text(3 * DAY)], ["119 min", "2 h", "3 d"]);
    let now = Timestamp(DAY);
    assert_eq!(RelativeTime::new(now.plus(5 * SECOND), now).text, "in 5 s");
    let before = RelativeTime::new(now.minus(5 * SECOND), now);
    assert_eq!((before.text.as_str(), before.full.as_str()), ("5 s ago", "1970-01-01 23:59:55 UTC"));
}

fn placed(from: usize, to: usize) -> Placed {
    let badge = Badge::plain("booked");
    let (start, end) = (String::new(), String::new());
    let block = AppointmentBlock { at: 0, long: 0, lane: 0, from: start, to: end, badge, who: None, kind: None };
    Placed { from, to, block }
}

#[test]
fn overlapping_appointments_are_in_separate_lanes() {
    let column = column("Chair".to_owned(), vec![placed(40, 44), placed(36, 42), placed(44, 46), placed(42, 44)], 32);
    let places: Vec<_> = column.blocks.iter().map(|it| (it.at, it.long, it.lane)).collect();
    assert_eq!(places, [(4, 6, 0), (8, 4, 1), (10, 2, 0), (12, 2, 0)]);
}

#[test]
fn operatories_with_appointments_are_shown_before_empty_ones() {
    let columns = |operatories: u64| -> Columns {
        let booked = |n| if n == operatories { vec![placed(40, 44)] } else { Vec::new() };
        (1..=operatories).map(|n| (Some(OperatoryId(n)), (format!("Chair {n}"), booked(n)))).collect()
    };
    let shown = |operatories| {
        let mut all = columns(operatories);
        omit_empty(&mut all);
        all.into_keys().flatten().map(|id| id.0).collect::<Vec<_>>()
    };
    assert_eq!(shown(3), [1, 2, 3]);
    assert_eq!(shown(30), [30]);
}
