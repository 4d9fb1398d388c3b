//! Procedures and their codes, treatment plans, clinical notes, recalls.

use engine::records::{ClinicalNote, IntervalUnit, PlanStatus, ProcedureCode, ProcedureCodeCategory, ProcedureStatus};
use framework::values::record_uuid::uuid;

use crate::prelude::*;

/// An entry of the catalogue of billable procedures.
#[view(of = ProcedureCode, named = "procedure code", published)]
pub(crate) struct ProcedureCodeView<'a> {
    #[view(with = uuid(ProcedureCode::RESOURCE, entry.source(), entry.id))]
    id: Uuid,
    /// The procedure code itself, such as `D1110`.
    code: &'a str,
    /// The meaning of the code.
    description: &'a str,
    /// Id of the category of the procedure code; null if the health record system provides none.
    category_id: Option<u64>,
    #[view(active)]
    active: bool,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    updated_at: At,
}

/// A group of procedure codes.
#[view(of = ProcedureCodeCategory, named = "category", published)]
pub(crate) struct ProcedureCodeCategoryView<'a> {
    id: u64,
    name: &'a str,
    foreign_id: Option<&'a str>,
    updated_at: At,
}

/// A planned or performed procedure.
#[view(
    of = Procedure,
    named = "procedure",
    render = ProcedureView::from_record(entry).amounts(reader.sees_amounts()),
    published
)]
pub struct ProcedureView<'a> {
    id: u64,
    /// Always null: no health record system provides it.
    location_id: Option<u32>,
    patient_id: Option<u32>,
    provider_id: Option<u32>,
    /// Id of the appointment that the procedure is planned for or was performed in; null if the health record system
    /// provides none.
    appointment_id: Option<u64>,
    /// Procedure code, such as `D1110`; null if the health record system does not provide it.
    code: Option<&'a str>,
    /// Name of the procedure; null if the health record system does not provide it.
    name: Option<&'a str>,
    /// Status of the procedure; `inactive` once it has been deleted in the health record system. Null if the status is
    /// unknown or not one of these values.
    #[schemars(with = "Option<String>", extend("enum" = [
        "planned", "scheduled", "completed", "inactive", "referred", null
    ]))]
    // The view has no field for a deletion.
    #[view(with = if entry.deleted_at.is_some() { Some(ProcedureStatus::Inactive) } else { entry.body.status })]
    status: Option<ProcedureStatus>,
    updated_at: At,
    /// Part of the body on which the procedure is performed.
    #[view(with = BodySite { tooth: &entry.body.teeth, surface: entry.body.surface.as_deref() })]
    body_site: BodySite<'a>,
    /// Fee for the procedure; null if the health record system does not provide it, and without the grant `financial`.
    fee: Option<Price>,
    /// First day of the procedure, `YYYY-MM-DD`; null if the health record system does not provide it.
    start_date: Option<String>,
    /// Last day of the procedure, `YYYY-MM-DD`; null if the health record system does not provide it.
    end_date: Option<String>,
    /// Ids of the treatment plans that the procedure is part of.
    treatment_plan_ids: &'a [u64],
}

/// Part of the body on which a procedure is performed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BodySite<'a> {
    /// Teeth, as numbered by the health record system; may be empty.
    tooth: &'a [String],
    /// Surfaces of the teeth, as notated by the health record system; null if the health record system does not provide
    /// them.
    surface: Option<&'a str>,
}

impl<'a> ProcedureView<'a> {
    /// Removes the amounts unless `shown`.
    pub fn amounts(self, shown: bool) -> ProcedureView<'a> {
        ProcedureView { fee: self.fee.filter(|_| shown), ..self }
    }
}

/// A treatment plan with its procedures.
#[view(of = TreatmentPlan, named = "treatment plan", args(procedures: impl IntoIterator<Item = &'a Record<Procedure>>))]
pub struct TreatmentPlanView<'a> {
    id: u64,
    /// Name of the treatment plan; null if the health record system does not provide it.
    name: Option<&'a str>,
    patient_id: Option<u32>,
    updated_at: At,
    /// Status of the treatment plan; `not_applicable` if the health record system has no status for it. Null if the
    /// status is unknown or not one of these values.
    status: Option<Word<PlanStatus>>,
    /// The procedures of the treatment plan.
    #[view(with = procedures.into_iter().map(ProcedureView::from_record).collect())]
    procedures: Vec<ProcedureView<'a>>,
}

impl<'a> TreatmentPlanView<'a> {
    /// Removes the amounts unless `shown`.
    pub fn amounts(self, shown: bool) -> TreatmentPlanView<'a> {
        let procedures = self.procedures.into_iter().map(|it| it.amounts(shown)).collect();
        TreatmentPlanView { procedures, ..self }
    }
}

/// A clinical note about a patient.
#[view(of = ClinicalNote, named = "clinical note", published)]
pub struct ClinicalNoteView<'a> {
    id: u64,
    patient_id: Option<u32>,
    /// Id of the procedure that the note is about; null if the health record system provides none.
    procedure_id: Option<u64>,
    /// Time at which the note was entered, in UTC; null if the health record system does not provide it.
    entered_at: Option<At>,
    /// Text of the note.
    content: &'a str,
    /// `true` if the provider signed the note; null if the health record system does not provide it.
    signed: Option<bool>,
    /// `true` if the note is completed; null if the health record system does not provide it.
    completed: Option<bool>,
    updated_at: At,
}

/// A type of recall, such as a check-up every six months.
#[view(of = RecallType, named = "recall type", published)]
pub struct RecallTypeView<'a> {
    id: u64,
    name: &'a str,
    /// Description of the recall type; null if the health record system does not provide it.
    description: Option<&'a str>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    #[view(from = interval_number)]
    interval_num: u32,
    interval_unit: Word<IntervalUnit>,
    /// Always null: all locations of the health record system share it.
    location_id: Option<u32>,
    created_at: At,
    updated_at: At,
}

/// A patient due for recall.
#[view(of = PatientRecall, named = "recall", args(kind: Option<&'a Record<RecallType>>))]
pub struct PatientRecallView<'a> {
    id: u64,
    /// Id of the appointment booked for the recall; null if there is none.
    appointment_id: Option<u64>,
    /// Date on which the patient is due, `YYYY-MM-DD`; null if the health record system does not provide it.
    date_due: Option<String>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// Id of the recall type; null if the health record system provides none.
    #[view(from = recall_type_id)]
    recall_id: Option<u64>,
    /// The recall type; null if the health record system provides none.
    #[view(with = kind.map(RecallTypeBasic::from_record))]
    recall_type: Option<RecallTypeBasic<'a>>,
    patient_id: Option<u32>,
    created_at: At,
    updated_at: At,
}

/// The recall type of a patient recall.
#[view(of = RecallType, named = "recall type")]
pub(crate) struct RecallTypeBasic<'a> {
    id: u64,
    name: &'a str,
    /// Description of the recall type; null if the health record system does not provide it.
    description: Option<&'a str>,
    #[view(from = interval_number)]
    interval_num: u32,
    interval_unit: Word<IntervalUnit>,
}
