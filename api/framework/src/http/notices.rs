//! Notices in a response: ignored names and withheld fields. They are the same for query and body, and for success and
//! failure.

use std::sync::Arc;

use actix_web::{
    HttpResponse,
    http::header::{HeaderName, HeaderValue},
};
use parking_lot::Mutex;

use crate::values::limits::MAX_ECHOED_NAMES;

/// Header with the ignored names, for logs and programs.
pub(crate) const IGNORED: HeaderName = HeaderName::from_static("x-ignored-parameters");

/// Notices of one request, written by its reader and shared with the response.
#[derive(Clone, Default)]
pub struct Notices(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    sentence: Option<String>,
    header: Option<HeaderValue>,
}

impl Notices {
    /// Sets the notices. `interpretations` are sentences about interpreted values; `withheld` pairs fields with the
    /// missing grant.
    pub fn write(&self, interpretations: Vec<String>, mut ignored: Vec<String>, withheld: &[(String, &'static str)]) {
        ignored.truncate(MAX_ECHOED_NAMES);
        let mut sentences = interpretations;
        if !ignored.is_empty() {
            sentences.push(format!("Note that following parameters are ignored: {}.", ignored.join(", ")));
        }
        let mut grants: Vec<&str> = withheld.iter().map(|(_, grant)| *grant).collect();
        grants.dedup();
        for grant in grants {
            let of_grant = withheld.iter().filter(|(_, known)| *known == grant).map(|(name, _)| name.as_str());
            let names: Vec<&str> = of_grant.collect();
            sentences.push(format!("Withheld because the API key lacks the grant `{grant}`: {}.", names.join(", ")));
        }
        let sentence = (!sentences.is_empty()).then(|| sentences.join(" "));
        *self.0.lock() = Inner { sentence, header: header(&ignored) };
    }

    pub fn sentence(&self) -> Option<String> {
        self.0.lock().sentence.clone()
    }

    pub fn put_into(&self, answer: &mut HttpResponse) {
        if let Some(names) = self.0.lock().header.take() {
            answer.headers_mut().insert(IGNORED, names);
        }
    }
}

/// Builds the header. Characters of client names that are not plain ASCII are percent-encoded.
fn header(names: &[String]) -> Option<HeaderValue> {
    let plain = |b: u8| b.is_ascii_graphic() && !b"%,".contains(&b);
    let escaped = |name: &String| -> String {
        name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
    };
    let names = names.iter().map(escaped).collect::<Vec<_>>().join(", ");
    HeaderValue::from_str(&names).ok().filter(|names| !names.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_in_headers_are_plain() {
        let names = ["patient_id", "é", "a,b", "x\r\ny: z"].map(str::to_owned);
        assert_eq!(header(&names).unwrap(), "patient_id, %C3%A9, a%2Cb, x%0D%0Ay:%20z");
        assert_eq!(header(&[]), None);
    }

    #[test]
    fn withheld_names_are_not_reported_as_ignored() {
        let notices = Notices::default();
        let withheld = [("charges".to_owned(), "financial"), ("payments".to_owned(), "financial")];
        notices.write(Vec::new(), vec!["a".into()], &withheld);
        assert_eq!(
            notices.sentence().unwrap(),
            "Note that following parameters are ignored: a. Withheld because the API key lacks the grant `financial`: charges, payments."
        );
        notices.write(Vec::new(), Vec::new(), &[]);
        assert_eq!(notices.sentence(), None);
    }
}
