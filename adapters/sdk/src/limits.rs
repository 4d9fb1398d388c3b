//! The host's limits for records. A record beyond a limit would hold up its page, so it must be left out. Longer texts
//! are truncated by the host.
//!
//! ```
//! use adapter_sdk::limits;
//!
//! assert!(limits::is_id("P-1") && !limits::is_id("") && !limits::is_id("P\n1"));
//! assert!(limits::is_money("12.50", "USD") && !limits::is_money("12.50", "$"));
//! ```

/// Maximum bytes of an identifier, of a long text or JSON, and of an amount of money.
const ID: usize = 200;
const LONG: usize = 64 * 1024;
const AMOUNT: usize = 32;

/// Returns `true` if the text is a valid identifier.
pub fn is_id(text: &str) -> bool {
    (1..=ID).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// Returns `true` if the JSON of a form or of its responses is within the limit.
pub fn is_json_size(json: &str) -> bool {
    json.len() <= LONG
}

/// Returns `true` if the amount is within the limit and the currency is valid.
pub fn is_money(amount: &str, currency: &str) -> bool {
    amount.len() <= AMOUNT && is_currency(currency)
}

/// Returns `true` for three capital letters.
pub fn is_currency(code: &str) -> bool {
    code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Truncates a text like the host, so that a text written back unchanged is recognised.
pub fn long(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONG));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(long("ż".repeat(LONG)).len(), LONG);
        assert_eq!(long(format!("a{}", "ż".repeat(LONG))).len(), LONG - 1);
        assert!(is_json_size(&"x".repeat(LONG)) && !is_json_size(&"x".repeat(LONG + 1)));
        assert!(!is_id(&"x".repeat(ID + 1)) && !is_money(&"1".repeat(AMOUNT + 1), "USD"));
    }
}
