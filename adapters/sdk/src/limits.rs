//! What the host refuses in a record, so that none of these holds up its page. Longer texts it cuts itself.
//!
//! ```
//! use adapter_sdk::limits;
//!
//! assert!(limits::is_id("P-1") && !limits::is_id("") && !limits::is_id("P\n1"));
//! assert!(limits::is_money("12.50", "USD") && !limits::is_money("12.50", "$"));
//! ```

/// Bytes of an identifier, of a long text or JSON, and of an amount of money.
const ID: usize = 200;
const LONG: usize = 64 * 1024;
const AMOUNT: usize = 32;

/// An identifier.
pub fn is_id(text: &str) -> bool {
    (1..=ID).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// A form or its answers.
pub fn is_json_size(json: &str) -> bool {
    json.len() <= LONG
}

/// An amount that is no longer than amounts can be, and a currency.
pub fn is_money(amount: &str, currency: &str) -> bool {
    amount.len() <= AMOUNT && is_currency(currency)
}

/// Three capital letters.
pub fn is_currency(code: &str) -> bool {
    code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A text as the host keeps it: what is written back unchanged must be known as such.
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
