//! The views of stored records for the feed of changes and for webhook messages, equal to those of their endpoints.

use engine::{
    records::SyncSummary,
    webhooks::views::{ViewError, Views},
};
use framework::http::endpoint::SchemaOf;
use serde::de::DeserializeOwned;

use crate::{prelude::*, resources::practice::sync_status};

/// The views in webhook messages and in the feed of changes.
pub struct RecordViews;

impl RecordViews {
    pub fn shared() -> Arc<dyn Views> {
        Arc::new(RecordViews)
    }
}

impl Views for RecordViews {
    fn record(
        &self,
        context: &ViewContext<'_>,
        resource: Resource,
        stored: &[u8],
        related: &dyn RelatedRecords,
    ) -> Result<Value, ViewError> {
        publish(context, resource, stored, related)
    }

    fn sync_status(&self, context: &ViewContext<'_>, status: &SyncSummary) -> Result<Value, ViewError> {
        to_json(&sync_status::view(context.setup, &sync_status::location_status(context.location, status)))
    }
}

macro_rules! published {
    ($($body:ident($resource:ident))*) => {
        /// Builds the view of any record.
        fn publish(
            context: &ViewContext<'_>,
            resource: Resource,
            stored: &[u8],
            related: &dyn RelatedRecords,
        ) -> Rendered {
            match resource {
                $( Resource::$resource => engine::records::$body::publish(&read(stored)?, context, related), )*
            }
        }

        pub(crate) fn schema_of(resource: Resource) -> SchemaOf {
            match resource {
                $( Resource::$resource => |it| it.subschema_for::<<engine::records::$body as Published>::View>(), )*
            }
        }
    };
}

engine::records::for_every_record!(published);

impl Reader for ViewContext<'_> {
    fn adapter(&self, source: Option<u32>) -> Option<&str> {
        ViewContext::adapter(self, source)
    }

    fn sees_amounts(&self) -> bool {
        self.amounts
    }

    fn version(&self) -> Version {
        Version::stored(self.version)
    }
}

fn read<T: DeserializeOwned>(stored: &[u8]) -> Result<T, ViewError> {
    serde_json::from_slice(stored).map_err(|_| ViewError::Damaged)
}
