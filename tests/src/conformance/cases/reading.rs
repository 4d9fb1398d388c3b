//! What is described, and what pulls show.

use std::{collections::BTreeSet, rc::Rc};

use location::pull::Resource as R;
use records::ehr::{EhrRecord, Fault, Resource};

use crate::conformance::{
    EhrUnderTest, KINDS, Subject,
    subject::{DEADLINE, Pass},
};

/// Pages a walk of small pages may take: a real EHR answers a few dozen requests a second.
const SMALL_PAGES: usize = 25;

const ALL: [Resource; 36] = [
    R::Providers,
    R::Operatories,
    R::AppointmentTypes,
    R::Patients,
    R::WorkingHours,
    R::Appointments,
    R::AppointmentDescriptors,
    R::FeeSchedules,
    R::InsurancePlans,
    R::Coverages,
    R::HistoryItems,
    R::PatientHistoryItems,
    R::PatientAlerts,
    R::CommunicationLogs,
    R::Conversations,
    R::FormSchemas,
    R::FormResponses,
    R::ProcedureCodeCategories,
    R::ProcedureCodes,
    R::Fees,
    R::Procedures,
    R::TreatmentPlans,
    R::ClinicalNotes,
    R::RecallTypes,
    R::PatientRecalls,
    R::DocumentTypes,
    R::Documents,
    R::PaymentTypes,
    R::AdjustmentTypes,
    R::Charges,
    R::Claims,
    R::PaymentPlans,
    R::Payments,
    R::Adjustments,
    R::GuarantorBalances,
    R::InsuranceBalances,
];

pub async fn what_is_described_is_what_can_be_done<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    let again = subject.ehr.describe(DEADLINE).await.expect("it described itself before");
    assert_eq!(again, subject.description, "twice asked, twice the same");
    for kind in KINDS.into_iter().filter(|kind| !subject.writes(kind)) {
        let write = subject.fresh(kind).await;
        let key = subject.key();
        let pushed = subject.push(&key, &write).await;
        assert!(matches!(pushed, Err(Fault::Unsupported(_))), "{kind} is not described: {pushed:?}");
        let found = subject.find(&key, &write).await;
        assert!(!matches!(found, Ok(Some(_))), "{kind} is not described: {found:?}");
    }
    for resource in ALL {
        let page = subject.pull(resource, None, 10).await;
        let described = subject.ability(resource).is_some();
        let fits = if described { page.is_ok() } else { matches!(page, Err(Fault::Unsupported(_))) };
        assert!(fits, "{resource:?}, described {described}: {:?}", page.err());
    }
}

pub async fn nothing_changed_is_nothing_shown<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let first = subject.everything(resource).await;
        assert!(first.whole, "{resource:?}: a first pass shows everything");
        assert!(first.deleted.is_empty(), "{resource:?}: a first pass has nothing to take back");
        let next = subject.pass(resource, Some(first.cursor.clone()), 1_000).await;
        assert!(next.deleted.is_empty(), "{resource:?}: {:?} went though nobody deleted", next.deleted);
        for (id, record) in &next.records {
            assert!(
                first.records.get(id) == Some(record),
                "{resource:?} {id} is shown changed though nobody changed it"
            );
        }
        assert!(!next.whole || next.records.len() == first.records.len(), "{resource:?}: a whole pass shows less");
        assert!(same(&first, &subject.everything(resource).await), "{resource:?}: twice read, twice the same");
    }
}

pub async fn pages_keep_their_limit_and_show_each_record_once<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let whole = subject.everything(resource).await;
        // The walk itself fails on a record that comes twice; the host refuses pages and cursors beyond their limits.
        let limit = u32::try_from(whole.records.len() / SMALL_PAGES + 1).expect("a small number");
        let walked = subject.pass(resource, None, limit).await;
        assert!(
            same(&whole, &walked),
            "{resource:?}: pages of {limit} show {} records, pages of 1000 {}",
            walked.records.len(),
            whole.records.len()
        );
        let mut cursor = None;
        for _ in 0..3 {
            let page = subject.pull(resource, cursor, 1).await;
            let page = page.unwrap_or_else(|fault| panic!("{resource:?}, pages of 1: {fault}"));
            assert!(page.records.len() <= 1, "{resource:?}: a page of 1");
            if page.last {
                break;
            }
            cursor = Some(page.cursor);
        }
    }
}

pub async fn a_change_is_shown<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    let mut changed = 0;
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let before = subject.everything(resource).await;
        let Some(id) = before.records.keys().next_back().cloned() else { continue };
        if !subject.system.change(resource, &id).await {
            continue;
        }
        changed += 1;
        let delta = subject.pass(resource, Some(before.cursor), 1_000).await;
        let shown = delta.records.get(&id);
        assert!(
            shown.is_some() && shown != before.records.get(&id),
            "{resource:?} {id}: a change by staff is not shown"
        );
    }
    assert!(changed > 0, "staff can change something in any EHR");
}

pub async fn a_deletion_is_shown<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    let mut deleted = 0;
    for ability in &subject.description.pulls {
        let resource = ability.resource;
        let before = subject.everything(resource).await;
        let Some(id) = before.records.keys().next_back().cloned() else { continue };
        if !subject.system.delete(resource, &id).await {
            continue;
        }
        deleted += 1;
        let delta = subject.pass(resource, Some(before.cursor), 1_000).await;
        let off = |pass: &Pass| matches!(pass.records.get(&id), Some(EhrRecord::Appointment(a)) if a.cancelled);
        let reported = delta.deleted.contains(&id) || off(&delta);
        assert!(reported || ability.deletions_by_absence, "{resource:?} {id}: its deletion is not reported");
        let whole = subject.everything(resource).await;
        assert!(whole.whole, "{resource:?}: deletions show by absence, and a whole pass is not whole");
        assert!(!whole.records.contains_key(&id) || off(&whole), "{resource:?} {id} is shown after its deletion");
    }
    assert!(deleted > 0 || !subject.description.pulls.iter().any(|ability| !ability.deletions_by_absence));
}

pub async fn cursors_of_others_are_refused<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    for ability in &subject.description.pulls {
        let page = subject.pull(ability.resource, Some("no cursor of anybody".into()), 10).await;
        assert!(matches!(page, Err(Fault::Rejected(_))), "{:?}: {page:?}", ability.resource);
    }
}

/// The same records with the same fields.
fn same(one: &Pass, other: &Pass) -> bool {
    let ids = |pass: &Pass| pass.records.keys().cloned().collect::<BTreeSet<_>>();
    ids(one) == ids(other)
        && one
            .records
            .values()
            .all(|record| other.records.get(record.id()).map(EhrRecord::fields) == Some(record.fields()))
}
