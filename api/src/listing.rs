//! Lists of records: what a request filters by is said once, and narrows what is read from the index as well as what is shown.

use engine::{
    EngineError,
    actor::docs::Document,
    index::{Field, Term, places::OrderBy},
    lists::{Narrow, Order, Part, Walk},
};
use location::time::{Span, Timestamp};

use crate::{
    bounds::{MAX_NAME, MAX_TEXT},
    cursor,
    errors::ApiError,
    kinds::{Kind, Sort, boolean, instant, long_id, sort, text},
    pages::{Page, Paging},
    scope::{Call, Input},
};

/// A list as a request asks for it.
pub struct Listing {
    paging: Paging,
    order: Order,
    within: Option<Span>,
    descending: bool,
    narrow: Vec<Narrow>,
    /// What no record shown may have.
    without: Vec<Term>,
    foreign_id: Option<String>,
    deleted: bool,
}

/// Reads a list's parameters, one after the other.
pub struct Reading<'a> {
    input: &'a mut Input,
    listing: Listing,
}

impl Input {
    pub fn listing(&mut self) -> Reading<'_> {
        let paging = self.paging();
        Reading::new(self, paging)
    }

    /// For lists that are alike in all versions.
    pub fn listing_by_cursor(&mut self) -> Reading<'_> {
        let paging = self.paging_by_cursor();
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
    pub fn sort(mut self) -> Self {
        if let Some(Sort { by, descending }) = self.input.query.optional("sort", sort(&["id", "updated_at"])) {
            self.listing.descending = descending;
            if by == "updated_at" {
                self.listing.order = Order::By(OrderBy::Updated);
            }
        }
        self
    }

    /// A filter by a value the index knows.
    pub fn by<T: 'static>(mut self, name: &str, kind: Kind<T>, term: impl FnOnce(T) -> Option<Term>) -> Self {
        let term = self.input.query.optional(name, kind).and_then(term);
        self.listing.narrow.extend(term.map(Narrow::Has));
        self
    }

    /// A filter by the id of a record it refers to.
    pub fn id(self, name: &str, field: Field) -> Self {
        self.by(name, long_id(), move |id| Some(Term::number(field, id)))
    }

    pub fn text(self, name: &str, field: Field) -> Self {
        self.by(name, text(MAX_TEXT), move |value| Some(Term::text(field, value)))
    }

    pub fn patient(self) -> Self {
        self.id("patient_id", Field::Patient)
    }

    /// `name`: each word of it begins a word of the record's names, whatever the case and the accents.
    pub fn name(mut self) -> Self {
        let asked = self.input.query.optional("name", text(MAX_NAME));
        self.listing.narrow.extend(asked.iter().flat_map(|name| Narrow::name(name)));
        self
    }

    /// A filter by something that is so or is not.
    pub fn flag(mut self, name: &str, field: Field) -> Self {
        match self.input.query.optional(name, boolean()) {
            Some(true) => self.listing.narrow.push(Narrow::Has(Term::flag(field))),
            Some(false) => self.listing.without.push(Term::flag(field)),
            None => {}
        }
        self
    }

    pub fn since(mut self) -> Self {
        let since = self.input.query.optional("updated_since", instant());
        self.listing.narrow.extend(since.map(Narrow::UpdatedSince));
        self
    }

    pub fn foreign_id(mut self) -> Self {
        self.listing.foreign_id = self.input.query.optional("foreign_id", text(MAX_TEXT));
        self
    }

    /// Records deleted in the EHR are shown only when `include_deleted` asks for them.
    pub fn include_deleted(mut self) -> Self {
        self.listing.deleted = self.input.query.defaulted("include_deleted", boolean(), false);
        self
    }

    /// Records deleted in the EHR are never shown.
    pub fn without_deleted(mut self) -> Self {
        self.listing.deleted = false;
        self
    }

    /// In the order of their start, those that start within a time.
    pub fn by_start(mut self, within: Span) -> Self {
        (self.listing.order, self.listing.within) = (Order::By(OrderBy::Start), Some(within));
        self
    }

    pub fn descending(mut self, descending: bool) -> Self {
        self.listing.descending = descending;
        self
    }

    pub fn narrowed(mut self, narrow: impl IntoIterator<Item = Narrow>) -> Self {
        self.listing.narrow.extend(narrow);
        self
    }

    /// Anything else the request filters by.
    pub fn input(&mut self) -> &mut Input {
        self.input
    }

    pub fn done(self) -> Listing {
        self.listing
    }
}

impl Listing {
    /// What is known only after the request was read narrows it too.
    pub fn narrowed(mut self, narrow: impl IntoIterator<Item = Narrow>) -> Listing {
        self.narrow.extend(narrow);
        self
    }

    /// The page asked for, of the records of these owners: institutions, data sources or locations. `keep` judges what the index cannot.
    pub fn page<D: Document>(
        &self,
        call: &Call,
        owners: &[u32],
        foreign_id_of: impl Fn(&D) -> Option<&str>,
        keep: impl Fn(&D) -> bool,
    ) -> Result<Page<D>, ApiError> {
        let shown = |record: &D| {
            (self.deleted || !record.deleted())
                && self.foreign_id.as_deref().is_none_or(|wanted| foreign_id_of(record) == Some(wanted))
                && self.narrow.iter().all(|narrow| narrow.holds(record))
                && !self.without.iter().any(|term| record.terms().contains(term))
                && keep(record)
        };
        let fetch = |at: Option<cursor::Position>, backwards, limit| self.read::<D>(call, owners, at, backwards, limit);
        let page = self.paging.collect(self.descending, fetch, |(_, record)| shown(record), |(at, _)| *at)?;
        Ok(Page { rows: page.rows.into_iter().map(|(_, record)| record).collect(), found: page.found })
    }

    fn read<D: Document>(
        &self,
        call: &Call,
        owners: &[u32],
        at: Option<cursor::Position>,
        backwards: bool,
        limit: usize,
    ) -> Result<Vec<(cursor::Position, D)>, EngineError> {
        let from = at.map(|at| engine::lists::Position { at: Timestamp(at.at), id: at.id });
        let direction = if backwards { engine::store::Direction::Backward } else { engine::store::Direction::Forward };
        let mut rows = Vec::new();
        for owner in owners {
            let walk = Walk {
                within: self.within,
                narrow: self.narrow.clone(),
                as_of: Walk::began(self.paging.as_of()),
                ..Walk::new(*owner, self.order)
            };
            rows.extend(call.api.engine.walk::<D>(&walk, Part { from, direction, limit })?);
        }
        rows.sort_by_key(|(position, _)| *position);
        if backwards {
            rows.reverse();
        }
        // Beyond what one owner gave in full, another's records may be missing.
        rows.truncate(limit);
        Ok(rows.into_iter().map(|(at, record)| (cursor::Position { at: at.at.0, id: at.id }, record)).collect())
    }
}
