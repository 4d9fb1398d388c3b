//! The office's times: local, without zone, `2026-12-01 09:00:00`; `0001-01-01` where there is none.

use adapter_sdk::{clock, time::date_of};

/// The API's word for no date.
const NEVER: &str = "0001-01-01";

/// The first moment at which the office's clocks show this; none where the text is no time, or the API's word for none.
pub fn instant(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.starts_with(NEVER) { None } else { clock::first_instant(&text.replacen(' ', "T", 1)) }
}

/// What the office's clocks show.
pub fn text(at: i64) -> String {
    written(&clock::to_local(at).text)
}

/// A local time as the API has it.
pub fn written(local: &str) -> String {
    local.replacen('T', " ", 1)
}

/// A date of a row; none for the API's word for none.
pub fn day(text: &str) -> Option<String> {
    let day = text.get(..10)?;
    (date_of(day).is_some() && day != NEVER).then(|| day.to_owned())
}
