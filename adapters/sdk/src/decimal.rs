//! Amounts of money as text, compared without rounding: binary floating point would change them.
//!
//! ```
//! use adapter_sdk::decimal::millionths;
//!
//! assert_eq!(millionths("95"), millionths("95.00"));
//! assert!(millionths("12.50") > millionths("9"));
//! assert_eq!(millionths("1e3"), None);
//! ```

/// A decimal number in millionths; none for what is no plain one or too large.
pub fn millionths(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = whole.len() + fraction.len() > 0 && whole.len() <= 20 && fraction.len() <= 6;
    if !fits || !plain(whole) || !plain(fraction) {
        return None;
    }
    format!("{whole}{fraction:0<6}").parse::<i128>().ok().map(|number| sign * number)
}

#[cfg(test)]
mod tests {
    use super::millionths;

    #[test]
    fn numbers_are_compared_exactly() {
        assert_eq!((millionths("-0.5"), millionths("+.25")), (Some(-500_000), Some(250_000)));
        for bad in ["", "-", "1e3", "NaN", "1.2.3", "0.1234567", "1,5", "--1"] {
            assert_eq!(millionths(bad), None, "{bad}");
        }
    }
}
