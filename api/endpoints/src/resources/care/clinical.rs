//! Procedures and their codes, treatment plans, clinical notes, recalls and conversations, as read from the EHR.

use engine::{
    lists::Filter,
    records::{ClinicalNote, PatientRecall, PlanStatus, Procedure, RecallType, TreatmentPlan, record::Record},
};
use framework::{
    access::{
        arguments::{AtLocation, FromInput, Id, InLocations, InTenant, reads},
        call::ApiCall,
        input::Input,
        respond::{Answer, Listed, Never, One, Paged},
    },
    http::errors::ApiError,
    records::listing::{Listing, called, foreign_ids, listing},
    values::{
        failures::Failure,
        kinds::{
            shared::updated_since,
            times::{date, instant},
        },
        words::word,
    },
};
use location::{
    time::{DAY, Timestamp},
    zone::Date,
};

use crate::views::{
    clinical::{ClinicalNoteView, PatientRecallView, ProcedureView, RecallTypeView, TreatmentPlanView},
    render::RecordView,
};

listing!(ListProcedureCodeCategories: |it| it.foreign_ids().without_deleted());

// Deleted codes are inactive.
listing!(ListProcedureCodes: |it| it.foreign_ids().since());

pub struct ListProcedures {
    listing: Listing,
    started: Within<Date>,
    ended: Within<Date>,
}

impl FromInput for ListProcedures {
    fn from_input(input: &mut Input) -> ListProcedures {
        let q = &mut input.query;
        let started = (
            q.optional("started_after", date().about("Only records that started after this date.")),
            q.optional("started_before", date().about("Only records that started before this date.")),
        );
        let ended = (
            q.optional("ended_after", date().about("Only records that ended after this date.")),
            q.optional("ended_before", date().about("Only records that ended before this date.")),
        );
        let listing = input.listing().sort().since().patient().provider();
        let listing = listing.id("appointment_id", "Id of the appointment.", Filter::Appointment).done();
        ListProcedures { listing, started, ended }
    }
}

pub async fn procedures(
    call: ApiCall,
    InLocations(tenant, location, ListProcedures { listing, started, ended }): InLocations<ListProcedures>,
) -> Answer<Paged<ProcedureView<'static>>> {
    let page = listing.entries(&call, &call.sources_at(&tenant, location.as_ref()), |it: &Record<Procedure>| {
        let (start, end) = (it.body.start_date.map(|day| day.0), it.body.end_date.map(|day| day.0));
        between(start, started) && between(end, ended)
    })?;
    Ok(call.page_of(&page, |it| ProcedureView::render(it, &call)))
}

reads!(ListTreatmentPlans |input| {
    status: Option<PlanStatus> = input.query.optional("status", word().about("Only records with this status.")),
    listing: Listing = input.listing().since().patient().without_deleted().done(),
});

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
    let view = |plan| TreatmentPlanView::from_record(plan, procedures.next().into_iter().flatten()).amounts(amounts);
    Ok(call.page_of(&page, view))
}

pub async fn plan(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ()): InTenant<()>,
) -> Answer<One<TreatmentPlanView<'static>>> {
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

pub struct ListClinicalNotes {
    listing: Listing,
    entered: Within<Timestamp>,
}

impl FromInput for ListClinicalNotes {
    fn from_input(input: &mut Input) -> ListClinicalNotes {
        let (q, clock) = (&mut input.query, &input.clock);
        let entered = (
            q.optional("entered_after", instant(clock).about("Only records entered after this time.")),
            q.optional("entered_before", instant(clock).about("Only records entered before this time.")),
        );
        let notes = input.listing().since().patient().procedure();
        ListClinicalNotes { listing: notes.without_deleted().done(), entered }
    }
}

pub async fn notes(
    call: ApiCall,
    AtLocation(location, ListClinicalNotes { listing, entered }): AtLocation<ListClinicalNotes>,
) -> Answer<Paged<ClinicalNoteView<'static>>> {
    let keep = |it: &Record<ClinicalNote>| between(it.body.entered_at.map(|it| it.at()), entered);
    let page = listing.entries(&call, &location.sources(), keep)?;
    Ok(call.page_of(&page, ClinicalNoteView::from_record))
}

pub struct ListRecallTypes {
    foreign_ids: Vec<Vec<String>>,
    since: Option<Timestamp>,
}

impl FromInput for ListRecallTypes {
    fn from_input(input: &mut Input) -> ListRecallTypes {
        let q = &mut input.query;
        ListRecallTypes { foreign_ids: foreign_ids(q), since: q.optional("updated_since", updated_since(&input.clock)) }
    }
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

pub struct ListPatientRecalls {
    listing: Listing,
    due: Option<Timestamp>,
}

impl FromInput for ListPatientRecalls {
    fn from_input(input: &mut Input) -> ListPatientRecalls {
        let due = input
            .query
            .optional("due_after", instant(&input.clock).about("Only recalls that are due after this time."));
        let recalls = input.listing().sort().since().foreign_ids().patient().id(
            "recall_id",
            "Id of the recall type.",
            Filter::RecallType,
        );
        ListPatientRecalls { listing: recalls.without_deleted().done(), due }
    }
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
    let view = |it| PatientRecallView::from_record(it, kinds.next().and_then(Option::as_ref), call.adapter_of(it));
    Ok(call.page_of(&page, view))
}

pub async fn recall(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ()): InTenant<()>,
) -> Answer<One<PatientRecallView<'static>>> {
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
pub async fn message(_: ApiCall, _: Id<u64>, _: InTenant<()>) -> Answer<Never> {
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
