//! Lists of records: parameters of a request, translated into filters of the engine, and the pages that they select.

use engine::{
    lists::{Filter, ListQuery, Order, Page},
    records::{Body, Record, document::Document},
    rows::Row,
};
use location::Span;

use crate::{
    access::{
        call::{ApiCall, Input},
        tenancy::OpenLocation,
    },
    http::{
        errors::ApiError,
        paging::{ListPage, Paging},
        query::Params,
    },
    values::{
        kinds::{
            Kind, boolean, long_id,
            shared::{Sort, sort, updated_since},
            text,
        },
        limits::{MAX_FOREIGN_ID, MAX_NAME, MAX_TEXT},
    },
};

pub struct Listing {
    paging: Paging,
    order: Order,
    descending: bool,
    filters: Vec<Filter>,
    /// Sets of foreign ids. A record must match one id of each set.
    foreign_ids: Vec<Vec<String>>,
}

/// Builder that reads the parameters of a list.
pub struct Reading<'a> {
    input: &'a mut Input,
    listing: Listing,
}

/// Declares an input type that contains only a list request.
#[macro_export]
macro_rules! listing {
    ($name:ident: |$list:ident| $reading:expr) => {
        pub struct $name($crate::records::listing::Listing);

        impl $crate::access::call::FromInput for $name {
            fn from_input(input: &mut $crate::access::call::Input) -> $name {
                let $list = input.listing();
                $name($reading.done())
            }
        }

        impl From<$name> for $crate::records::listing::Listing {
            fn from($name(listing): $name) -> $crate::records::listing::Listing {
                listing
            }
        }
    };
}

pub use listing;

impl Input {
    pub fn listing(&mut self) -> Reading<'_> {
        let paging = self.paging();
        let (order, descending, filters, foreign_ids) = (Order::Id, false, Vec::new(), Vec::new());
        Reading { input: self, listing: Listing { paging, order, descending, filters, foreign_ids } }
    }
}

/// Reads `foreign_id` and `foreign_ids[]`. A record must match one id of each returned set.
pub fn foreign_ids(q: &mut Params) -> Vec<Vec<String>> {
    let foreign_id = text(MAX_TEXT).about("Opaque identifier of the record in the practice's health record system.");
    let one = q.optional("foreign_id", foreign_id).map(|foreign_id| vec![foreign_id]);
    let foreign_id = text(MAX_FOREIGN_ID).about(
        "Only records with one of these identifiers in the practice's health record system. Identifiers that match no \
         record are ignored.",
    );
    let many = q.list("foreign_ids", foreign_id);
    one.into_iter().chain((!many.is_empty()).then_some(many)).collect()
}

/// Returns filters for records that have these foreign ids in `sources`.
pub fn called(sources: &[u32], foreign_ids: &[Vec<String>]) -> impl Iterator<Item = Filter> {
    let mut sources = sources.to_vec();
    sources.sort_unstable();
    sources.dedup();
    foreign_ids.iter().map(move |names| Filter::ForeignIds { sources: sources.clone(), foreign_ids: names.clone() })
}

impl Reading<'_> {
    /// Reads `sort`. The default is by id, the alternative by time of change.
    pub fn sort(mut self) -> Self {
        if let Some(Sort { by, descending }) = self.input.query.optional("sort", sort(&["id", "updated_at"])) {
            self.listing.descending = descending;
            if by == "updated_at" {
                self.listing.order = Order::UpdatedAt;
            }
        }
        self
    }

    /// Reads a parameter as a filter.
    pub fn by<T: 'static>(mut self, name: &str, kind: Kind<T>, filter: impl FnOnce(T) -> Filter) -> Self {
        let filter = self.input.query.optional(name, kind).map(filter);
        self.listing.filters.extend(filter);
        self
    }

    /// Filters by the id of a referenced record.
    pub fn id(self, name: &str, about: &'static str, filter: fn(u64) -> Filter) -> Self {
        self.by(name, long_id().about(about), filter)
    }

    pub fn text(self, name: &str, about: &'static str, filter: fn(String) -> Filter) -> Self {
        self.by(name, text(MAX_TEXT).about(about), filter)
    }

    pub fn patient(self) -> Self {
        self.id("patient_id", "Id of the patient.", Filter::Patient)
    }

    pub fn provider(self) -> Self {
        self.id("provider_id", "Id of the provider.", Filter::Provider)
    }

    pub fn guarantor(self) -> Self {
        self.id("guarantor_id", "Id of the guarantor, the person responsible for the account.", Filter::Guarantor)
    }

    pub fn procedure(self) -> Self {
        self.id("procedure_id", "Id of the procedure.", Filter::Procedure)
    }

    pub fn name(self) -> Self {
        let about = "Search text for the name. Each word must be the beginning of a word of the name. Case, accents, \
            apostrophes, hyphens and spaces inside a name make no difference.";
        self.by("name", text(MAX_NAME).about(about), Filter::Name)
    }

    pub fn flag(self, name: &str, about: &'static str, filter: fn(bool) -> Filter) -> Self {
        self.by(name, boolean().about(about), filter)
    }

    pub fn since(self) -> Self {
        let kind = updated_since(&self.input.clock);
        self.by("updated_since", kind, Filter::UpdatedSince)
    }

    /// Reads `foreign_id` and `foreign_ids[]`.
    pub fn foreign_ids(mut self) -> Self {
        self.listing.foreign_ids = foreign_ids(&mut self.input.query);
        self
    }

    /// Reads `include_deleted`, without which records deleted in the EHR are hidden.
    pub fn include_deleted(self) -> Self {
        match self.input.query.defaulted(
            "include_deleted",
            boolean().about("`true` to include deleted records."),
            false,
        ) {
            true => self,
            false => self.without_deleted(),
        }
    }

    pub fn without_deleted(self) -> Self {
        self.filtered([Filter::NotDeleted])
    }

    pub fn filtered(mut self, filters: impl IntoIterator<Item = Filter>) -> Self {
        self.listing.filters.extend(filters);
        self
    }

    pub fn done(self) -> Listing {
        self.listing
    }
}

