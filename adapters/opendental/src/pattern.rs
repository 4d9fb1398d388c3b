//! Appointment lengths in Open Dental: one sign per five minutes, `X` with the provider and `/` without.

pub const STEP: i64 = 300;
/// Nine hours: the EHR silently truncates longer patterns.
pub const LONGEST: i64 = 9 * 3_600;
const MOST_SIGNS: usize = 108;

/// Returns the number of signs of a span, or the reason why there is none.
pub fn length(start: i64, end: i64) -> Result<usize, &'static str> {
    if start.rem_euclid(STEP) != 0 || (end - start).rem_euclid(STEP) != 0 {
        return Err("Open Dental keeps appointments in steps of five minutes");
    }
    match usize::try_from((end - start) / STEP) {
        Ok(signs @ 1..=MOST_SIGNS) => Ok(signs),
        _ => Err("Open Dental keeps appointments of five minutes to nine hours"),
    }
}

/// Returns the seconds of a pattern; `None` if empty or with other signs.
pub fn seconds(pattern: &str) -> Option<i64> {
    let plain = !pattern.is_empty() && pattern.bytes().all(|sign| matches!(sign, b'X' | b'/'));
    plain.then(|| i64::try_from(pattern.len()).unwrap_or(0) * STEP)
}

/// Resizes a pattern to `signs` and keeps the time without the provider at both ends if it fits.
pub fn resized(pattern: &str, signs: usize) -> String {
    let before = pattern.len() - pattern.trim_start_matches('/').len();
    let after = pattern.len() - pattern.trim_end_matches('/').len();
    if pattern.contains('X') && before + after < signs {
        format!("{}{}{}", "/".repeat(before), "X".repeat(signs - before - after), "/".repeat(after))
    } else {
        "X".repeat(signs)
    }
}

/// Resizes the pattern of the second provider by truncating it or by appending time without the provider. Both patterns
/// have the same length.
pub fn second(pattern: &str, signs: usize) -> String {
    let kept: String = pattern.chars().take(signs).collect();
    format!("{kept}{}", "/".repeat(signs - kept.len()))
}
