//! The imports that at least three handlers or views share: `use crate::prelude::*;`. Other names are imported by the
//! files that use them.

pub(crate) use engine::{
    EngineError, Saved, Unmet,
    idempotency::IdempotencyKey,
    lists::{Filter, Position},
    records::{
        Adjustment, Appointment, AppointmentDescriptor, AppointmentType, Charge, Claim, Coverage, Document,
        FeeSchedule, HistoryItem, InsurancePlan, Operatory, Patient, PatientAlert, PatientHistoryItem, PatientRecall,
        Payment, Procedure, Provider, RecallType, TreatmentPlan, WorkingHour, Writeback,
        money::Money,
        record::{Body, Record, Schema, WriteStatus},
        sync_state::SyncState,
        values::{Address, Day, Seconds},
    },
    setup::{LocationSetup, LocationStatus},
    webhooks::{
        model::{EndpointId, SubscriptionId},
        views::ViewContext,
    },
};
pub(crate) use framework::{
    access::{
        api::Api,
        arguments::{Anywhere, AtLocation, FromInput, Id, InLocations, InTenant, InTenants, OfLocation},
        call::{ActionContext, ApiCall},
        input::Input,
        resource_names,
        respond::{Answer, Created, Empty, Listed, One, Paged},
        tenancy::{OpenLocation, Tenant},
    },
    http::{
        errors::{ApiError, name_of},
        fields::Fields,
        paging::{ListPage, Paging},
    },
    records::{
        listing::{Listing, listing},
        visible::is_live,
    },
    values::{
        failures::Failure,
        kinds::{
            Kind, Sort, boolean, email, filled, gender, id, includes, integer, long_id, object, person_name, phone,
            shared::{
                active, appointment_type, family_name, given_name, note, part_of_name, patient, provider, updated_since,
            },
            sort, text,
            times::{birth_date, date, instant},
        },
        limits::{MAX_NAME, MAX_RELATED, MAX_TEXT},
        role::Role,
        times::{self, At},
        versions::Version,
        words::{Word, closed, word},
    },
};
pub(crate) use location::{
    DAY, Date, HourSource, InstitutionId, LocationId, MINUTE, Millis, Resource, SECOND, Timestamp,
};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::Serialize;
pub(crate) use serde_json::{Value, json, value::RawValue};
pub(crate) use uuid::Uuid;
pub(crate) use view_macro::{input, view};
