//! Procedures and their codes, treatment plans, clinical notes, recalls and conversations, as read from the EHR.

use engine::records::{ClinicalNote, PlanStatus};
use framework::{
    access::respond::Never,
    records::listing::{called, foreign_ids},
};

use crate::{
    prelude::*,
    views::clinical::{ClinicalNoteView, PatientRecallView, ProcedureView, RecallTypeView, TreatmentPlanView},
};

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
    InLocations(tenant, location, asked): InLocations<ListProcedures>,
) -> Answer<Paged<ProcedureView<'static>>> {
    let sources = call.sources_at(&tenant, location.as_ref());
    let page = asked.listing.entries(&call, &sources, |it: &Record<Procedure>| {
        let (start, end) = (it.body.start_date.map(|day| day.0), it.body.end_date.map(|day| day.0));
        between(start, (asked.started_after, asked.started_before))
            && between(end, (asked.ended_after, asked.ended_before))
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
    let page = listing.entries(&call, &location.sources(), |it: &Record<PatientRecall>| {
        due.is_none_or(|due| it.body.date_due.is_some_and(|day| midnight(day.0) > due))
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

listing!(ListConversations: |it| it.foreign_ids().since().patient().include_deleted());

/// Refuses every message, because no EHR accepts them (specification 4.10).
pub async fn message(_: ApiCall, _: Id<u64>, _: Tenant) -> Answer<Never> {
    Err(Failure::MessagesNotSupported.into())
}

/// Optional exclusive bounds: after the first and before the second.
type Within<T> = (Option<T>, Option<T>);

/// Returns whether a value is within the bounds. A missing value is outside of any bound.
fn between<T: PartialOrd>(it: Option<T>, (after, before): Within<T>) -> bool {
    after.is_none_or(|after| it.as_ref().is_some_and(|it| *it > after))
        && before.is_none_or(|before| it.as_ref().is_some_and(|it| *it < before))
}

fn midnight(day: Date) -> Timestamp {
    Timestamp(i64::from(day.0) * DAY)
}
