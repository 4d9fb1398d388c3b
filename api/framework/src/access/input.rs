//! Input of a call: query parameters and body fields.

use chrono_tz::Tz;
use location::{Date, Timestamp};

use super::keys::Grants;
use crate::{
    http::{fields::Fields, paging::Paging, query::Params},
    values::{
        cursor::QueryCursors,
        kinds::{includes, times::Clock},
        versions::Version,
    },
};

/// Amount fields that each value of `include[]` adds to the response.
const INCLUDED_AMOUNTS: [(&str, &str); 2] =
    [("insurance_coverages", "insurance_coverages.plan.annual_max_individual"), ("procedures", "procedures.fee")];

/// Time zone where each date begins first.
pub(crate) const EARLIEST: Tz = Tz::Pacific__Kiritimati;

pub struct Input {
    pub query: Params,
    pub body: Fields,
    pub now: Timestamp,
    /// Date at the named location; without one, the latest date in any time zone.
    pub today: Date,
    /// Time zone of the named location; without one, that of the institution's locations if they share one.
    pub clock: Clock,
    /// Grants of the calling key. Parameters that need a missing grant are withheld.
    pub grants: Grants,
    pub version: Version,
    pub cursors: QueryCursors,
}

impl Input {
    /// Returns the values of `include[]`, and reports the included amounts that the key may not see.
    pub fn includes(&mut self, known: &'static [&'static str]) -> Vec<&'static str> {
        let asked = self.query.list("include", includes(known));
        let amounts = INCLUDED_AMOUNTS.iter().filter(|(name, _)| asked.contains(name));
        amounts.for_each(|(_, field)| self.withhold_amount(field));
        asked
    }

    /// Reports an amount that the key may not see.
    pub fn withhold_amount(&mut self, field: &str) {
        if !self.grants.financial {
            self.query.withheld(field, "financial");
        }
    }

    pub fn paging(&mut self) -> Paging {
        Paging::read(&mut self.query, self.version, self.cursors.clone(), self.now)
    }
}
