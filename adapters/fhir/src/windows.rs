//! Appointments in date windows, for servers that require `date` in searches.

use adapter_sdk::{Fault, Page, clock, spans::Span, warn};

use crate::{
    cursor::{Cursor, Windows},
    requests,
    settings::Settings,
    walk::{Part, walk},
};

const DAY: i64 = 86_400;
/// Days covered by windows, behind and ahead. Earlier and later appointments are requested with one bound.
const BEHIND: i64 = 365;
const AHEAD: i64 = 450;
/// Window lengths in days to try if the setting is 0.
const TRIED: [i64; 2] = [90, 30];

fn around(now: i64, days: i64) -> Windows {
    Windows { from: (now.div_euclid(DAY) - BEHIND) * DAY, days }
}

/// Returns the part of a walk for each window. Some servers refuse a range with one bound, so those parts may be
/// refused.
fn parts(windows: Windows, part: &Part) -> Vec<Part> {
    let count = (BEHIND + AHEAD - 1) / windows.days + 1;
    let bound = |nth: i64| windows.from + nth * windows.days * DAY;
    let within = |from: Option<i64>, until: Option<i64>| Part {
        search: requests::dated(&part.search, from, until),
        may_be_refused: from.is_none() || until.is_none(),
        ..part.clone()
    };
    let closed = (0..count).map(|nth| within(Some(bound(nth)), Some(bound(nth + 1))));
    closed.chain([within(None, Some(bound(0))), within(Some(bound(count)), None)]).collect()
}

/// Returns one page of appointments, in windows if configured or if the server has refused a search without dates.
pub fn page(settings: &Settings, part: &Part, mut cursor: Cursor, limit: u32) -> Result<Page, Fault> {
    let begins = cursor.started.is_none();
    if begins {
        let days = Some(settings.window_days).filter(|days| *days > 0).or(cursor.windows.map(|windows| windows.days));
        cursor.windows = days.map(|days| around(clock::now(), days));
    }
    let first = cursor.windows.map_or_else(|| vec![part.clone()], |windows| parts(windows, part));
    let reason = match walk(settings, &first, cursor.clone(), limit) {
        Err(Fault::Rejected(reason)) if begins && cursor.windows.is_none() => reason,
        walked => return Ok(walked?.0),
    };
    for days in TRIED {
        let windows = around(clock::now(), days);
        let cursor = Cursor { windows: Some(windows), ..cursor.clone() };
        match walk(settings, &parts(windows, part), cursor, limit) {
            Err(Fault::Rejected(_)) => (),
            walked => {
                warn!("appointments are read in windows of {days} days, since without dates {reason}");
                return Ok(walked?.0);
            }
        }
    }
    Err(Fault::Rejected(reason))
}

/// Runs a search for appointments. If refused, it is repeated with the dates around a time.
pub fn or_near<T>(search: &str, (start, end): Span, ask: impl Fn(&str) -> Result<T, Fault>) -> Result<T, Fault> {
    match ask(search) {
        Err(Fault::Rejected(_)) => ask(&requests::dated(search, Some(start - DAY), Some(end + DAY))),
        asked => asked,
    }
}
