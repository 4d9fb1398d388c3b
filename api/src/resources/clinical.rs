//! Procedures and their codes, treatment plans, clinical notes, recalls, conversations: read as the EHR has them.

use engine::{
    lists::Filter,
    records::{
        ClinicalNote, Conversation, PatientRecall, PlanStatus, Procedure, ProcedureCode, ProcedureCodeCategory,
        RecallType, TreatmentPlan, record::Record,
    },
};

use crate::{
    access::call::Call,
    http::errors::{ApiError, HttpResult},
    records::listing::{called, foreign_ids},
    values::{
        kinds::{
            long_id, one_of,
            times::{date, instant},
        },
        reasons::Reason,
    },
    views::{
        clinical::{ClinicalNoteView, PatientRecallView, ProcedureCodeCategoryView, ProcedureCodeView, RecallTypeView},
        talk::ConversationView,
    },
};

pub(crate) async fn categories(mut call: Call) -> HttpResult {
    let (location, listing) = call.at_location(|input| Some(input.listing().foreign_ids().without_deleted().done()))?;
    let page = listing.entries(&call, &location.sources(), |_| true)?;
    Ok(call.page_of(&page, ProcedureCodeCategoryView::of))
}

pub(crate) async fn category(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (location, ()) = call.at_location(|_| Some(()))?;
    Ok(call.show(ProcedureCodeCategoryView::of(&call.entry_at::<ProcedureCodeCategory>(&location, id)?)))
}

/// Deleted ones are not active any more.
pub(crate) async fn codes(mut call: Call) -> HttpResult {
    let (location, listing) = call.at_location(|input| Some(input.listing().foreign_ids().since().done()))?;
    let page = listing.entries::<ProcedureCode>(&call, &location.sources(), |_| true)?;
    Ok(call.page_of(&page, |it| ProcedureCodeView::of(it, call.adapter_of(it))))
}

pub(crate) async fn procedures(mut call: Call) -> HttpResult {
    let (tenant, location, (listing, started, ended)) = call.in_locations(|input| {
        let q = &mut input.query;
        let started = (q.optional("started_after", date()), q.optional("started_before", date()));
        let ended = (q.optional("ended_after", date()), q.optional("ended_before", date()));
        let listing = input.listing().sort().since().patient().id("provider_id", Filter::Provider);
        Some((listing.id("appointment_id", Filter::Appointment).done(), started, ended))
    })?;
    let page = listing.entries(&call, &call.sources_at(&tenant, location.as_ref()), |it: &Record<Procedure>| {
        let (start, end) = (it.body.start_date.map(|day| day.0), it.body.end_date.map(|day| day.0));
        between(start, started) && between(end, ended)
    })?;
    Ok(call.page_of(&page, |it| call.procedure(it)))
}

pub(crate) async fn procedure(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    Ok(call.show(call.procedure(&call.entry(&tenant, id)?)))
}

pub(crate) async fn plans(mut call: Call) -> HttpResult {
    const STATUSES: &[(&str, PlanStatus)] = &[
        ("not_applicable", PlanStatus::NotApplicable),
        ("proposed", PlanStatus::Proposed),
        ("accepted", PlanStatus::Accepted),
        ("rejected", PlanStatus::Rejected),
        ("completed", PlanStatus::Completed),
    ];
    let (tenant, (listing, status)) = call.in_tenant(|input| {
        let status = input.query.optional("status", one_of(STATUSES));
        Some((input.listing().since().patient().without_deleted().done(), status))
    })?;
    let keep = |it: &Record<TreatmentPlan>| status.is_none_or(|status| it.body.status == Some(status));
    let page = listing.entries(&call, &call.sources(&tenant), keep)?;
    let mut procedures = Vec::with_capacity(page.rows.len());
    for plan in &page.rows {
        procedures.push(procedures_of(&call, plan)?);
    }
    let mut procedures = procedures.iter();
    Ok(call.page_of(&page, |plan| call.treatment_plan(plan, procedures.next().into_iter().flatten())))
}

pub(crate) async fn plan(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    let plan = call.entry(&tenant, id)?;
    Ok(call.show(call.treatment_plan(&plan, &procedures_of(&call, &plan)?)))
}

fn procedures_of(call: &Call, plan: &Record<TreatmentPlan>) -> Result<Vec<Record<Procedure>>, ApiError> {
    let mut procedures = Vec::new();
    for id in &plan.body.procedure_ids {
        procedures.extend(call.api.engine.entry(plan.source(), *id)?);
    }
    Ok(procedures)
}

