//! An EHR that changes during the test: active staff, a search that lags behind, and a record that cannot be read.

use std::{collections::BTreeSet, rc::Rc};

use records::ehr::{Fault, Resource};

use super::kinds;
use crate::{
    display::name,
    ehr_under_test::EhrUnderTest,
    report::{CaseResult, skip_unless},
    subject::{Pass, Subject},
    writes::KINDS,
};

/// Pages of the walk, so that records before, on and after the current page can change.
const PAGES: usize = 4;
/// Consecutive walks: a record changed on the first page of one can be missing from the second on.
const WALKS: usize = 3;

/// Staff change a listed record and one not yet listed. A whole pass must contain every record, and both changes must
/// appear in it or in the next pass.
pub async fn a_walk_while_records_change_misses_none<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    let mut walked = 0;
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let before = subject.everything(resource).await?;
        if before.records.len() < 2 * PAGES {
            continue;
        }
        let limit = u32::try_from(before.records.len() / PAGES + 1).expect("a small number");
        let page = subject.answered(subject.pull(resource, None, limit).await?)?;
        let shown: BTreeSet<String> = page.records.iter().map(|record| record.id().to_owned()).collect();
        let untouched = |id: &&String| subject.untouched(resource, id);
        let later = before.records.keys().rev().filter(|id| !shown.contains(*id));
        let (Some(early), Some(late)) = (shown.iter().find(untouched), later.into_iter().find(untouched)) else {
            continue;
        };
        if page.last
            || !subject.changed_by_staff(resource, early).await
            || !subject.changed_by_staff(resource, late).await
        {
            continue;
        }
        walked += 1;
        let records = page.records.into_iter().map(|record| (record.id().to_owned(), record)).collect();
        let begun = Pass { records, deleted: page.deleted, ..Pass::default() };
        let pass = subject.walk(resource, Some(page.cursor), limit, begun).await?;
        let missing = before.records.keys().find(|id| !pass.records.contains_key(*id) && !pass.skipped.contains(id));
        subject.hold_seen(
            !pass.whole || missing.is_none(),
            format!("the pass is `whole`, and {} {} is not in it", name(resource), missing.cloned().unwrap_or_default()),
            "every record: staff changed two of them during the walk, and deleted none",
            "walk in an order that a change does not touch, such as by identifier, or let pages overlap by a row and do not \
             say `whole` where it is not where it was",
        )?;
        let wrongly = pass.deleted.iter().find(|id| before.records.contains_key(*id));
        subject.hold_seen(
            wrongly.is_none(),
            format!("{} is among the deleted", wrongly.cloned().unwrap_or_default()),
            "no deletions: staff changed two records and deleted none",
            "name as deleted only what the EHR says is gone",
        )?;
        let next = subject.pass(resource, Some(pass.cursor.clone()), 1_000).await?;
        for id in [early, late] {
            let seen = next.records.get(id).or_else(|| pass.records.get(id));
            subject.hold(
                seen.is_some_and(|record| before.records.get(id) != Some(record)),
                format!("{id} as staff changed it during the pass before, or that pass with the change in it"),
                "a delta begins where the pass before it began, by the EHR's clock or revisions, and not where it ended",
            )?;
        }
    }
    let least = 2 * PAGES;
    skip_unless(
        walked > 0,
        format!("the subject does not say how staff would change records of which there are {least} or more"),
    )
}

/// Records change, appear and disappear before the position of a walk, in consecutive walks. The engine deletes records
/// that are missing from two whole passes in a row, so no existing record may be missing from both.
pub async fn churn_between_pages_hides_no_record_twice<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    let mut walked = 0;
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let mut existing: BTreeSet<String> = subject.everything(resource).await?.records.into_keys().collect();
        let mut missing_before: Option<BTreeSet<String>> = None;
        for _ in 0..WALKS {
            if existing.len() < 2 * PAGES {
                break;
            }
            let limit = u32::try_from(existing.len() / PAGES + 1).expect("a small number");
            let page = subject.answered(subject.pull(resource, None, limit).await?)?;
            let shown: Vec<String> = page.records.iter().map(|record| record.id().to_owned()).collect();
            let Some(created) = churn(&subject, resource, &shown, &mut existing).await?.filter(|_| !page.last) else {
                break;
            };
            let records = page.records.into_iter().map(|record| (record.id().to_owned(), record)).collect();
            let begun = Pass { records, deleted: page.deleted, ..Pass::default() };
            let pass = subject.walk(resource, Some(page.cursor), limit, begun).await?;
            if pass.whole {
                walked += usize::from(missing_before.is_some());
                let is_missing = |id: &&String| !pass.records.contains_key(*id) && !pass.skipped.contains(*id);
                let missing: BTreeSet<String> = existing.iter().filter(is_missing).cloned().collect();
                let twice = missing_before.and_then(|before| before.intersection(&missing).next().cloned());
                subject.hold_seen(
                    twice.is_none(),
                    format!("two passes in a row are `whole`, and {} {} is in neither", name(resource), twice.unwrap_or_default()),
                    "every record in one of the two passes: staff changed and deleted others during both",
                    "walk in an order that a change does not touch, such as by identifier, or let pages overlap by a row and do not \
                     say `whole` where it is not where it was",
                )?;
                missing_before = Some(missing);
            }
            existing.extend(created);
        }
    }
    let least = 2 * PAGES;
    skip_unless(
        walked > 0,
        format!("the subject does not say how staff would change or delete records of which there are {least} or more"),
    )
}

