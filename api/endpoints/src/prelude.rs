//! The imports that at least three handlers or views share: `use crate::prelude::*;`. Other names are imported by the
//! files that use them.

pub(crate) use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

pub(crate) use engine::{
    EngineError, PatientDetails, PreconditionError, Saved,
    idempotency::IdempotencyKey,
    lists::{Filter, ListQuery, Order, PageRequest, Position},
    records::{
        Address, Adjustment, Appointment, AppointmentDescriptor, AppointmentType, Body, Charge, Claim, Coverage, Day,
        Description, FeeSchedule, InsurancePlan, Money, Operatory, Patient, PatientAlert, Payment, Procedure, Provider,
        Record, Seconds, SyncState, WorkingHour, WriteStatus, Writeback, record::Schema,
    },
    setup::{LocationSetup, LocationStatus},
    webhooks::{
        model::{EndpointId, SubscriptionId},
        views::{RelatedRecords, ViewContext},
    },
};
pub(crate) use framework::{
    access::{
        api::Api,
        arguments::{Anywhere, FromCall, Id},
        call::{ActionContext, ApiCall, FromInput, Input},
        resource_names,
        respond::{Answer, Answers, Created, Empty, Listed, One, Paged, Plain, Wraps},
        tenancy::{AtLocation, InLocations, InTenant, InTenants, OfLocation, OpenLocation, Tenant},
        webhook_audience::may_receive,
    },
    http::{
        errors::{ApiError, HttpResult, name_of},
        fields::Fields,
        paging::{ListPage, Paging},
    },
    records::listing::{Listing, is_live, listing},
    values::{
        failures::Failure,
        kinds::{
            Kind, boolean, email, filled, gender, id, includes, integer, long_id, object, person_name, phone,
            reference::Reference,
            shared::{
                Sort, active, appointment_type, family_name, given_name, note, operatory, part_of_name, patient,
                provider, slot_token, sort, updated_since,
            },
            text,
            times::{birth_date, date, instant},
        },
        limits::{MAX_DAYS_AHEAD, MAX_NAME, MAX_RELATED, MAX_TEXT},
        role::Role,
        times::{self, At},
        versions::Version,
        words::{Word, closed, word},
    },
};
pub(crate) use location::{
    AppointmentId, AppointmentTypeId, DAY, Date, HourSource, InstitutionId, LocationId, MINUTE, Millis, OperatoryId,
    ProviderId, Refusal, Resource, SECOND, Slot, SlotQuery, Span, Timestamp, VisitRules,
};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::Serialize;
pub(crate) use serde_json::{Value, json, value::RawValue};
pub(crate) use uuid::Uuid;
pub(crate) use view_macro::{input, view};

pub(crate) use crate::views::{
    common::{Included, IncludedList, Omittable, Price, WriteState},
    render::{IncludedRecords, Published, Reader, RecordView, Rendered, to_json},
};
