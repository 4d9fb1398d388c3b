//! Views of records in webhook messages, for tests without the API's views.

use location::Resource;
use records::SyncSummary;
use serde_json::{Map, Value, json};
use webhooks::views::{RelatedRecords, ViewContext, ViewError, Views};

use crate::Counter;

/// Views of an engine without subscriptions: a request for one fails.
pub struct NoViews;

impl Views for NoViews {
    fn record(&self, _: &ViewContext<'_>, _: Resource, _: &[u8], _: &dyn RelatedRecords) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }

    fn sync_status(&self, _: &ViewContext<'_>, _: &SyncSummary) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }
}

/// Stored records with the API version and the status of their write. Fields of the body are at the top level.
#[derive(Default)]
pub struct PlainViews {
    /// Rendered records.
    pub rendered: Counter,
}

impl Views for PlainViews {
    fn record(
        &self,
        context: &ViewContext<'_>,
        _: Resource,
        stored: &[u8],
        _: &dyn RelatedRecords,
    ) -> Result<Value, ViewError> {
        self.rendered.add(1);
        let mut view: Map<String, Value> = serde_json::from_slice(stored).map_err(|_| ViewError::Damaged)?;
        view.insert("version".to_owned(), context.version.into());
        if let Some(Value::Object(body)) = view.remove("body") {
            view.extend(body);
        }
        if let Some(write) = view.remove("write") {
            view.insert("ehr_writeback".to_owned(), write["status"].clone());
        }
        Ok(view.into())
    }

    fn sync_status(&self, context: &ViewContext<'_>, status: &SyncSummary) -> Result<Value, ViewError> {
        Ok(json!({"location": context.location.id.0, "read": status.read_ok, "write": status.write_ok}))
    }
}
