//! The common envelope of responses (specification 2.1).

use serde::Serialize;

use super::paging::PageInfo;
use crate::values::failures::Failure;

#[derive(Serialize)]
pub struct Envelope<'a, T> {
    pub code: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Failure>,
    pub description: Option<&'a str>,
    pub error: &'a [String],
    pub data: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_info: Option<&'a PageInfo>,
}

/// A failure of an intent, whose responses all have `ok` and `message`.
#[derive(Serialize)]
pub struct IntentFailure<'a> {
    pub ok: bool,
    pub message: String,
    #[serde(flatten)]
    pub envelope: Envelope<'a, ()>,
}

impl<'a> Envelope<'a, ()> {
    pub fn failure(error: &'a [String], reason: Failure, description: Option<&'a str>) -> Envelope<'a, ()> {
        Envelope { code: false, reason: Some(reason), description, error, data: None, count: None, page_info: None }
    }
}

impl<'a, T> Envelope<'a, T> {
    pub fn success(description: Option<&'a str>, data: T) -> Envelope<'a, T> {
        Envelope { code: true, reason: None, description, error: &[], data: Some(data), count: None, page_info: None }
    }
}