pub(crate) async fn notes(mut call: Call) -> HttpResult {
    let (location, (listing, entered)) = call.at_location(|input| {
        let (q, clock) = (&mut input.query, &input.clock);
        let entered = (q.optional("entered_after", instant(clock)), q.optional("entered_before", instant(clock)));
        let notes = input.listing().since().patient().id("procedure_id", Filter::Procedure);
        Some((notes.without_deleted().done(), entered))
    })?;
    let keep = |it: &Record<ClinicalNote>| between(it.body.entered_at.map(|it| it.at()), entered);
    let page = listing.entries(&call, &location.sources(), keep)?;
    Ok(call.page_of(&page, ClinicalNoteView::of))
}

pub(crate) async fn recall_types(mut call: Call) -> HttpResult {
    let (location, (foreign_ids, since)) = call.at_location(|input| {
        let q = &mut input.query;
        Some((foreign_ids(q), q.optional("updated_since", instant(&input.clock))))
    })?;
    let sources = location.sources();
    let filters = since.map(Filter::UpdatedSince).into_iter().chain(called(&sources, &foreign_ids)).collect();
    let types: Vec<Record<RecallType>> = call.whole_entries(&sources, filters)?;
    Ok(call.list(&types.iter().map(|it| RecallTypeView::of(it, call.adapter_of(it))).collect::<Vec<_>>()))
}

pub(crate) async fn recall_type(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    let kind = call.entry(&tenant, id)?;
    Ok(call.show(RecallTypeView::of(&kind, call.adapter_of(&kind))))
}

pub(crate) async fn recalls(mut call: Call) -> HttpResult {
    let (location, (listing, due)) = call.at_location(|input| {
        let due = input.query.optional("due_after", instant(&input.clock));
        let recalls = input.listing().sort().since().foreign_ids().patient().id("recall_id", Filter::RecallType);
        Some((recalls.without_deleted().done(), due))
    })?;
    let page = listing.entries(&call, &location.sources(), |it: &Record<PatientRecall>| {
        due.is_none_or(|due| it.body.date_due.is_some_and(|day| midnight(day.0) > due))
    })?;
    let kinds: Vec<_> = page.rows.iter().map(|it| kind_of(&call, it)).collect::<Result<_, _>>()?;
    let mut kinds = kinds.iter();
    let view = |it| PatientRecallView::of(it, kinds.next().and_then(Option::as_ref), call.adapter_of(it));
    Ok(call.page_of(&page, view))
}

pub(crate) async fn recall(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    let recall = call.entry(&tenant, id)?;
    let kind = kind_of(&call, &recall)?;
    Ok(call.show(PatientRecallView::of(&recall, kind.as_ref(), call.adapter_of(&recall))))
}

fn kind_of(call: &Call, recall: &Record<PatientRecall>) -> Result<Option<Record<RecallType>>, ApiError> {
    let Some(id) = recall.body.recall_type_id else { return Ok(None) };
    Ok(call.api.engine.entry(recall.source(), id)?)
}

pub(crate) async fn conversations(mut call: Call) -> HttpResult {
    let (location, listing) =
        call.at_location(|input| Some(input.listing().foreign_ids().since().patient().include_deleted().done()))?;
    let page = listing.entries::<Conversation>(&call, &location.sources(), |_| true)?;
    Ok(call.page_of(&page, |it| ConversationView::of(it, call.adapter_of(it))))
}

/// Nobody may: no EHR takes them (specification 4.10).
pub(crate) async fn message(mut call: Call) -> HttpResult {
    call.path_id(long_id())?;
    call.in_tenant(|_| Some(()))?;
    Err(ApiError::Forbidden.because(Reason::MessagesNotSupported))
}

/// After the one and before the other, where they are given; what has no time is neither.
fn between<T: PartialOrd>(it: Option<T>, (after, before): (Option<T>, Option<T>)) -> bool {
    after.is_none_or(|after| it.as_ref().is_some_and(|it| *it > after))
        && before.is_none_or(|before| it.as_ref().is_some_and(|it| *it < before))
}

fn midnight(day: location::zone::Date) -> location::time::Timestamp {
    location::time::Timestamp(i64::from(day.0) * location::time::DAY)
}