impl Listing {
    /// Filters by start time, in the order of `sort` (by default the start time).
    pub fn starting(mut self, within: Span, sort: Sort) -> Listing {
        self.filters.push(Filter::Starting(within));
        self.descending = sort.descending;
        self.order = match sort.by {
            "id" => Order::Id,
            "updated_at" => Order::UpdatedAt,
            _ => Order::StartsAt,
        };
        self
    }

    pub fn descending(self, descending: bool) -> Listing {
        Listing { descending, ..self }
    }

    /// Adds filters that depend on other input.
    pub fn filtered(mut self, filters: impl IntoIterator<Item = Filter>) -> Listing {
        self.filters.extend(filters);
        self
    }

    /// Returns the requested page of records of `owners`: institutions, data sources or locations. Foreign ids refer to
    /// `sources`. `keep` is an additional filter.
    pub fn page<D: Document>(
        &self,
        call: &ApiCall,
        owners: &[u32],
        sources: &[u32],
        keep: impl Fn(&D) -> bool,
    ) -> Result<ListPage<D>, ApiError> {
        let query = self.query(owners, sources);
        Ok(self.with_cursors(call.api.engine.lists().list(&query, &self.paging.request(self.descending), keep)?))
    }

    /// Like `page`, with rows that stay in memory for later lists.
    pub fn rows<D: Document>(
        &self,
        call: &ApiCall,
        owners: &[u32],
        sources: &[u32],
        keep: impl Fn(&D) -> bool,
    ) -> Result<ListPage<Row<D>>, ApiError> {
        let query = self.query(owners, sources);
        Ok(self.with_cursors(call.api.engine.lists().list_rows(&query, &self.paging.request(self.descending), keep)?))
    }

    /// Lists records of data sources, without those created at a location that is closed to the caller.
    pub fn entries<T: Body>(
        &self,
        call: &ApiCall,
        sources: &[u32],
        keep: impl Fn(&Record<T>) -> bool,
    ) -> Result<ListPage<Row<Record<T>>>, ApiError> {
        let page = self.rows(call, sources, sources, |it: &Record<T>| call.is_visible(it) && keep(it))?;
        page.rows.iter().for_each(|it| call.shown.audit_read(&T::RULES, it.id.into()));
        Ok(page)
    }

    /// Lists records of the location's data source, without those created at another location.
    pub fn entries_at<T: Body>(
        &self,
        call: &ApiCall,
        location: &OpenLocation,
        keep: impl Fn(&Record<T>) -> bool,
    ) -> Result<ListPage<Row<Record<T>>>, ApiError> {
        let here = |entry: &Record<T>| entry.location_id.is_none_or(|id| id == location.setup.id.0);
        self.entries(call, &location.sources(), |entry| here(entry) && keep(entry))
    }

    fn query(&self, owners: &[u32], sources: &[u32]) -> ListQuery {
        let named = called(sources, &self.foreign_ids);
        ListQuery::new(owners, self.order).filtered(self.filters.iter().cloned().chain(named))
    }

    fn with_cursors<R>(&self, page: Page<R>) -> ListPage<R> {
        let timed = self.order == Order::UpdatedAt && self.descending;
        self.paging.with_cursors(page, timed)
    }
}

/// Returns `false` for records that the EHR rejected, which are hidden.
pub fn is_live<T: Body>(entry: &Record<T>) -> bool {
    !entry.rejected()
}
