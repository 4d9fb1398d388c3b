//! References to other servers, which never refer to our records, whatever their ids.

use serde_json::Value;

/// Replacement of a reference to another server.
const ELSEWHERE: &str = "urn:elsewhere";

/// Replaces references outside the server's `own` base URLs. Returns the base URL of one of them. While no base URL is
/// known, every reference counts as the server's own.
pub fn take_out_foreign(value: &mut Value, own: &[String]) -> Option<String> {
    match value {
        Value::Array(items) => items.iter_mut().fold(None, |found, item| take_out_foreign(item, own).or(found)),
        Value::Object(fields) => {
            let mut found = None;
            for (name, value) in fields {
                let foreign = value.as_str().filter(|text| name == "reference" && is_foreign(text, own)).map(base_of);
                if foreign.is_some() {
                    *value = ELSEWHERE.into();
                }
                found = foreign.or_else(|| take_out_foreign(value, own)).or(found);
            }
            found
        }
        _ => None,
    }
}

fn is_foreign(reference: &str, own: &[String]) -> bool {
    // `http` and `https` count as the same server.
    let bare = |url: &str| url.split_once("://").map(|(_, rest)| rest.trim_end_matches('/').to_lowercase());
    let mut own = own.iter().filter_map(|base| bare(base)).peekable();
    let Some(reference) = bare(reference) else { return false };
    own.peek().is_some() && !own.any(|base| reference.strip_prefix(&base).is_some_and(|rest| rest.starts_with('/')))
}

/// Returns the part of a reference before type and id.
fn base_of(reference: &str) -> String {
    let path = reference.split("/_history/").next().unwrap_or_default();
    path.rsplitn(3, '/').nth(2).unwrap_or_default().to_owned()
}
