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
    values::{
        record_uuid::uuid,
        times::At,
        words::{Word, closed},
    },
    views::parts::{Price, foreign_id_type},
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParentType {
    Institution,
    Location,
}

closed! {
    ParentType: "ParentType" "Type of the owner of a record." { Institution = "Institution", Location = "Location" }
}

/// An appointment type.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct AppointmentTypeView {
    /// Id of the appointment type.
    id: u32,
    /// Name of the appointment type.
    name: String,
    /// Always null: no health record system provides it.
    category: Option<()>,
    /// Owner of the type: the institution or one location.
    parent_type: Word<ParentType>,
    /// Id of the institution or location that the type belongs to.
    parent_id: u32,
    /// Length of an appointment in minutes, 1 to 1440.
    minutes: u32,
    /// Always null: no health record system provides it.
    position: Option<()>,
    /// `true` if patients may book the type themselves. If false, slot searches and bookings by slot token exclude the
    /// type; `POST /appointments` may use it.
    bookable_online: bool,
}

impl AppointmentTypeView {
    pub(crate) fn from_record(record: &Record<AppointmentType>) -> AppointmentTypeView {
        AppointmentTypeView {
            id: record.id,
            name: record.name.clone(),
            category: None,
            parent_type: Word(if record.location_id.is_some() {
                ParentType::Location
            } else {
                ParentType::Institution
            }),
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
    /// Id of the descriptor.
    id: u64,
    /// Kind of descriptor, as the health record system calls it.
    descriptor_type: &'a str,
    /// Name of the descriptor.
    name: &'a str,
    /// Code of the descriptor; null if the health record system provides none.
    code: Option<&'a str>,
    /// Always null: all locations of the health record system share it.
    location_id: Option<u32>,
    /// Opaque identifier in the health record system; null for a record that exists only in this service.
    foreign_id: Option<&'a str>,
    /// Name of the health record system's adapter; `nex` for a record that exists only in this service.
    foreign_id_type: &'a str,
    /// Other values that the health record system provides, keyed by name.
    data: BTreeMap<&'a str, &'a str>,
    /// `true` if the descriptor is in use; `false` once it has been deleted in the health record system.
    active: bool,
    /// Time at which the health record system last reported a change of the record or accepted a write of it, in UTC;
    /// null before the first time.
    last_sync_time: Option<At>,
    /// Time at which this service first stored the record, in UTC.
    created_at: At,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
}

impl<'a> AppointmentDescriptorView<'a> {
    pub(crate) fn from_record(
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
    /// Descriptors of appointments of this type. Only with `include[]=descriptors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<Vec<AppointmentDescriptorView<'a>>>,
}

impl AppointmentTypeDetail<'_> {
    pub(crate) fn from_record(record: &Record<AppointmentType>) -> Self {
        AppointmentTypeDetail { appointment_type: AppointmentTypeView::from_record(record), descriptors: None }
    }
}

/// A fee schedule: a list of fees by procedure code.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FeeScheduleView<'a> {
    /// Id of the fee schedule.
    id: u64,
    /// Name of the fee schedule.
    name: &'a str,
    /// `true` if the fee schedule is in use; `false` once it has been deleted in the health record system. Null if the
    /// health record system does not provide it.
    active: Option<bool>,
    /// Always null: all locations of the health record system share it.
    location_id: Option<u32>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Fees of the schedule by procedure code. Only with `include[]=procedure_fees`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure_fees: Option<Vec<ProcedureFee<'a>>>,
}

impl<'a> FeeScheduleView<'a> {
    pub(crate) fn from_record(entry: &'a Record<FeeSchedule>) -> FeeScheduleView<'a> {
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

/// A fee, inside its fee schedule.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProcedureFee<'a> {
    /// Id of the procedure code; null if the health record system provides none.
    #[schemars(with = "Option<String>", extend("format" = "uuid"))]
    procedure_code_id: Option<Uuid>,
    /// The fee for the procedure.
    fee: Price,
    /// The procedure code itself, such as `D1110`; null if the health record system does not provide it.
    code: Option<&'a str>,
}

impl<'a> ProcedureFee<'a> {
    pub(crate) fn from_record(entry: &'a Record<Fee>) -> ProcedureFee<'a> {
        let code = entry.body.procedure_code_id;
        ProcedureFee {
            procedure_code_id: code.map(|id| uuid(Resource::ProcedureCodes, entry.source(), id)),
            fee: Price::from_money(&entry.body.amount),
            code: entry.body.code.as_deref(),
        }
    }
}

/// The fee of one procedure code in a fee schedule.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FeeView<'a> {
    /// Id of the fee.
    id: u64,
    #[serde(flatten)]
    fee: ProcedureFee<'a>,
    /// Always null: all locations of the health record system share it.
    location_id: Option<u32>,
    /// Id of the fee schedule that the fee belongs to.
    fee_schedule_id: Option<u64>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
}

impl<'a> FeeView<'a> {
    pub(crate) fn from_record(entry: &'a Record<Fee>) -> FeeView<'a> {
        FeeView {
            id: entry.id,
            fee: ProcedureFee::from_record(entry),
            location_id: entry.location_id,
            fee_schedule_id: Some(entry.body.fee_schedule_id),
            updated_at: At(entry.updated_at),
        }
    }
}

/// A type of payment, such as cash or card.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PaymentTypeView<'a> {
    /// Id of the payment type.
    id: u64,
    /// Name of the payment type.
    name: &'a str,
    /// `true` if the payment type is in use; `false` once it has been deleted in the health record system.
    active: bool,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
}

impl<'a> PaymentTypeView<'a> {
    pub(crate) fn from_record(entry: &'a Record<PaymentType>) -> PaymentTypeView<'a> {
        PaymentTypeView {
            id: entry.id,
            name: &entry.body.name,
            active: entry.body.active && entry.deleted_at.is_none(),
            updated_at: At(entry.updated_at),
        }
    }
}

/// A type of adjustment, such as a discount.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AdjustmentTypeView<'a> {
    /// Id of the adjustment type.
    id: u64,
    /// Name of the adjustment type.
    name: &'a str,
    /// `true` if the adjustment type is in use; `false` once it has been deleted in the health record system.
    active: bool,
    /// Effect of adjustments of this type on the balance: `credit` lowers it, `debit` raises it. `unknown` if the
    /// health record system does not provide it.
    #[schemars(with = "String", extend("enum" = ["credit", "debit", "unknown"]))]
    action: AdjustmentAction,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
}

impl<'a> AdjustmentTypeView<'a> {
    pub(crate) fn from_record(entry: &'a Record<AdjustmentType>) -> AdjustmentTypeView<'a> {
        AdjustmentTypeView {
            id: entry.id,
            name: &entry.body.name,
            active: entry.body.active && entry.deleted_at.is_none(),
            action: entry.body.action,
            updated_at: At(entry.updated_at),
        }
    }
}
