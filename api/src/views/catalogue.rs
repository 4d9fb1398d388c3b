//! Catalogues: appointment types with their descriptors, fee schedules, kinds of payment and adjustment.

use std::collections::BTreeMap;

use engine::records::{
    AdjustmentAction, AdjustmentType, AppointmentDescriptor, AppointmentType, Fee, FeeSchedule, PaymentType,
    record::Record,
};
use location::pull::Resource;
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::{
    values::{record_uuid::uuid, times::At},
    views::parts::{Price, foreign_id_type},
};

/// An appointment type.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct AppointmentTypeView {
    id: u32,
    name: String,
    category: Option<()>,
    #[schemars(extend("enum" = ["Institution", "Location"]))]
    parent_type: &'static str,
    parent_id: u32,
    minutes: u32,
    position: Option<()>,
    bookable_online: bool,
}

impl AppointmentTypeView {
    pub(crate) fn of(record: &Record<AppointmentType>) -> AppointmentTypeView {
        AppointmentTypeView {
            id: record.id,
            name: record.name.clone(),
            category: None,
            parent_type: if record.location_id.is_some() { "Location" } else { "Institution" },
            parent_id: record.location_id.unwrap_or(record.institution_id),
            minutes: record.minutes,
            position: None,
            bookable_online: record.bookable_online,
        }
    }
}

/// A label of the health record system for appointments or types, such as a procedure code, a reason or a colour.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppointmentDescriptorView<'a> {
    id: u64,
    descriptor_type: &'a str,
    name: &'a str,
    code: Option<&'a str>,
    /// Null where all locations of the health record system share it.
    location_id: Option<u32>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// What else the health record system tells.
    data: BTreeMap<&'a str, &'a str>,
    active: bool,
    last_sync_time: Option<At>,
    created_at: At,
    updated_at: At,
}

impl<'a> AppointmentDescriptorView<'a> {
    pub(crate) fn of(
        entry: &'a Record<AppointmentDescriptor>,
        adapter: Option<&'a str>,
    ) -> AppointmentDescriptorView<'a> {
        AppointmentDescriptorView {
            id: entry.id.into(),
            descriptor_type: &entry.body.kind,
            name: &entry.body.name,
            code: entry.body.code.as_deref(),
            location_id: entry.location_id,
            foreign_id: entry.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(entry.foreign_id.as_deref(), adapter),
            data: entry.body.extra.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            active: entry.body.active && entry.deleted_at.is_none(),
            last_sync_time: entry.last_sync_time.map(At),
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
        }
    }
}

/// An appointment type with the included records.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppointmentTypeDetail<'a> {
    #[serde(flatten)]
    appointment_type: AppointmentTypeView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<Vec<AppointmentDescriptorView<'a>>>,
}

impl AppointmentTypeDetail<'_> {
    pub(crate) fn of(record: &Record<AppointmentType>) -> Self {
        AppointmentTypeDetail { appointment_type: AppointmentTypeView::of(record), descriptors: None }
    }
}

/// A fee schedule (specification 2.4).
#[derive(Serialize, JsonSchema)]
pub(crate) struct FeeScheduleView<'a> {
    id: u64,
    name: &'a str,
    /// Null if the health record system does not provide it.
    active: Option<bool>,
    /// Null where all locations of the health record system share it.
    location_id: Option<u32>,
    updated_at: At,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure_fees: Option<Vec<ProcedureFee<'a>>>,
}

impl<'a> FeeScheduleView<'a> {
    pub(crate) fn of(entry: &'a Record<FeeSchedule>) -> FeeScheduleView<'a> {
        FeeScheduleView {
            id: entry.id,
            name: &entry.body.name,
            active: if entry.deleted_at.is_some() { Some(false) } else { entry.body.active },
            location_id: entry.location_id,
            updated_at: At(entry.updated_at),
            procedure_fees: None,
        }
    }
}

/// A fee inside its schedule.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProcedureFee<'a> {
    #[schemars(with = "Option<String>", extend("format" = "uuid"))]
    procedure_code_id: Option<Uuid>,
    fee: Price,
    code: Option<&'a str>,
}

impl<'a> ProcedureFee<'a> {
    pub(crate) fn of(entry: &'a Record<Fee>) -> ProcedureFee<'a> {
        let code = entry.body.procedure_code_id;
        ProcedureFee {
            procedure_code_id: code.map(|id| uuid(Resource::ProcedureCodes, entry.source(), id)),
            fee: Price::of(&entry.body.amount),
            code: entry.body.code.as_deref(),
        }
    }
}

/// The fee of one procedure code in a fee schedule.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FeeView<'a> {
    id: u64,
    #[serde(flatten)]
    fee: ProcedureFee<'a>,
    /// Null where all locations of the health record system share it.
    location_id: Option<u32>,
    fee_schedule_id: Option<u64>,
    updated_at: At,
}

impl<'a> FeeView<'a> {
    pub(crate) fn of(entry: &'a Record<Fee>) -> FeeView<'a> {
        FeeView {
            id: entry.id,
            fee: ProcedureFee::of(entry),
            location_id: entry.location_id,
            fee_schedule_id: Some(entry.body.fee_schedule_id),
            updated_at: At(entry.updated_at),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PaymentTypeView<'a> {
    id: u64,
    name: &'a str,
    active: bool,
    updated_at: At,
}

impl<'a> PaymentTypeView<'a> {
    pub(crate) fn of(entry: &'a Record<PaymentType>) -> PaymentTypeView<'a> {
        PaymentTypeView {
            id: entry.id,
            name: &entry.body.name,
            active: entry.body.active && entry.deleted_at.is_none(),
            updated_at: At(entry.updated_at),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AdjustmentTypeView<'a> {
    id: u64,
    name: &'a str,
    active: bool,
    #[schemars(with = "String", extend("enum" = ["credit", "debit", "unknown"]))]
    action: AdjustmentAction,
    updated_at: At,
}

impl<'a> AdjustmentTypeView<'a> {
    pub(crate) fn of(entry: &'a Record<AdjustmentType>) -> AdjustmentTypeView<'a> {
        AdjustmentTypeView {
            id: entry.id,
            name: &entry.body.name,
            active: entry.body.active && entry.deleted_at.is_none(),
            action: entry.body.action,
            updated_at: At(entry.updated_at),
        }
    }
}
