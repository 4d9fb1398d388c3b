//! Catalogues: appointment types with their descriptors, fee schedules, kinds of payment and adjustment.

use engine::records::{AdjustmentAction, AdjustmentType, Fee, PaymentType};
use framework::values::record_uuid::uuid;

use crate::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParentType {
    Institution,
    Location,
}

closed! {
    ParentType: "ParentType" "Type of the owner of a record." { Institution = "Institution", Location = "Location" }
}

/// An appointment type.
#[view(of = AppointmentType, named = "appointment type", published)]
#[derive(Clone)]
pub struct AppointmentTypeView {
    id: u32,
    name: String,
    category: Option<()>,
    /// Owner of the type: the institution or one location.
    #[view(with = Word(if entry.location_id.is_some() { ParentType::Location } else { ParentType::Institution }))]
    parent_type: Word<ParentType>,
    /// Id of the institution or location that the type belongs to.
    #[view(with = entry.location_id.unwrap_or(entry.institution_id))]
    parent_id: u32,
    /// Length of an appointment in minutes, 1 to 1440.
    minutes: u32,
    position: Option<()>,
    /// `true` if patients may book the type themselves. If false, slot searches and bookings by slot token exclude the
    /// type; `POST /appointments` may use it.
    bookable_online: bool,
}

/// A label of the health record system for appointments or types, such as a procedure code, a reason or a colour.
#[view(of = AppointmentDescriptor, named = "descriptor", published)]
pub struct AppointmentDescriptorView<'a> {
    id: u64,
    /// Kind of descriptor, as the health record system calls it.
    #[view(from = kind)]
    descriptor_type: &'a str,
    name: &'a str,
    /// Code of the descriptor; null if the health record system provides none.
    code: Option<&'a str>,
    /// Always null: all locations of the health record system share it.
    location_id: Option<u32>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// Other values that the health record system provides, keyed by name.
    #[view(with = entry.body.extra.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect())]
    data: BTreeMap<&'a str, &'a str>,
    #[view(active)]
    active: bool,
    last_sync_time: Option<At>,
    created_at: At,
    updated_at: At,
}

/// An appointment type with the included records.
#[view(of = AppointmentType)]
pub struct AppointmentTypeDetail<'a> {
    #[view(flatten = AppointmentTypeView::from_record(entry))]
    appointment_type: AppointmentTypeView,
    /// Descriptors of appointments of this type. Only with `include[]=descriptors`.
    pub descriptors: IncludedList<AppointmentDescriptorView<'a>>,
}

/// A fee schedule: a list of fees by procedure code.
#[view(of = FeeSchedule, named = "fee schedule", published)]
pub struct FeeScheduleView<'a> {
    id: u64,
    name: &'a str,
    /// `true` if the fee schedule is in use; `false` once it has been deleted in the health record system. Null if the
    /// health record system does not provide it.
    #[view(with = if entry.deleted_at.is_some() { Some(false) } else { entry.body.active })]
    active: Option<bool>,
    /// Always null: all locations of the health record system share it.
    location_id: Option<u32>,
    updated_at: At,
    /// Fees of the schedule by procedure code. Only with `include[]=procedure_fees`.
    pub procedure_fees: IncludedList<ProcedureFee<'a>>,
}

/// A fee, inside its fee schedule.
#[view(of = Fee)]
pub struct ProcedureFee<'a> {
    /// Id of the procedure code; null if the health record system provides none.
    #[view(with = entry.body.procedure_code_id.map(|id| uuid(Resource::ProcedureCodes, entry.source(), id)))]
    procedure_code_id: Option<Uuid>,
    /// The fee for the procedure.
    #[view(from = amount)]
    fee: Price,
    /// The procedure code itself, such as `D1110`; null if the health record system does not provide it.
    code: Option<&'a str>,
}

/// The fee of one procedure code in a fee schedule.
#[view(of = Fee, named = "fee", published)]
pub(crate) struct FeeView<'a> {
    id: u64,
    #[view(flatten = ProcedureFee::from_record(entry))]
    fee: ProcedureFee<'a>,
    /// Always null: all locations of the health record system share it.
    location_id: Option<u32>,
    /// Id of the fee schedule that the fee belongs to.
    fee_schedule_id: Option<u64>,
    updated_at: At,
}

/// A type of payment, such as cash or card.
#[view(of = PaymentType, named = "payment type", published)]
pub struct PaymentTypeView<'a> {
    id: u64,
    name: &'a str,
    #[view(active)]
    active: bool,
    updated_at: At,
}

/// A type of adjustment, such as a discount.
#[view(of = AdjustmentType, named = "adjustment type", published)]
pub struct AdjustmentTypeView<'a> {
    id: u64,
    name: &'a str,
    #[view(active)]
    active: bool,
    /// Effect of adjustments of this type on the balance: `credit` lowers it, `debit` raises it. `unknown` if the
    /// health record system does not provide it.
    #[schemars(with = "String", extend("enum" = ["credit", "debit", "unknown"]))]
    action: AdjustmentAction,
    updated_at: At,
}
