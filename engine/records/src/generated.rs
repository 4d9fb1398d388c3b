//! Names in the code that `record_macro` generates.

pub(crate) use location::{Operation, Resource, Timestamp};

pub(crate) use crate::{
    Body, Record, Scope,
    index::{Field, Findable, Term},
    record::{RecordId, ResourceRules, Schema},
    references::{ForeignId, ForeignIdOf, Invalid, Missing, Part, Reference, ResolveId},
    values::Extra,
};
