//! The imports of most requests: `use super::prelude::*;`.

pub(super) use location::{
    AppointmentId, Command, Decision, DecisionContext, Operation, OrderingKey, PatientId, Resource, Span, Timestamp,
};
pub(super) use records::{Body, Record, RecordWrite};

pub(super) use crate::{
    PatientDetails, Prepared, Processor, Reject, Request, Saved, UnitOfWork, patients::narrow,
    precondition::PreconditionError,
};
