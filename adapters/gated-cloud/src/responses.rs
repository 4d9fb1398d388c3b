//! Responses of the application: JSON of a release, or one of its pages.

use std::collections::BTreeMap;

use adapter_sdk::{Fault, Receipt, http::Response, redact, session};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    faults,
    markup::{Markup, REFUSAL, Releases},
};

/// A response of the application in a supported release.
#[derive(Clone, Debug)]
pub struct AppResponse {
    pub markup: Markup,
    body: Value,
    /// The request changes nothing.
    reads: bool,
}

impl AppResponse {
    pub fn parse(answer: &Response, reads: bool) -> Result<AppResponse, Fault> {
        let foreign = || Fault::lost("the EHR's answer is not one of its web application", reads);
        let body: Value = serde_json::from_slice(&answer.body).map_err(|_| match is_login_page(answer) {
            true => session::fault_of_login_page(reads),
            false => foreign(),
        })?;
        let word = body["markup"].as_str().ok_or_else(foreign)?;
        let markup = Markup::from_word(word).ok_or_else(|| {
            let (word, known) = (redact::word(word), Markup::known());
            faults::unknown_release(format!("is at markup {word}, and this adapter knows {known}: it"), reads)
        })?;
        Ok(AppResponse { markup, body, reads })
    }

    /// Parses the frame around the records.
    pub fn frame<T: DeserializeOwned>(&self, names: Releases) -> Result<T, Fault> {
        // serde's own message would quote the record.
        serde_json::from_value(self.to_contract_names(names, &self.body)?)
            .map_err(|_| faults::wrong_field_type(self.reads))
    }

    /// Returns the value of the frame's only field.
    pub fn part<T: DeserializeOwned>(&self, names: Releases) -> Result<T, Fault> {
        let parts: BTreeMap<String, T> = self.frame(names)?;
        parts.into_values().next().ok_or_else(|| faults::wrong_field_type(self.reads))
    }

    /// Converts an object to our names. All fields must be present.
    pub fn to_contract_names(&self, names: Releases, shown: &Value) -> Result<Value, Fault> {
        self.markup.names(names).all_ours(shown).map_err(|lacking| {
            let (word, name, path) = (self.markup.word(), lacking.ours, lacking.theirs);
            let difference =
                format!("says it is at markup {word}, but `{name}` ({path}) is missing or different: this adapter");
            faults::unknown_release(difference, self.reads)
        })
    }

    /// Returns the application's code of a refusal.
    pub fn refusal(&self) -> Option<String> {
        self.to_contract_names(REFUSAL, &self.body).ok()?["code"].as_str().map(redact::word)
    }
}

/// Returns `true` if the session has expired.
pub fn is_login_page(answer: &Response) -> bool {
    session::is_login_page(answer, &["data-page=\"login\""])
}

/// Returns the receipt of a row that was found or written. An unreadable response proves nothing.
pub fn receipt(row: &Value, reads: bool) -> Result<Receipt, Fault> {
    let (id, version) = (row["id"].as_str(), row["version"].as_u64());
    let known = id.zip(version).map(|(id, version)| Receipt { id: id.to_owned(), version: Some(version.to_string()) });
    known.ok_or_else(|| faults::wrong_field_type(reads))
}
