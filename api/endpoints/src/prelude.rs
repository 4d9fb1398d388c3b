//! The imports of most handlers and views: `use crate::prelude::*;`. Names of fewer files are imported by those files.

pub(crate) use engine::{EngineError, Saved, Unmet, lists::Filter, records::record::Record, setup::LocationSetup};
pub(crate) use framework::{
    access::{
        api::Api,
        arguments::{Anywhere, AtLocation, FromInput, Id, InLocations, InTenant, InTenants, OfLocation},
        call::{ActionContext, ApiCall},
        input::Input,
        respond::{Answer, Created, Empty, Listed, One, Paged},
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::ApiError,
    records::listing::{Listing, listing},
    values::{
        failures::Failure,
        kinds::{
            Kind, boolean, filled, id, includes, integer, long_id, object, person_name,
            shared::{active, note, patient},
            text,
            times::{date, instant},
        },
        limits::{MAX_NAME, MAX_TEXT},
        times::At,
        words::{Word, word},
    },
};
pub(crate) use location::{
    ids::{InstitutionId, LocationId},
    pull::Resource,
    time::Timestamp,
    zone::Date,
};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::Serialize;
pub(crate) use view_macro::{input, view};
