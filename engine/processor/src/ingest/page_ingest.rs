//! Data collected while a page is ingested.

use std::collections::BTreeMap;

use location::{DecisionContext, WriteId, command::PulledPage};
use records::Record;

use crate::{Processor, UnitOfWork};

/// A page being ingested by one location.
pub(super) struct PageIngest<'s, 'd, 'p> {
    pub processor: &'s Processor,
    pub source: u32,
    pub cx: DecisionContext,
    pub unit: &'d mut UnitOfWork<'p>,
    pub page: PulledPage,
    /// Foreign ids of the records in `page.deleted` and `page.past_deleted`.
    pub tombstones: Vec<(String, u64)>,
    /// Replacements in the queue that the page proves: by visit, the write and the foreign id of the new appointment.
    pub replacements: BTreeMap<u64, (WriteId, String)>,
    /// Number of appointments on the page that are not the current one of a visit.
    pub others: u32,
    /// Appointments to be written once the machine has decided which local placements are kept.
    pub appointments: Vec<(Record<records::Appointment>, Option<Record<records::Appointment>>)>,
}
