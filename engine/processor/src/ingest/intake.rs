//! What is gathered of a page while it is taken in.

use location::command::{Cx, Page};
use records::record::Record;

use crate::{processor::Processor, unit_of_work::UnitOfWork};

/// One location's view while a page is taken in.
pub(super) struct Intake<'s, 'd, 'p> {
    pub processor: &'s Processor,
    pub source: u32,
    pub cx: Cx,
    pub unit: &'d mut UnitOfWork<'p>,
    pub page: Page,
    /// Foreign ids of the records `page.deleted` and `page.past_deleted` name.
    pub tombstones: Vec<(String, u64)>,
    /// Appointments to be written once the machine has said which placements stay ours.
    pub appointments: Vec<(Record<records::Appointment>, Option<Record<records::Appointment>>)>,
}
