//! The imports of most requests: `use super::prelude::*;`.

pub(super) use location::{
    command::{Command, DecisionContext},
    decision::Decision,
    ids::{AppointmentId, PatientId},
    order::OrderingKey,
    pull::Resource,
    resource::Operation,
    time::{Span, Timestamp},
};
pub(super) use records::record::{Body, Record, RecordWrite};

pub(super) use crate::{
    error::{Prepared, Reject},
    patients::{PatientDetails, narrow},
    processor::Processor,
    reply::Saved,
    request::Request,
    unit_of_work::UnitOfWork,
    unmet::Unmet,
};
