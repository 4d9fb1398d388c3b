//! Rendering of records for a reader, with the related records that `include[]` adds. [`view_macro::view`] implements
//! [`RecordView`] for most views.

use engine::webhooks::views::ViewError;

use crate::prelude::*;

/// The reader of a view: a call, the feed of changes, or a webhook subscription.
pub trait Reader {
    /// Returns the name of a data source's adapter.
    fn adapter(&self, source: Option<u32>) -> Option<&str>;
    /// Returns `true` if the reader may see the amounts of records that are not about money.
    fn sees_amounts(&self) -> bool;
    fn version(&self) -> Version;
}

/// A view that depends only on its record and its reader.
pub trait RecordView {
    type Body: Body;
    /// The view with the lifetime of its record.
    type View<'view>: Serialize + JsonSchema;

    /// The accepted values of `include[]`.
    const INCLUDES: &'static [&'static str] = &[];

    fn render<'view>(entry: &'view Record<Self::Body>, reader: &'view dyn Reader) -> Self::View<'view>;

    /// Sets the fields that `include[]` requests.
    fn include<'view, R: IncludedRecords>(
        _: &mut Self::View<'view>,
        _: &'view Record<Self::Body>,
        _: &'view R,
    ) -> Result<(), R::Error> {
        Ok(())
    }
}

/// A record with a view in the feed of changes and in webhook messages. `published` of [`view_macro::view`] implements
/// it.
pub(crate) trait Published: Body {
    /// The view, for its schema.
    type View: JsonSchema;

    fn publish(entry: &Record<Self>, context: &ViewContext<'_>, related: &dyn RelatedRecords) -> Rendered;
}

/// A view as JSON.
pub(crate) type Rendered = Result<Value, ViewError>;

pub(crate) fn to_json(view: &impl Serialize) -> Rendered {
    serde_json::to_value(view).map_err(|_| ViewError::Damaged)
}

/// The related records of a response, as far as the reader may see them. They are kept until the response is complete.
pub trait IncludedRecords {
    type Error;

    fn reader(&self) -> &dyn Reader;
    fn is_requested(&self, name: &str) -> bool;
    /// Loads a record by id. Returns `None` without an id, and if no such record is visible.
    fn record<T: Body>(&self, id: Option<T::Id>) -> Result<Option<&Record<T>>, Self::Error>;
    /// Loads the records of a data source that match a filter, without deleted ones.
    fn matching<T: Body>(&self, source: u32, filter: Filter) -> Result<&[Record<T>], Self::Error>;

    /// Loads the view of a record by id.
    fn view<V: RecordView>(&self, id: Option<<V::Body as Schema>::Id>) -> Result<Option<V::View<'_>>, Self::Error> {
        Ok(self.record::<V::Body>(id)?.map(|it| V::render(it, self.reader())))
    }

    /// Loads the view of a record by id, if it is requested.
    fn included<V: RecordView>(
        &self,
        name: &str,
        id: Option<<V::Body as Schema>::Id>,
    ) -> Result<Included<V::View<'_>>, Self::Error> {
        self.is_requested(name).then(|| self.view::<V>(id)).transpose()
    }
}
