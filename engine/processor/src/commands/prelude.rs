//! The imports of most requests: `use super::prelude::*;`.

pub(super) use location::{
    AppointmentId, Command, Decision, DecisionContext, Operation, OrderingKey, PatientId, Resource, Span, Timestamp,
};
pub(super) use records::{Body, Record, RecordWrite};

pub(super) use crate::{
    error::{Prepared, Reject},
    patients::{PatientDetails, narrow},
    processor::Processor,
    reply::Saved,
    request::Request,
    unit_of_work::UnitOfWork,
    unmet::Unmet,
};
