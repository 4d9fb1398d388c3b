//! Procedures and their codes, treatment plans, clinical notes, recalls.

use engine::records::{
    ClinicalNote, IntervalUnit, PatientRecall, PlanStatus, Procedure, ProcedureCode, ProcedureCodeCategory,
    ProcedureStatus, RecallType, TreatmentPlan,
    record::{Record, Schema},
};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::{
    values::{record_uuid::uuid, times::At, words::Word},
    views::parts::{Price, day, foreign_id_type},
};

/// An entry of the catalogue of billable procedures.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProcedureCodeView<'a> {
    /// Id of the procedure code.
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    /// The procedure code itself, such as `D1110`.
    code: &'a str,
    /// The meaning of the code.
    description: &'a str,
    /// Id of the category of the procedure code; null if the health record system provides none.
    category_id: Option<u64>,
    /// `true` if the procedure code is in use; `false` once it has been deleted in the health record system.
    active: bool,
    /// Opaque identifier in the health record system; null for a record that exists only in this service.
    foreign_id: Option<&'a str>,
    /// Name of the health record system's adapter; `nex` for a record that exists only in this service.
    foreign_id_type: &'a str,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
}

impl<'a> ProcedureCodeView<'a> {
    pub(crate) fn from_record(entry: &'a Record<ProcedureCode>, adapter: Option<&'a str>) -> ProcedureCodeView<'a> {
        ProcedureCodeView {
            id: uuid(ProcedureCode::RESOURCE, entry.source(), entry.id),
            code: &entry.body.code,
            description: &entry.body.description,
            category_id: entry.body.category_id,
            active: entry.body.active && entry.deleted_at.is_none(),
            foreign_id: entry.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(entry.foreign_id.as_deref(), adapter),
            updated_at: At(entry.updated_at),
        }
    }
}

/// A group of procedure codes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProcedureCodeCategoryView<'a> {
    /// Id of the category.
    id: u64,
    /// Name of the category.
    name: &'a str,
    /// Opaque identifier in the health record system; null for a record that exists only in this service.
    foreign_id: Option<&'a str>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
}

impl<'a> ProcedureCodeCategoryView<'a> {
    pub(crate) fn from_record(entry: &'a Record<ProcedureCodeCategory>) -> ProcedureCodeCategoryView<'a> {
        ProcedureCodeCategoryView {
            id: entry.id,
            name: &entry.body.name,
            foreign_id: entry.foreign_id.as_deref(),
            updated_at: At(entry.updated_at),
        }
    }
}

/// A planned or performed procedure.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProcedureView<'a> {
    /// Id of the procedure.
    id: u64,
    /// Always null: no health record system provides it.
    location_id: Option<u32>,
    /// Id of the patient; null if the health record system provides none.
    patient_id: Option<u32>,
    /// Id of the provider; null if the health record system provides none.
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
    status: Option<ProcedureStatus>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Part of the body on which the procedure is performed.
    body_site: BodySite<'a>,
    /// Fee for the procedure; null if the health record system does not provide it, and without the grant `financial`.
    fee: Option<Price>,
    /// First day of the procedure, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[schemars(extend("format" = "date"))]
    start_date: Option<String>,
    /// Last day of the procedure, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[schemars(extend("format" = "date"))]
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
    pub(crate) fn from_record(entry: &'a Record<Procedure>) -> ProcedureView<'a> {
        let procedure = &entry.body;
        ProcedureView {
            id: entry.id,
            location_id: entry.location_id,
            patient_id: procedure.patient_id,
            provider_id: procedure.provider_id,
            appointment_id: procedure.appointment_id,
            code: procedure.code.as_deref(),
            name: procedure.name.as_deref(),
            // The view has no field for a deletion.
            status: if entry.deleted_at.is_some() { Some(ProcedureStatus::Inactive) } else { procedure.status },
            updated_at: At(entry.updated_at),
            body_site: BodySite { tooth: &procedure.teeth, surface: procedure.surface.as_deref() },
            fee: Price::maybe(&procedure.fee),
            start_date: day(&procedure.start_date),
            end_date: day(&procedure.end_date),
            treatment_plan_ids: &procedure.treatment_plan_ids,
        }
    }

    /// Removes the amounts unless `shown`.
    pub(crate) fn amounts(self, shown: bool) -> ProcedureView<'a> {
        ProcedureView { fee: self.fee.filter(|_| shown), ..self }
    }
}

/// A treatment plan with its procedures.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TreatmentPlanView<'a> {
    /// Id of the treatment plan.
    id: u64,
    /// Name of the treatment plan; null if the health record system does not provide it.
    name: Option<&'a str>,
    /// Id of the patient; null if the health record system provides none.
    patient_id: Option<u32>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Status of the treatment plan; `not_applicable` if the health record system has no status for it. Null if the
    /// status is unknown or not one of these values.
    status: Option<Word<PlanStatus>>,
    /// The procedures of the treatment plan.
    procedures: Vec<ProcedureView<'a>>,
}

