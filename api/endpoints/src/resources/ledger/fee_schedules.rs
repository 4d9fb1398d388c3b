//! Fee schedules and their fees: GET /fee_schedules, GET /fee_schedule_procedures

use engine::records::Fee;
use framework::values::{limits::MAX_WHOLE_LIST, record_uuid::uuid};

use crate::prelude::*;

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

#[input]
pub struct ShowFeeSchedule {
    #[read(input.includes(&["procedure_fees"]))]
    include: Vec<&'static str>,
}

pub async fn show(
    mut call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ShowFeeSchedule { include }): InTenant<ShowFeeSchedule>,
) -> Answer<One<FeeScheduleView<'static>>> {
    let entry = call.entry::<FeeSchedule>(&tenant, id)?;
    let mut view = FeeScheduleView::from_record(&entry);
    if include.is_empty() {
        return Ok(call.show(view));
    }
    let fees = call.find_all::<Fee>(entry.source(), Filter::FeeSchedule(id), MAX_WHOLE_LIST)?;
    if fees.len() == MAX_WHOLE_LIST {
        call.warn("Not all fees are shown: list them with GET /fee_schedule_procedures.");
    }
    view.procedure_fees = Some(fees.iter().map(ProcedureFee::from_record).collect());
    Ok(call.show(view))
}

listing!(ListFees: |it| it.id("fee_schedule_id", "Id of the fee schedule.", Filter::FeeSchedule).since().without_deleted());
