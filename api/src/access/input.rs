//! What a client sent with a call.

use chrono_tz::Tz;
use location::{time::Timestamp, zone::Date};

use super::keys::Grants;
use crate::{
    http::{body::Fields, paging::Paging, query::Params},
    values::{
        cursor::QueryCursors,
        kinds::{includes, times::Clock},
        versions::Version,
    },
};

/// Amounts of records that `include[]` adds, by its value.
const INCLUDED_AMOUNTS: [(&str, &str); 2] =
    [("insurance_coverages", "insurance_coverages.plan.annual_max_individual"), ("procedures", "procedures.fee")];

/// Where the date changes first.
pub(crate) const EARLIEST: Tz = Tz::Pacific__Kiritimati;

/// What the client sent, to be read by name.
pub struct Input {
    pub query: Params,
    pub body: Fields,
    pub now: Timestamp,
    /// Of the location that is named. Where none is, the latest date there is anywhere.
    pub today: Date,
    /// Of the location that is named; where none is, of all locations of the institution, if theirs are alike.
    pub clock: Clock,
    /// Of the calling key: parameters that need one it lacks are withheld.
    pub grants: Grants,
    pub version: Version,
    pub(super) cursors: QueryCursors,
}

impl Input {
    /// The values of `include[]`; the amounts that come with them and that the key may not see are named.
    pub(crate) fn includes(&mut self, known: &'static [&'static str]) -> Vec<&'static str> {
        let asked = self.query.list("include", includes(known));
        let amounts = INCLUDED_AMOUNTS.iter().filter(|(name, _)| asked.contains(name));
        amounts.for_each(|(_, field)| self.withhold_amount(field));
        asked
    }

    /// Names an amount that the key may not see.
    pub(crate) fn withhold_amount(&mut self, field: &str) {
        if !self.grants.financial {
            self.query.withheld(field, "financial");
        }
    }

    pub(crate) fn paging(&mut self) -> Paging {
        Paging::read(&mut self.query, self.version, self.cursors.clone(), self.now)
    }
}