impl<'a> TreatmentPlanView<'a> {
    /// `procedures`: those of `procedure_ids` that exist.
    pub(crate) fn from_record(
        entry: &'a Record<TreatmentPlan>,
        procedures: impl IntoIterator<Item = &'a Record<Procedure>>,
    ) -> TreatmentPlanView<'a> {
        TreatmentPlanView {
            id: entry.id,
            name: entry.body.name.as_deref(),
            patient_id: entry.body.patient_id,
            updated_at: At(entry.updated_at),
            status: entry.body.status.map(Word),
            procedures: procedures.into_iter().map(ProcedureView::from_record).collect(),
        }
    }

    /// Removes the amounts unless `shown`.
    pub(crate) fn amounts(self, shown: bool) -> TreatmentPlanView<'a> {
        let procedures = self.procedures.into_iter().map(|it| it.amounts(shown)).collect();
        TreatmentPlanView { procedures, ..self }
    }
}

/// A clinical note about a patient.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClinicalNoteView<'a> {
    /// Id of the clinical note.
    id: u64,
    /// Id of the patient; null if the health record system provides none.
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
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
}

impl<'a> ClinicalNoteView<'a> {
    pub(crate) fn from_record(entry: &'a Record<ClinicalNote>) -> ClinicalNoteView<'a> {
        let note = &entry.body;
        ClinicalNoteView {
            id: entry.id,
            patient_id: note.patient_id,
            procedure_id: note.procedure_id,
            entered_at: note.entered_at.map(|it| At(it.at())),
            content: &note.content,
            signed: note.signed,
            completed: note.completed,
            updated_at: At(entry.updated_at),
        }
    }
}

/// A type of recall, such as a check-up every six months.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RecallTypeView<'a> {
    /// Id of the recall type.
    id: u64,
    /// Name of the recall type.
    name: &'a str,
    /// Description of the recall type; null if the health record system does not provide it.
    description: Option<&'a str>,
    /// Opaque identifier in the health record system; null for a record that exists only in this service.
    foreign_id: Option<&'a str>,
    /// Name of the health record system's adapter; `nex` for a record that exists only in this service.
    foreign_id_type: &'a str,
    /// Number of units between two visits, 1 to 1000.
    interval_num: u32,
    /// Unit of the time between two visits.
    interval_unit: Word<IntervalUnit>,
    /// Always null: all locations of the health record system share it.
    location_id: Option<u32>,
    /// Time at which this service first stored the record, in UTC.
    created_at: At,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
}

impl<'a> RecallTypeView<'a> {
    pub(crate) fn from_record(entry: &'a Record<RecallType>, adapter: Option<&'a str>) -> RecallTypeView<'a> {
        RecallTypeView {
            id: entry.id.into(),
            name: &entry.body.name,
            description: entry.body.description.as_deref(),
            foreign_id: entry.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(entry.foreign_id.as_deref(), adapter),
            interval_num: entry.body.interval_number,
            interval_unit: Word(entry.body.interval_unit),
            location_id: entry.location_id,
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
        }
    }
}

/// A patient due for recall.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientRecallView<'a> {
    /// Id of the recall.
    id: u64,
    /// Id of the appointment booked for the recall; null if there is none.
    appointment_id: Option<u64>,
    /// Date on which the patient is due, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[schemars(extend("format" = "date"))]
    date_due: Option<String>,
    /// Opaque identifier in the health record system; null for a record that exists only in this service.
    foreign_id: Option<&'a str>,
    /// Name of the health record system's adapter; `nex` for a record that exists only in this service.
    foreign_id_type: &'a str,
    /// Id of the recall type; null if the health record system provides none.
    recall_id: Option<u64>,
    /// The recall type; null if the health record system provides none.
    recall_type: Option<RecallTypeBasic<'a>>,
    /// Id of the patient; null if the health record system provides none.
    patient_id: Option<u32>,
    /// Time at which this service first stored the record, in UTC.
    created_at: At,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
}

/// The recall type of a patient recall.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RecallTypeBasic<'a> {
    /// Id of the recall type.
    id: u64,
    /// Name of the recall type.
    name: &'a str,
    /// Description of the recall type; null if the health record system does not provide it.
    description: Option<&'a str>,
    /// Number of units between two visits, 1 to 1000.
    interval_num: u32,
    /// Unit of the time between two visits.
    interval_unit: Word<IntervalUnit>,
}

impl<'a> PatientRecallView<'a> {
    pub(crate) fn from_record(
        entry: &'a Record<PatientRecall>,
        kind: Option<&'a Record<RecallType>>,
        adapter: Option<&'a str>,
    ) -> PatientRecallView<'a> {
        PatientRecallView {
            id: entry.id.into(),
            appointment_id: entry.body.appointment_id,
            date_due: day(&entry.body.date_due),
            foreign_id: entry.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(entry.foreign_id.as_deref(), adapter),
            recall_id: entry.body.recall_type_id,
            recall_type: kind.map(RecallTypeBasic::from_record),
            patient_id: entry.body.patient_id,
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
        }
    }
}

impl<'a> RecallTypeBasic<'a> {
    fn from_record(entry: &'a Record<RecallType>) -> RecallTypeBasic<'a> {
        RecallTypeBasic {
            id: entry.id.into(),
            name: &entry.body.name,
            description: entry.body.description.as_deref(),
            interval_num: entry.body.interval_number,
            interval_unit: Word(entry.body.interval_unit),
        }
    }
}
