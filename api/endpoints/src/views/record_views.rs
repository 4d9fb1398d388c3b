//! The views of stored records for the feed of changes and for webhook messages, equal to those of their endpoints.

use std::sync::Arc;

use engine::{
    records::{
        Appointment, Document, HistoryItem, Operatory, Patient, PatientHistoryItem, PatientRecall, Procedure, Provider,
        RecallType, TreatmentPlan, WorkingHour, record::Record, sync_state::SyncState,
    },
    webhooks::views::{RelatedRecords, ViewContext, ViewError, Views},
};
use framework::values::versions::Version;
use location::pull::Resource::{self, *};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::views::{
    appointments::AppointmentEvent,
    catalogue::{
        AdjustmentTypeView, AppointmentDescriptorView, AppointmentTypeView, FeeScheduleView, FeeView, PaymentTypeView,
    },
    clinical::{
        ClinicalNoteView, PatientRecallView, ProcedureCodeCategoryView, ProcedureCodeView, ProcedureView,
        RecallTypeView, TreatmentPlanView,
    },
    communications::{CommunicationLogView, ConversationView, PatientAlertView},
    documents::{DocumentTypeView, PatientDocumentView},
    forms::{FormResponseView, FormSchemaDetail},
    history::{MedicalHistoryItemView, PatientMedicalHistoryItemView},
    hours::WorkingHourView,
    insurance::{InsuranceCoverageView, InsurancePlanView},
    ledger::{
        AdjustmentView, ChargeView, ClaimView, GuarantorBalanceView, InsuranceBalanceView, PaymentPlanView, PaymentView,
    },
    operatories::OperatoryView,
    patients::{PatientDetail, PatientProfile},
    people::ProviderBasic,
    render::{Reader, RecordView},
    sync_status,
};

/// The views in webhook messages and in the feed of changes.
pub struct RecordViews;

impl RecordViews {
    pub fn shared() -> Arc<dyn Views> {
        Arc::new(RecordViews)
    }
}

impl Views for RecordViews {
    fn record(
        &self,
        context: &ViewContext<'_>,
        resource: Resource,
        stored: &[u8],
        related: &dyn RelatedRecords,
    ) -> Result<Value, ViewError> {
        view_of(context, resource, stored, related)
    }

    fn sync_status(&self, context: &ViewContext<'_>, state: &SyncState) -> Result<Value, ViewError> {
        json(&sync_status::view(context.setup, &sync_status::location_status(context.location, state, context.now)))
    }
}

