//! Ids at hand, so that preparing a decision never waits: whoever finds the pool empty fetches a block and prepares again.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use location::pull::Resource;
use store::counters::{Counter, IdError, Ids};

/// Ids fetched at a time.
const BLOCK: u32 = 1_000;

/// Ids are unique within a resource. Those the API declares int32 stay below its bound.
fn counter(resource: Resource) -> Counter<'static> {
    match resource {
        Resource::Providers => Counter::int32("provider"),
        Resource::Operatories => Counter::int53("operatory"),
        Resource::AppointmentTypes => Counter::int32("appointment type"),
        Resource::Patients => Counter::int32("patient"),
        Resource::WorkingHours => Counter::int32("working hour"),
        Resource::Appointments => Counter::int53("appointment"),
        Resource::AppointmentDescriptors => Counter::int32("appointment descriptor"),
        Resource::FeeSchedules => Counter::int53("fee schedule"),
        Resource::InsurancePlans => Counter::int53("insurance plan"),
        Resource::Coverages => Counter::int53("coverage"),
        Resource::HistoryItems => Counter::int32("history item"),
        Resource::PatientHistoryItems => Counter::int53("patient history item"),
        Resource::PatientAlerts => Counter::int32("patient alert"),
        Resource::CommunicationLogs => Counter::int53("communication log"),
        Resource::Conversations => Counter::int53("conversation"),
        Resource::FormSchemas => Counter::int53("form schema"),
        Resource::FormResponses => Counter::int32("form response"),
        Resource::ProcedureCodeCategories => Counter::int53("procedure code category"),
        Resource::ProcedureCodes => Counter::int53("procedure code"),
        Resource::Fees => Counter::int53("fee"),
        Resource::Procedures => Counter::int53("procedure"),
        Resource::TreatmentPlans => Counter::int53("treatment plan"),
        Resource::ClinicalNotes => Counter::int53("clinical note"),
        Resource::RecallTypes => Counter::int32("recall type"),
        Resource::PatientRecalls => Counter::int32("patient recall"),
        Resource::DocumentTypes => Counter::int32("document type"),
        Resource::Documents => Counter::int32("document"),
        Resource::PaymentTypes => Counter::int53("payment type"),
        Resource::AdjustmentTypes => Counter::int53("adjustment type"),
        Resource::Charges => Counter::int53("charge"),
        Resource::Claims => Counter::int53("claim"),
        Resource::PaymentPlans => Counter::int53("payment plan"),
        Resource::Payments => Counter::int53("payment"),
        Resource::Adjustments => Counter::int53("adjustment"),
        Resource::GuarantorBalances => Counter::int53("guarantor balance"),
        Resource::InsuranceBalances => Counter::int53("insurance balance"),
    }
}

#[derive(Default)]
pub struct Pool(Mutex<HashMap<Resource, VecDeque<u64>>>);

impl Pool {
    pub fn take(&self, resource: Resource) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(resource).or_default().pop_front()
    }

    /// For an id that was taken and turned out not to be needed.
    pub fn give_back(&self, resource: Resource, id: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(resource).or_default().push_front(id);
    }

    pub async fn fill(&self, ids: &Ids, resource: Resource) -> Result<(), IdError> {
        let fresh = ids.next(counter(resource), BLOCK).await?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(resource).or_default().extend(fresh);
        Ok(())
    }
}
