//! Lists of records: what a request filters by is said once, and narrows what is read from the index as well as what is shown.

use std::collections::{BTreeMap, BTreeSet};

use engine::{
    EngineError,
    lists::{Narrow, Order, Part, Walk},
    records::{
        document::Document,
        index::{Field, OrderBy, Term},
    },
    store::Direction,
};
use location::time::{Span, Timestamp};

use crate::{
    access::{call::Call, input::Input},
    http::{
        errors::ApiError,
        paging::{Page, Paging},
    },
    values::{
        cursor,
        kinds::{Kind, Sort, boolean, instant, long_id, sort, text},
        limits::{MAX_NAME, MAX_SORTED, MAX_TEXT},
    },
};

/// A list as a request asks for it.
pub(crate) struct Listing {
    paging: Paging,
    order: Order,
    /// Of what has a place in a calendar: when it starts.
    within: Option<Span>,
    descending: bool,
    narrow: Vec<Narrow>,
    /// What no record shown may have.
    without: Vec<Term>,
    foreign_id: Option<String>,
    deleted: bool,
}

/// Reads a list's parameters, one after the other.
pub(crate) struct Reading<'a> {
    input: &'a mut Input,
    listing: Listing,
}

impl Input {
    pub(crate) fn listing(&mut self) -> Reading<'_> {
        let paging = self.paging();
        Reading::new(self, paging)
    }
}

impl<'a> Reading<'a> {
    fn new(input: &'a mut Input, paging: Paging) -> Reading<'a> {
        let listing = Listing {
            paging,
            order: Order::Id,
            within: None,
            descending: false,
            narrow: Vec::new(),
            without: Vec::new(),
            foreign_id: None,
            deleted: true,
        };
        Reading { input, listing }
    }

    /// `sort`: by id, unless the client asks for the order of changes.
    pub(crate) fn sort(mut self) -> Self {
        if let Some(Sort { by, descending }) = self.input.query.optional("sort", sort(&["id", "updated_at"])) {
            self.listing.descending = descending;
            if by == "updated_at" {
                self.listing.order = Order::By(OrderBy::Updated);
            }
        }
        self
    }

    /// A filter by a value the index knows.
    pub(crate) fn by<T: 'static>(mut self, name: &str, kind: Kind<T>, term: impl FnOnce(T) -> Option<Term>) -> Self {
        let term = self.input.query.optional(name, kind).and_then(term);
        self.listing.narrow.extend(term.map(Narrow::Has));
        self
    }

    /// A filter by the id of a record it refers to.
    pub(crate) fn id(self, name: &str, field: Field) -> Self {
        self.by(name, long_id(), move |id| Some(Term::number(field, id)))
    }

    pub(crate) fn text(self, name: &str, field: Field) -> Self {
        self.by(name, text(MAX_TEXT), move |value| Some(Term::text(field, value)))
    }

    pub(crate) fn patient(self) -> Self {
        self.id("patient_id", Field::Patient)
    }

    /// `name`: each word of it begins a word of the record's names, whatever the case and the accents.
    pub(crate) fn name(mut self) -> Self {
        let asked = self.input.query.optional("name", text(MAX_NAME));
        if let Some(name) = &asked {
            let before = self.listing.narrow.len();
            self.listing.narrow.extend(Narrow::name(name));
            if self.listing.narrow.len() == before {
                // It has no word: nobody is called so.
                self.listing.narrow.push(Narrow::OneOf(BTreeSet::new()));
            }
        }
        self
    }

    /// A filter by something that is so or is not.
    pub(crate) fn flag(mut self, name: &str, field: Field) -> Self {
        match self.input.query.optional(name, boolean()) {
            Some(true) => self.listing.narrow.push(Narrow::Has(Term::flag(field))),
            Some(false) => self.listing.without.push(Term::flag(field)),
            None => {}
        }
        self
    }

    pub(crate) fn since(mut self) -> Self {
        let since = self.input.query.optional("updated_since", instant(&self.input.clock));
        self.listing.narrow.extend(since.map(Narrow::UpdatedSince));
        self
    }