/// Changes one of the records `shown` as staff would, deletes an appointment among them, and books another one. Returns
/// the ids of new records, or `None` if nothing could be done. Removes deleted ids from `existing`.
async fn churn<S: EhrUnderTest>(
    subject: &Subject<S>,
    resource: Resource,
    shown: &[String],
    existing: &mut BTreeSet<String>,
) -> CaseResult<Option<Vec<String>>> {
    let mut untouched = shown.iter().filter(|id| subject.untouched(resource, id));
    let mut done = match untouched.next() {
        Some(id) => subject.changed_by_staff(resource, id).await,
        None => false,
    };
    let mut created = Vec::new();
    if resource == Resource::Appointments {
        if let Some(id) = untouched.next()
            && subject.system.delete(resource, id).await
        {
            existing.remove(id);
            done = true;
        }
        if subject.writes("create-appointment") {
            let write = subject.fresh("create-appointment").await?;
            created.push(subject.written(&write).await?.id);
            done = true;
        }
    }
    Ok(done.then_some(created))
}

/// The EHR has accepted a write, and its search may not find it yet. `None` would mean certainly not written, and the
/// engine would send the write again.
pub async fn a_write_is_found_before_the_index_knows_it<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    for kind in kinds(&subject)? {
        let (key, write) = (subject.key(), subject.fresh(kind).await?);
        subject.answered(subject.push(&key, &write).await?)?;
        tokio::time::sleep(subject.system.settle()).await;
        let found = subject.find(&key, &write).await?;
        subject.hold(
            matches!(found, Ok(Some(_)) | Err(Fault::RetryLater { .. } | Fault::Unknown(_))),
            "a receipt, or `retry-later` as long as the EHR cannot tell: it has taken this write",
            "ask what knows at once, such as the record itself or a conditional create, and not a search that lags behind. Where there \
             is nothing else, `settle` of the configuration waits for it, and `settle_seconds` of the subject file",
        )?;
    }
    Ok(())
}

/// Two writes create two records, even with the same content if the EHR can distinguish them; or the second is refused.
pub async fn two_writes_have_two_receipts<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    let creates = |kind: &&str| (kind.starts_with("create-") || kind.starts_with("save-")) && subject.writes(kind);
    let kinds: Vec<&str> = KINDS.into_iter().filter(creates).collect();
    skip_unless(!kinds.is_empty(), "the adapter describes no write that creates")?;
    for kind in kinds {
        let write = subject.fresh(kind).await?;
        let first = subject.written(&write).await?.id;
        let alike = subject.system.keeps_write_keys();
        let other = if alike { write } else { subject.fresh(kind).await? };
        let second = subject.push(&subject.key(), &other).await?;
        if alike && matches!(second, Err(Fault::Rejected(_))) {
            continue;
        }
        let second = subject.answered(second)?.id;
        subject.hold(
            first != second,
            format!("another record than {first}, which was written with another key"),
            "answer the record that this write made. Where the EHR keeps the key, look for the key and not for what looks alike",
        )?;
    }
    Ok(())
}

pub async fn one_broken_record_leaves_the_others<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    let mut broken = 0;
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let before = subject.everything(resource).await?;
        let Some(id) = before.records.keys().next().cloned() else { continue };
        if !subject.system.corrupt(resource, &id).await {
            continue;
        }
        broken += 1;
        for cursor in [None, Some(before.cursor.clone())] {
            let delta = cursor.is_some();
            let pass = subject.pass(resource, cursor, 1_000).await?;
            let missing = before.records.keys().find(|other| **other != id && !pass.records.contains_key(*other));
            subject.hold(
                delta || missing.is_none(),
                format!("all records but {id}, also {}", missing.cloned().unwrap_or_default()),
                SKIP,
            )?;
            subject.hold(
                pass.skipped.contains(&id) && !pass.deleted.contains(&id),
                format!("{} {id} among the skipped: it is there and cannot be read", name(resource)),
                SKIP,
            )?;
        }
    }
    skip_unless(broken > 0, "the subject does not say how a record is broken")
}

const SKIP: &str = "map each record by itself: one that cannot be read goes into `skipped` with its reason, and the others into the page";
