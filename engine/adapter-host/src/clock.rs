//! Local time of the location for guests. The engine uses UTC; the gaps and overlaps of the zone are handled here.

use chrono::{DateTime, NaiveDateTime, Offset, TimeZone};
use chrono_tz::{OffsetName, Tz};

use super::{bindings::practice_sync::ehr::clock::Local, check};

/// Returns the instants at which local time in the zone is `YYYY-MM-DDTHH:MM:SS`, earliest first.
pub(crate) fn to_instant(zone: Tz, local: &str) -> Vec<i64> {
    let shaped = local.len() == 19 && local.is_ascii();
    let Some(local) = shaped.then(|| NaiveDateTime::parse_from_str(local, "%Y-%m-%dT%H:%M:%S").ok()).flatten() else {
        return Vec::new();
    };
    let found = zone.from_local_datetime(&local);
    let mut instants: Vec<i64> =
        [found.earliest(), found.latest()].into_iter().flatten().map(|at| at.timestamp()).collect();
    instants.sort_unstable();
    instants.dedup();
    instants
}

/// Returns the local time in the zone. Returns `None` outside of the years 1 to 9999, which the text cannot represent.
pub(crate) fn to_local(zone: Tz, at: i64) -> Option<Local> {
    if !check::INSTANTS.contains(&at) {
        return None;
    }
    let shown = DateTime::from_timestamp(at, 0)?.with_timezone(&zone);
    Some(Local {
        text: shown.format("%Y-%m-%dT%H:%M:%S").to_string(),
        offset: shown.offset().fix().local_minus_utc(),
        abbreviation: shown.offset().abbreviation().unwrap_or_default().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW_YORK: Tz = chrono_tz::America::New_York;

    #[test]
    fn gaps_have_no_instant_and_overlaps_two() {
        assert_eq!(to_instant(NEW_YORK, "2026-01-15T09:00:00"), [1_768_485_600]);
        assert!(to_instant(NEW_YORK, "2026-03-08T02:30:00").is_empty());
        assert_eq!(to_instant(NEW_YORK, "2026-11-01T01:30:00"), [1_793_511_000, 1_793_514_600]);
        for text in [
            "", "2026-01-15", "2026-01-15 09:00:00", "2026-02-30T09:00:00", "2026-01-15T09:00:60x",
            "2026-1-15T09:00:000",
        ] {
            assert!(to_instant(NEW_YORK, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn an_instant_is_shown_with_offset_and_abbreviation() {
        let shown = |at| to_local(NEW_YORK, at).map(|local| (local.text, local.offset, local.abbreviation));
        let local = |text: &str, offset, zone: &str| Some((text.to_string(), offset, zone.to_string()));
        assert_eq!(shown(1_793_511_000), local("2026-11-01T01:30:00", -14_400, "EDT"));
        assert_eq!(shown(1_793_514_600), local("2026-11-01T01:30:00", -18_000, "EST"));
        assert_eq!(shown(i64::MAX), None);
        assert_eq!(shown(i64::MIN), None);
    }
}
