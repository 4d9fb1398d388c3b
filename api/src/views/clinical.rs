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
    values::{record_uuid::uuid, times::At},
    views::parts::{Price, day, foreign_id_type},
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct ProcedureCodeView<'a> {
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    code: &'a str,
    description: &'a str,
    category_id: Option<u64>,
    active: bool,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    updated_at: At,
}

impl<'a> ProcedureCodeView<'a> {
    pub(crate) fn of(entry: &'a Record<ProcedureCode>, adapter: Option<&'a str>) -> ProcedureCodeView<'a> {
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

#[derive(Serialize, JsonSchema)]
pub(crate) struct ProcedureCodeCategoryView<'a> {
    id: u64,
    name: &'a str,
    foreign_id: Option<&'a str>,
    updated_at: At,
}

impl<'a> ProcedureCodeCategoryView<'a> {
    pub(crate) fn of(entry: &'a Record<ProcedureCodeCategory>) -> ProcedureCodeCategoryView<'a> {
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
    id: u64,
    /// Null if the health record system does not provide it.
    location_id: Option<u32>,
    patient_id: Option<u32>,
    provider_id: Option<u32>,
    appointment_id: Option<u64>,
    code: Option<&'a str>,
    name: Option<&'a str>,
    #[schemars(with = "Option<String>", extend("enum" = [
        "planned", "scheduled", "completed", "inactive", "referred", null
    ]))]
    status: Option<ProcedureStatus>,
    updated_at: At,
    body_site: BodySite<'a>,
    /// Also null without the grant `financial`.
    fee: Option<Price>,
    #[schemars(extend("format" = "date"))]
    start_date: Option<String>,
    #[schemars(extend("format" = "date"))]
    end_date: Option<String>,
    treatment_plan_ids: &'a [u64],
}

/// Where on the body.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BodySite<'a> {
    tooth: &'a [String],
    surface: Option<&'a str>,
}

impl<'a> ProcedureView<'a> {
    pub(crate) fn of(entry: &'a Record<Procedure>) -> ProcedureView<'a> {
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

    /// Without them for callers who may not see any.
    pub(crate) fn amounts(self, shown: bool) -> ProcedureView<'a> {
        ProcedureView { fee: self.fee.filter(|_| shown), ..self }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TreatmentPlanView<'a> {
    id: u64,
    name: Option<&'a str>,
    patient_id: Option<u32>,
    updated_at: At,
    #[schemars(with = "Option<String>", extend("enum" = [
        "not_applicable", "proposed", "accepted", "rejected", "completed", null
    ]))]
    status: Option<PlanStatus>,
    procedures: Vec<ProcedureView<'a>>,
}

impl<'a> TreatmentPlanView<'a> {
    /// `procedures`: those of `procedure_ids` that exist.
    pub(crate) fn of(
        entry: &'a Record<TreatmentPlan>,
        procedures: impl IntoIterator<Item = &'a Record<Procedure>>,
    ) -> TreatmentPlanView<'a> {
        TreatmentPlanView {
            id: entry.id,
            name: entry.body.name.as_deref(),
            patient_id: entry.body.patient_id,
            updated_at: At(entry.updated_at),
            status: entry.body.status,
            procedures: procedures.into_iter().map(ProcedureView::of).collect(),
        }
    }

    /// Without them for callers who may not see any.
    pub(crate) fn amounts(self, shown: bool) -> TreatmentPlanView<'a> {
        let procedures = self.procedures.into_iter().map(|it| it.amounts(shown)).collect();
        TreatmentPlanView { procedures, ..self }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ClinicalNoteView<'a> {
    id: u64,
    patient_id: Option<u32>,
    procedure_id: Option<u64>,
    entered_at: Option<At>,
    content: &'a str,
    /// Signed by the provider.
    signed: Option<bool>,
    completed: Option<bool>,
    updated_at: At,
}

impl<'a> ClinicalNoteView<'a> {
    pub(crate) fn of(entry: &'a Record<ClinicalNote>) -> ClinicalNoteView<'a> {
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

#[derive(Serialize, JsonSchema)]
pub(crate) struct RecallTypeView<'a> {
    id: u64,
    name: &'a str,
    description: Option<&'a str>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// Units between two visits.
    interval_num: u32,
    #[schemars(with = "String", extend("enum" = ["day", "week", "month", "year"]))]
    interval_unit: IntervalUnit,
    /// Null where all locations of the health record system share it.
    location_id: Option<u32>,
    created_at: At,
    updated_at: At,
}

impl<'a> RecallTypeView<'a> {
    pub(crate) fn of(entry: &'a Record<RecallType>, adapter: Option<&'a str>) -> RecallTypeView<'a> {
        RecallTypeView {
            id: entry.id.into(),
            name: &entry.body.name,
            description: entry.body.description.as_deref(),
            foreign_id: entry.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(entry.foreign_id.as_deref(), adapter),
            interval_num: entry.body.interval_number,
            interval_unit: entry.body.interval_unit,
            location_id: entry.location_id,
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
        }
    }
}

/// A patient due for recall.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientRecallView<'a> {
    id: u64,
    /// The appointment booked for the recall.
    appointment_id: Option<u64>,
    #[schemars(extend("format" = "date"))]
    date_due: Option<String>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// The recall type.
    recall_id: Option<u64>,
    recall_type: Option<RecallTypeBasic<'a>>,
    patient_id: Option<u32>,
    created_at: At,
    updated_at: At,
}

/// The recall type of a patient recall.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RecallTypeBasic<'a> {
    id: u64,
    name: &'a str,
    description: Option<&'a str>,
    interval_num: u32,
    #[schemars(with = "String", extend("enum" = ["day", "week", "month", "year"]))]
    interval_unit: IntervalUnit,
}

impl<'a> PatientRecallView<'a> {
    pub(crate) fn of(
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
            recall_type: kind.map(RecallTypeBasic::of),
            patient_id: entry.body.patient_id,
            created_at: At(entry.created_at),
            updated_at: At(entry.updated_at),
        }
    }
}

impl<'a> RecallTypeBasic<'a> {
    fn of(entry: &'a Record<RecallType>) -> RecallTypeBasic<'a> {
        RecallTypeBasic {
            id: entry.id.into(),
            name: &entry.body.name,
            description: entry.body.description.as_deref(),
            interval_num: entry.body.interval_number,
            interval_unit: entry.body.interval_unit,
        }
    }
}
