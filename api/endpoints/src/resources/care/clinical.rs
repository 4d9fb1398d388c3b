//! Procedures and their codes, treatment plans, clinical notes and recalls, as read from the EHR.

use engine::records::{
    ClinicalNote, IntervalUnit, PatientRecall, PlanStatus, ProcedureCode, ProcedureCodeCategory, ProcedureStatus,
    RecallType, TreatmentPlan,
};
use framework::{
    records::listing::{called, foreign_ids},
    values::record_uuid::uuid,
};

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

impl Published for TreatmentPlan {
    type View = TreatmentPlanView<'static>;

    fn publish(entry: &Record<TreatmentPlan>, context: &ViewContext<'_>, related: &dyn RelatedRecords) -> Rendered {
        let mut procedures: Vec<Record<Procedure>> = Vec::new();
        for id in &entry.body.procedure_ids {
            procedures.extend(related.get(entry.source(), *id)?);
        }
        to_json(&TreatmentPlanView::from_record(entry, &procedures).amounts(context.amounts))
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

impl Published for PatientRecall {
    type View = PatientRecallView<'static>;

    fn publish(entry: &Record<PatientRecall>, context: &ViewContext<'_>, related: &dyn RelatedRecords) -> Rendered {
        let kind = entry.body.recall_type_id.map(|id| related.get::<Record<RecallType>>(entry.source(), id));
        let adapter = context.adapter(entry.source_id);
        to_json(&PatientRecallView::from_record(entry, kind.transpose()?.flatten().as_ref(), adapter))
    }
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

listing!(ListProcedureCodeCategories: |it| it.foreign_ids().without_deleted());

// Deleted codes are inactive.
listing!(ListProcedureCodes: |it| it.foreign_ids().since());

#[input]
pub struct ListProcedures {
    /// Only records that started after this date.
    #[query(date())]
    started_after: Option<Date>,
    /// Only records that started before this date.
    #[query(date())]
    started_before: Option<Date>,
    /// Only records that ended after this date.
    #[query(date())]
    ended_after: Option<Date>,
    /// Only records that ended before this date.
    #[query(date())]
    ended_before: Option<Date>,
    #[read(input.listing().sort().since().patient().provider()
        .id("appointment_id", "Id of the appointment.", Filter::Appointment).done())]
    listing: Listing,
}

pub async fn procedures(
    call: ApiCall,
    InLocations(tenant, location, request): InLocations<ListProcedures>,
) -> Answer<Paged<ProcedureView<'static>>> {
    let sources = call.sources_at(&tenant, location.as_ref());
    let page = request.listing.entries(&call, &sources, |it: &Record<Procedure>| {
        let (start, end) = (it.body.start_date.map(|day| day.0), it.body.end_date.map(|day| day.0));
        between(start, (request.started_after, request.started_before))
            && between(end, (request.ended_after, request.ended_before))
    })?;
    call.page_of(&page, |it| ProcedureView::render(it, &call))
}

#[input]
pub struct ListTreatmentPlans {
    /// Only records with this status.
    #[query(word())]
    status: Option<PlanStatus>,
    #[read(input.listing().since().patient().without_deleted().done())]
    listing: Listing,
}

pub async fn plans(
    call: ApiCall,
    InTenant(tenant, ListTreatmentPlans { listing, status }): InTenant<ListTreatmentPlans>,
) -> Answer<Paged<TreatmentPlanView<'static>>> {
    let keep = |it: &Record<TreatmentPlan>| status.is_none_or(|status| it.body.status == Some(status));
    let page = listing.entries(&call, &call.sources(&tenant), keep)?;
    let mut procedures = Vec::with_capacity(page.rows.len());
    for plan in &page.rows {
        procedures.push(procedures_of(&call, plan)?);
    }
    let mut procedures = procedures.iter();
    let amounts = call.key.grants.financial;
    let views = page
        .views(|plan| TreatmentPlanView::from_record(plan, procedures.next().into_iter().flatten()).amounts(amounts));
    Ok(call.page(&views))
}

pub async fn plan(call: ApiCall, Id(id): Id<u64>, tenant: Tenant) -> Answer<One<TreatmentPlanView<'static>>> {
    let plan = call.entry(&tenant, id)?;
    let procedures = procedures_of(&call, &plan)?;
    Ok(call.show(TreatmentPlanView::from_record(&plan, &procedures).amounts(call.key.grants.financial)))
}

