//! The description and the results of pulls.

use std::{collections::BTreeSet, rc::Rc};

use records::{EhrRecord, Fault, Resource, Resource::*};

use crate::{
    display::name,
    ehr_under_test::EhrUnderTest,
    report::{CaseResult, skip_unless},
    subject::{DEADLINE, Pass, Subject},
    writes::KINDS,
};

/// Maximum number of small pages: a real EHR answers a few dozen requests a second.
const SMALL_PAGES: usize = 25;

/// Every resource of the contract.
pub const RESOURCES: [Resource; 36] = [
    Providers, Operatories, AppointmentTypes, Patients, WorkingHours, Appointments, AppointmentDescriptors,
    FeeSchedules, InsurancePlans, Coverages, HistoryItems, PatientHistoryItems, PatientAlerts, CommunicationLogs,
    Conversations, FormSchemas, FormResponses, ProcedureCodeCategories, ProcedureCodes, Fees, Procedures,
    TreatmentPlans, ClinicalNotes, RecallTypes, PatientRecalls, DocumentTypes, Documents, PaymentTypes,
    AdjustmentTypes, Charges, Claims, PaymentPlans, Payments, Adjustments, GuarantorBalances, InsuranceBalances,
];

pub async fn description_matches_capabilities<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    let describe = subject.ehr.describe(DEADLINE);
    let again = subject.timely("describe, once more".into(), DEADLINE, describe, |_| "a description".into()).await?;
    let again = subject.answered(again)?;
    subject.hold(
        again == subject.description,
        "twice asked, twice the same",
        "describe the capabilities of the EHR, not its current contents",
    )?;
    for kind in KINDS.into_iter().filter(|kind| !subject.writes(kind)) {
        let write = subject.fresh(kind).await?;
        let key = subject.key();
        let pushed = subject.push(&key, &write).await?;
        subject.hold(
            matches!(pushed, Err(Fault::Unsupported(_))),
            format!("unsupported: {kind} is not among the writes that are described"),
            format!("name {kind} in `describe`, or answer `unsupported`"),
        )?;
        let found = subject.find(&key, &write).await?;
        subject.hold(
            !matches!(found, Ok(Some(_))),
            format!("no receipt: {kind} is not described and was never written"),
            "answer none for a write that `push` never carries out",
        )?;
    }
    for resource in RESOURCES {
        let page = subject.pull(resource, None, 10).await?;
        let described = subject.ability(resource).is_some();
        let fits = if described { page.is_ok() } else { matches!(page, Err(Fault::Unsupported(_))) };
        let expected = if described { "a page: it is described" } else { "unsupported: it is not described" };
        subject.hold(
            fits,
            expected,
            format!("`describe` names {} exactly where `pull` can show it", name(resource)),
        )?;
    }
    Ok(())
}

pub async fn nothing_changed_is_nothing_shown<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    pulls(&subject)?;
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let first = subject.everything(resource).await?;
        subject.hold(
            first.whole,
            "`whole`: a first pass shows everything",
            "without a cursor begin a pass over all records and set `whole` on its pages",
        )?;
        let both = first.deleted.iter().find(|id| first.records.contains_key(*id)).cloned().unwrap_or_default();
        subject.hold(
            both.is_empty(),
            format!("{both} either among the records or among the deleted"),
            "report as deleted only records that the EHR no longer has",
        )?;
        let next = subject.pass(resource, Some(first.cursor.clone()), 1_000).await?;
        // An id of another location may be reported, because an adapter cannot know whether it was listed here before.
        let gone: Vec<&String> = next.deleted.iter().filter(|id| first.records.contains_key(*id)).collect();
        subject.hold(
            gone.is_empty(),
            format!("no deletions, though these are named: {gone:?}"),
            "they were not deleted: absence from a delta does not mean deletion",
        )?;
        let changed = next.records.iter().find(|(id, record)| first.records.get(*id) != Some(*record));
        let changed = changed.map(|(id, _)| id.clone()).unwrap_or_default();
        subject.hold(
            changed.is_empty(),
            format!("{changed} unchanged: no write changed it"),
            "a field that differs in each answer, such as the time of reading, does not belong into a record",
        )?;
        subject.hold(
            !next.whole || next.records.len() == first.records.len(),
            format!("as many records as before, {}, or a pass that is not `whole`", first.records.len()),
            "set `whole` only if the pass lists every existing record",
        )?;
        let again = subject.everything(resource).await?;
        subject.hold(same(&first, &again), "twice read, twice the same", "read in an order that does not change")?;
    }
    Ok(())
}

