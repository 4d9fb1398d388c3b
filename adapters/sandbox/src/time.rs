//! Instants as the dialect writes them: `2026-12-01T15:00:00Z`.

pub fn instant_text(at: i64) -> String {
    let (days, second) = (at.div_euclid(86_400), at.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

pub fn instant_of(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let days = days_of(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let at = days * 86_400 + number(11, 13)? * 3_600 + number(14, 16)? * 60 + number(17, 19)?;
    (instant_text(at) == text).then_some(at)
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of `days_of`.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, of_year - (153 * march_month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn instants_go_there_and_back() {
        for at in [0, 951_782_399, 951_782_400, 1_795_212_942, -1, 4_102_444_799] {
            assert_eq!(instant_of(&instant_text(at)), Some(at));
        }
        assert_eq!(instant_text(1_795_212_942), "2026-11-20T22:15:42Z");
        for bad in
            ["", "2026-02-29T00:00:00Z", "2026-12-01T15:00:00+01:00", "2026-12-01T25:00:00Z", "äöü6-12-01T15:00:00Z"]
        {
            assert_eq!(instant_of(bad), None, "{bad}");
        }
    }
}