    pub(crate) fn foreign_id(mut self) -> Self {
        self.listing.foreign_id = self.input.query.optional("foreign_id", text(MAX_TEXT));
        self
    }

    /// Records deleted in the EHR are shown only when `include_deleted` asks for them.
    pub(crate) fn include_deleted(mut self) -> Self {
        self.listing.deleted = self.input.query.defaulted("include_deleted", boolean(), false);
        self
    }

    /// Records deleted in the EHR are never shown.
    pub(crate) fn without_deleted(mut self) -> Self {
        self.listing.deleted = false;
        self
    }

    /// Those that start within a time, in the order of their start or in another one.
    pub(crate) fn starting(mut self, within: Span, sort: Sort) -> Self {
        self.listing.within = Some(within);
        self.listing.descending = sort.descending;
        self.listing.order = match sort.by {
            "id" => Order::Id,
            "updated_at" => Order::By(OrderBy::Updated),
            _ => Order::By(OrderBy::Start),
        };
        self
    }

    pub(crate) fn descending(mut self, descending: bool) -> Self {
        self.listing.descending = descending;
        self
    }

    pub(crate) fn narrowed(mut self, narrow: impl IntoIterator<Item = Narrow>) -> Self {
        self.listing.narrow.extend(narrow);
        self
    }

    pub(crate) fn done(self) -> Listing {
        self.listing
    }
}

impl Listing {
    pub(crate) fn per_page(&self) -> usize {
        self.paging.per_page()
    }

    /// What is known only after the request was read narrows it too.
    pub(crate) fn narrowed(mut self, narrow: impl IntoIterator<Item = Narrow>) -> Listing {
        self.narrow.extend(narrow);
        self
    }

    /// The page asked for, of the records of these owners: institutions, data sources or locations. Foreign ids are those of `sources`.
    /// `keep` judges what the index cannot.
    pub(crate) fn page<D: Document>(
        &self,
        call: &Call,
        owners: &[u32],
        sources: &[u32],
        keep: impl Fn(&D) -> bool,
    ) -> Result<Page<D>, ApiError> {
        let found = self.found::<D>(call, sources)?;
        let narrow: Vec<Narrow> = self.narrow.iter().cloned().chain(found).collect();
        let shown = |record: &D| {
            self.starts_within(record)
                && (self.deleted || !record.deleted())
                && narrow.iter().all(|narrow| narrow.holds(record))
                && !self.without.iter().any(|term| record.terms().contains(term))
                && keep(record)
        };
        if let (Order::Id, Some(within)) = (self.order, self.within) {
            return self.page_by_id(call, owners, within, &narrow, shown);
        }
        let page_as_of = |as_of: Timestamp| -> Result<Page<(cursor::Position, D)>, ApiError> {
            let fetch = |at: Option<cursor::Position>, backwards, limit| {
                let part = Part { from: at.map(walked), direction: towards(backwards), limit };
                self.read::<D>(call, owners, &self.walk(as_of, &narrow), part)
            };
            Ok(self.paging.collect(self.descending, fetch, |(_, record)| shown(record), |(at, _)| *at)?)
        };
        let page = match self.order {
            Order::Id => page_as_of(self.began())?,
            Order::By(_) if self.paging.stands_alone() => page_as_of(Timestamp::MAX)?,
            // A walk begins a little in the past, so that its pages agree. A list of one page is shown as it is now.
            Order::By(_) if self.paging.is_first() => {
                let whole = page_as_of(Timestamp::MAX)?;
                if whole.info.more() { page_as_of(self.began())? } else { whole }
            }
            Order::By(_) => page_as_of(self.began())?,
        };
        Ok(Page { rows: page.rows.into_iter().map(|(_, record)| record).collect(), info: page.info })
    }