/// Builds the view of any record.
pub(crate) fn view_of(
    context: &ViewContext<'_>,
    resource: Resource,
    stored: &[u8],
    related: &dyn RelatedRecords,
) -> Result<Value, ViewError> {
    match resource {
        Providers => view::<ProviderBasic>(context, stored),
        Patients => patient(context, stored),
        Operatories => view::<OperatoryView>(context, stored),
        WorkingHours => {
            let it: Record<WorkingHour> = read(stored)?;
            json(&WorkingHourView::from_record(&it, context.location.zone, context.now))
        }
        AppointmentTypes => view::<AppointmentTypeView>(context, stored),
        Appointments => appointment(context, &read(stored)?, related),
        AppointmentDescriptors => view::<AppointmentDescriptorView>(context, stored),
        FeeSchedules => view::<FeeScheduleView>(context, stored),
        InsurancePlans => view::<InsurancePlanView>(context, stored),
        Coverages => view::<InsuranceCoverageView>(context, stored),
        HistoryItems => view::<MedicalHistoryItemView>(context, stored),
        PatientHistoryItems => {
            let it: Record<PatientHistoryItem> = read(stored)?;
            let item: Option<Record<HistoryItem>> = related.get(it.source(), it.body.item_id)?;
            json(&PatientMedicalHistoryItemView::from_record(&it, item.as_ref()))
        }
        PatientAlerts => view::<PatientAlertView>(context, stored),
        CommunicationLogs => view::<CommunicationLogView>(context, stored),
        Conversations => view::<ConversationView>(context, stored),
        FormSchemas => view::<FormSchemaDetail>(context, stored),
        FormResponses => view::<FormResponseView>(context, stored),
        ProcedureCodeCategories => view::<ProcedureCodeCategoryView>(context, stored),
        ProcedureCodes => view::<ProcedureCodeView>(context, stored),
        Fees => view::<FeeView>(context, stored),
        Procedures => view::<ProcedureView>(context, stored),
        TreatmentPlans => {
            let it: Record<TreatmentPlan> = read(stored)?;
            let mut procedures: Vec<Record<Procedure>> = Vec::new();
            for id in &it.body.procedure_ids {
                procedures.extend(related.get(it.source(), *id)?);
            }
            json(&TreatmentPlanView::from_record(&it, &procedures).amounts(context.amounts))
        }
        ClinicalNotes => view::<ClinicalNoteView>(context, stored),
        RecallTypes => view::<RecallTypeView>(context, stored),
        PatientRecalls => {
            let it: Record<PatientRecall> = read(stored)?;
            let kind = it.body.recall_type_id.map(|id| related.get::<Record<RecallType>>(it.source(), id));
            let adapter = context.adapter(it.source_id);
            json(&PatientRecallView::from_record(&it, kind.transpose()?.flatten().as_ref(), adapter))
        }
        DocumentTypes => view::<DocumentTypeView>(context, stored),
        Documents => {
            let it: Record<Document> = read(stored)?;
            json(&PatientDocumentView::from_record(&it, None))
        }
        PaymentTypes => view::<PaymentTypeView>(context, stored),
        AdjustmentTypes => view::<AdjustmentTypeView>(context, stored),
        Charges => view::<ChargeView>(context, stored),
        Claims => view::<ClaimView>(context, stored),
        PaymentPlans => view::<PaymentPlanView>(context, stored),
        Payments => view::<PaymentView>(context, stored),
        Adjustments => view::<AdjustmentView>(context, stored),
        GuarantorBalances => view::<GuarantorBalanceView>(context, stored),
        InsuranceBalances => view::<InsuranceBalanceView>(context, stored),
    }
}

impl Reader for ViewContext<'_> {
    fn adapter(&self, source: Option<u32>) -> Option<&str> {
        ViewContext::adapter(self, source)
    }

    fn sees_amounts(&self) -> bool {
        self.amounts
    }

    fn version(&self) -> Version {
        Version::stored(self.version)
    }
}

fn view<V: RecordView>(context: &ViewContext<'_>, stored: &[u8]) -> Result<Value, ViewError> {
    let record: Record<V::Body> = read(stored)?;
    json(&V::render(&record, context))
}

fn patient(context: &ViewContext<'_>, stored: &[u8]) -> Result<Value, ViewError> {
    match Version::stored(context.version) {
        Version::V3_1_0 => view::<PatientProfile>(context, stored),
        Version::V3_0_0 | Version::V2_2_2 => view::<PatientDetail>(context, stored),
    }
}

fn appointment(
    context: &ViewContext<'_>,
    it: &Record<Appointment>,
    related: &dyn RelatedRecords,
) -> Result<Value, ViewError> {
    let (institution, place) = (it.institution_id, &it.placement);
    let patient = it.patient_id.map(|id| related.get::<Record<Patient>>(institution, id.into())).transpose()?.flatten();
    let provider =
        place.provider.map(|id| related.get::<Record<Provider>>(institution, id.0.into())).transpose()?.flatten();
    let operatory =
        place.operatory.map(|id| related.get::<Record<Operatory>>(it.location(), id.0)).transpose()?.flatten();
    json(&AppointmentEvent::from_record(it, context, patient.as_ref(), provider.as_ref(), operatory.as_ref()))
}

fn read<T: DeserializeOwned>(stored: &[u8]) -> Result<T, ViewError> {
    serde_json::from_slice(stored).map_err(|_| ViewError::Damaged)
}

fn json(view: &impl Serialize) -> Result<Value, ViewError> {
    serde_json::to_value(view).map_err(|_| ViewError::Damaged)
}