fn procedures_of(call: &ApiCall, plan: &Record<TreatmentPlan>) -> Result<Vec<Record<Procedure>>, ApiError> {
    let mut procedures = Vec::new();
    for id in &plan.body.procedure_ids {
        procedures.extend(call.api.engine.entry(plan.source(), *id)?);
    }
    Ok(procedures)
}

#[input]
pub struct ListClinicalNotes {
    /// Only records entered after this time.
    #[query(instant(&input.clock), name = "entered_after")]
    after: Option<Timestamp>,
    /// Only records entered before this time.
    #[query(instant(&input.clock), name = "entered_before")]
    before: Option<Timestamp>,
    #[read(input.listing().since().patient().procedure().without_deleted().done())]
    listing: Listing,
}

pub async fn notes(
    call: ApiCall,
    AtLocation(location, ListClinicalNotes { after, before, listing }): AtLocation<ListClinicalNotes>,
) -> Answer<Paged<ClinicalNoteView<'static>>> {
    let keep = |it: &Record<ClinicalNote>| between(it.body.entered_at.map(|it| it.at()), (after, before));
    let page = listing.entries(&call, &location.sources(), keep)?;
    call.page_of(&page, ClinicalNoteView::from_record)
}

#[input]
pub struct ListRecallTypes {
    #[read(foreign_ids(&mut input.query))]
    foreign_ids: Vec<Vec<String>>,
    #[query(updated_since(&input.clock), name = "updated_since")]
    since: Option<Timestamp>,
}

pub async fn recall_types(
    mut call: ApiCall,
    AtLocation(location, ListRecallTypes { foreign_ids, since }): AtLocation<ListRecallTypes>,
) -> Answer<Listed<RecallTypeView<'static>>> {
    let sources = location.sources();
    let filters = since.map(Filter::UpdatedSince).into_iter().chain(called(&sources, &foreign_ids)).collect();
    let types: Vec<Record<RecallType>> = call.all_entries(&sources, filters)?;
    Ok(call.list(&types.iter().map(|it| RecallTypeView::render(it, &call)).collect::<Vec<_>>()))
}

#[input]
pub struct ListPatientRecalls {
    /// Only recalls that are due after this time.
    #[query(instant(&input.clock), name = "due_after")]
    due: Option<Timestamp>,
    #[read(input.listing().sort().since().foreign_ids().patient()
        .id("recall_id", "Id of the recall type.", Filter::RecallType).without_deleted().done())]
    listing: Listing,
}

pub async fn recalls(
    call: ApiCall,
    AtLocation(location, ListPatientRecalls { listing, due }): AtLocation<ListPatientRecalls>,
) -> Answer<Paged<PatientRecallView<'static>>> {
    let due = due.map(|due| times::local(due, location.setup.zone).0);
    let page = listing.entries(&call, &location.sources(), |it: &Record<PatientRecall>| {
        due.is_none_or(|due| it.body.date_due.is_some_and(|day| day.0 > due))
    })?;
    let kinds: Vec<_> = page.rows.iter().map(|it| kind_of(&call, it)).collect::<Result<_, _>>()?;
    let mut kinds = kinds.iter();
    let views =
        page.views(|it| PatientRecallView::from_record(it, kinds.next().and_then(Option::as_ref), call.adapter_of(it)));
    Ok(call.page(&views))
}

pub async fn recall(call: ApiCall, Id(id): Id<u64>, tenant: Tenant) -> Answer<One<PatientRecallView<'static>>> {
    let recall = call.entry(&tenant, id)?;
    let kind = kind_of(&call, &recall)?;
    Ok(call.show(PatientRecallView::from_record(&recall, kind.as_ref(), call.adapter_of(&recall))))
}

fn kind_of(call: &ApiCall, recall: &Record<PatientRecall>) -> Result<Option<Record<RecallType>>, ApiError> {
    let Some(id) = recall.body.recall_type_id else { return Ok(None) };
    Ok(call.api.engine.entry(recall.source(), id)?)
}

/// Optional exclusive bounds: after the first and before the second.
type Within<T> = (Option<T>, Option<T>);

/// Returns whether a value is within the bounds. A missing value is outside of any bound.
fn between<T: PartialOrd>(it: Option<T>, (after, before): Within<T>) -> bool {
    after.is_none_or(|after| it.as_ref().is_some_and(|it| *it > after))
        && before.is_none_or(|before| it.as_ref().is_some_and(|it| *it < before))
}
