//! Names in the code that `record_macro` generates.

pub(crate) use location::{Operation, Resource, Timestamp};

pub(crate) use crate::{
    index::{Field, Findable, Term},
    record::{Body, Record, RecordId, ResourceRules, Schema, Scope},
    references::{ForeignId, ForeignIdOf, Invalid, Missing, Part, Reference, ResolveId},
    values::Extra,
};