pub async fn pages_keep_their_limit_and_show_each_record_once<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    pulls(&subject)?;
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let whole = subject.everything(resource).await?;
        // The walk itself fails on a record that is listed twice; the host refuses pages and cursors beyond their
        // limits.
        let limit = u32::try_from(whole.records.len() / SMALL_PAGES + 1).expect("a small number");
        let walked = subject.pass(resource, None, limit).await?;
        let missing = whole.records.keys().find(|id| !walked.records.contains_key(*id)).cloned().unwrap_or_default();
        subject.hold_seen(
            same(&whole, &walked),
            format!("pages of {limit} show {} records; missing, such as: {missing}", walked.records.len()),
            format!("{} of {}, as pages of 1000 show", whole.records.len(), name(resource)),
            "the next page begins right after the last record of the page before, whatever the limit: put the place into \
             the cursor",
        )?;
        let mut cursor = None;
        for _ in 0..3 {
            let page = subject.answered(subject.pull(resource, cursor, 1).await?)?;
            subject.hold(
                page.records.len() <= 1,
                "at most 1 record",
                "hand the limit on to the EHR, or cut the page",
            )?;
            if page.last {
                break;
            }
            cursor = Some(page.cursor);
        }
    }
    Ok(())
}

pub async fn a_change_is_shown<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    pulls(&subject)?;
    let mut changed = 0;
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let before = subject.everything(resource).await?;
        let Some(id) = before.records.keys().next_back().cloned() else { continue };
        if !subject.changed_by_staff(resource, &id).await {
            continue;
        }
        changed += 1;
        let delta = subject.pass(resource, Some(before.cursor), 1_000).await?;
        let shown = delta.records.get(&id);
        subject.hold(
            shown.is_some() && shown != before.records.get(&id),
            format!("{id} as staff changed it after the pass before"),
            "a cursor remembers up to when, by the EHR's clock or its revisions, records were read; begin a little before",
        )?;
    }
    skip_unless(changed > 0, "the subject does not say how staff would change a record")
}

pub async fn a_deletion_is_shown<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    pulls(&subject)?;
    let mut deleted = 0;
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let before = subject.everything(resource).await?;
        let Some(id) = before.records.keys().next_back().cloned() else { continue };
        if !subject.system.delete(resource, &id).await {
            continue;
        }
        deleted += 1;
        let delta = subject.pass(resource, Some(before.cursor), 1_000).await?;
        let off = |pass: &Pass| matches!(pass.records.get(&id), Some(EhrRecord::Appointment(a)) if a.cancelled);
        let reported = delta.deleted.contains(&id) || off(&delta);
        subject.hold(
            reported || ability.deletions_by_absence,
            format!("{id} among the deleted: staff deleted it"),
            "name what the EHR deleted in `deleted`, or describe deletions as `by-absence`",
        )?;
        let whole = subject.everything(resource).await?;
        subject.hold(
            whole.whole,
            "a whole pass",
            "deletions show by absence only where a pass without cursor is `whole`",
        )?;
        subject.hold(
            !whole.records.contains_key(&id) || off(&whole),
            format!("no {id}: staff deleted it"),
            "leave out what the EHR marks as deleted",
        )?;
    }
    skip_unless(deleted > 0, "the subject does not say how staff would delete a record")
}

pub async fn cursors_of_others_are_refused<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    pulls(&subject)?;
    for ability in &subject.description.pulls {
        let page = subject.pull(ability.resource, Some("no cursor of anybody".into()), 10).await?;
        subject.hold(
            matches!(page, Err(Fault::Rejected(_))),
            "rejected: no earlier page gave this cursor",
            "refuse a cursor that cannot be read instead of beginning anew: the engine then begins a whole pass itself",
        )?;
    }
    Ok(())
}

/// Skips the case if nothing can be pulled.
fn pulls<S: EhrUnderTest>(subject: &Subject<S>) -> CaseResult {
    skip_unless(!subject.description.pulls.is_empty(), "the adapter describes no resource that can be pulled")
}

/// Compares ids and fields of two passes.
fn same(one: &Pass, other: &Pass) -> bool {
    let ids = |pass: &Pass| pass.records.keys().cloned().collect::<BTreeSet<_>>();
    ids(one) == ids(other)
        && one
            .records
            .values()
            .all(|record| other.records.get(record.id()).map(EhrRecord::fields) == Some(record.fields()))
}
