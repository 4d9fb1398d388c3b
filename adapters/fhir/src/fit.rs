//! What the host refuses in a record, so that none of these holds up its page. Longer texts it cuts itself.

/// Bytes of an identifier, of a long text or JSON, and of an amount of money.
const ID: usize = 200;
const LONG: usize = 64 * 1024;
const AMOUNT: usize = 32;

pub fn is_id(text: &str) -> bool {
    (1..=ID).contains(&text.len()) && !text.chars().any(char::is_control)
}

pub fn is_json_size(json: &str) -> bool {
    json.len() <= LONG
}

pub fn is_money(amount: &str, currency: &str) -> bool {
    amount.len() <= AMOUNT && currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A text as the host keeps it: what is written back unchanged must be known as such.
pub fn long(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONG));
    text
}