    /// The records with the foreign id asked for, if one is.
    fn found<D: Document>(&self, call: &Call, sources: &[u32]) -> Result<Option<Narrow>, ApiError> {
        let Some(foreign_id) = &self.foreign_id else { return Ok(None) };
        let mut ids = BTreeSet::new();
        for source in sources {
            ids.extend(call.api.engine.id_of_foreign(*source, D::KIND, foreign_id)?);
        }
        Ok(Some(Narrow::OneOf(ids)))
    }

    /// When a walk that asked for its first page when this one did began.
    fn began(&self) -> Timestamp {
        Walk::began(self.paging.as_of())
    }

    /// What starts within a time is found by its start; in the order of ids it is read as a whole.
    fn page_by_id<D: Document>(
        &self,
        call: &Call,
        owners: &[u32],
        within: Span,
        narrow: &[Narrow],
        shown: impl Fn(&D) -> bool,
    ) -> Result<Page<D>, ApiError> {
        let part = Part { from: None, direction: Direction::Forward, limit: MAX_SORTED + 1 };
        let mut found: BTreeMap<u64, D> = BTreeMap::new();
        for owner in owners {
            let by_start = Walk::new(*owner, Order::By(OrderBy::Start));
            let walk = Walk { within: Some(within), narrow: narrow.to_vec(), ..by_start };
            found.extend(call.api.engine.walk::<D>(&walk, part)?.into_iter().map(|(at, record)| (at.id, record)));
            if found.len() > MAX_SORTED {
                let problem = format!("More than {MAX_SORTED} records cannot be sorted by id: narrow start and end.");
                return Err(ApiError::bad(problem));
            }
        }
        found.retain(|_, record| shown(record));
        let fetch = |at: Option<cursor::Position>, backwards: bool, limit: usize| -> Result<Vec<u64>, EngineError> {
            use std::ops::Bound::{Excluded, Unbounded};
            let at = at.map_or(Unbounded, |at| Excluded(at.id));
            Ok(if backwards {
                found.range((Unbounded, at)).rev().take(limit).map(|(id, _)| *id).collect()
            } else {
                found.range((at, Unbounded)).take(limit).map(|(id, _)| *id).collect()
            })
        };
        let page = self.paging.collect(self.descending, fetch, |_| true, |id| cursor::Position::id(*id))?;
        Ok(Page { rows: page.rows.iter().filter_map(|id| found.remove(id)).collect(), info: page.info })
    }

    fn starts_within(&self, record: &impl Document) -> bool {
        match (self.order, self.within) {
            // A walk by start shows where records stood when it began.
            (Order::By(OrderBy::Start), _) | (_, None) => true,
            (_, Some(span)) => record
                .places()
                .iter()
                .any(|(order, at)| *order == OrderBy::Start && span.start <= *at && *at < span.end),
        }
    }

    fn walk(&self, as_of: Timestamp, narrow: &[Narrow]) -> impl Fn(u32) -> Walk {
        let within = self.within.filter(|_| self.order == Order::By(OrderBy::Start));
        let (order, narrow) = (self.order, narrow.to_vec());
        move |owner| Walk { within, narrow: narrow.clone(), as_of, ..Walk::new(owner, order) }
    }

    fn read<D: Document>(
        &self,
        call: &Call,
        owners: &[u32],
        walk: &impl Fn(u32) -> Walk,
        part: Part,
    ) -> Result<Vec<(cursor::Position, D)>, EngineError> {
        let mut rows = Vec::new();
        for owner in owners {
            rows.extend(call.api.engine.walk::<D>(&walk(*owner), part)?);
        }
        rows.sort_by_key(|(position, _)| *position);
        if part.direction == Direction::Backward {
            rows.reverse();
        }
        // Beyond what one owner gave in full, another's records may be missing.
        rows.truncate(part.limit);
        Ok(rows.into_iter().map(|(at, record)| (cursor::Position { at: at.at.0, id: at.id }, record)).collect())
    }
}

fn walked(at: cursor::Position) -> engine::lists::Position {
    engine::lists::Position { at: Timestamp(at.at), id: at.id }
}

fn towards(backwards: bool) -> Direction {
    if backwards { Direction::Backward } else { Direction::Forward }
}
