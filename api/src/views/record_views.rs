//! The views of stored records for the feed of changes and for webhook messages, equal to those of their endpoints.

use std::sync::Arc;

use engine::{
    records::{
        Adjustment, AdjustmentType, Appointment, AppointmentDescriptor, AppointmentType, Charge, Claim, ClinicalNote,
        CommunicationLog, Conversation, Coverage, Document, DocumentType, Fee, FeeSchedule, FormResponse, FormSchema,
        GuarantorBalance, HistoryItem, InsuranceBalance, InsurancePlan, Operatory, Patient, PatientAlert,
        PatientHistoryItem, PatientRecall, Payment, PaymentPlan, PaymentType, Procedure, ProcedureCode,
        ProcedureCodeCategory, Provider, RecallType, TreatmentPlan, WorkingHour,
        record::{Body, Record},
        sync_state::SyncState,
    },
    webhooks::views::{RelatedRecords, ViewContext, ViewError, Views},
};
use location::pull::Resource::{self, *};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    values::versions::Version,
    views::{
        appointments::AppointmentEvent,
        catalogue::{
            AdjustmentTypeView, AppointmentDescriptorView, AppointmentTypeView, FeeScheduleView, FeeView,
            PaymentTypeView,
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
            AdjustmentView, ChargeView, ClaimView, GuarantorBalanceView, InsuranceBalanceView, PaymentPlanView,
            PaymentView,
        },
        operatories::OperatoryView,
        patients::{PatientDetail, PatientProfile},
        people::ProviderBasic,
        sync_status,
    },
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
    let adapter = context.adapter(context.location.source);
    match resource {
        Providers => {
            let it: Record<Provider> = read(stored)?;
            json(&ProviderBasic::from_record(&it, context.adapter(it.source_id)))
        }
        Patients => patient(context, &read(stored)?),
        Operatories => {
            let it: Record<Operatory> = read(stored)?;
            json(&OperatoryView::basic(&it, adapter))
        }
        WorkingHours => {
            let it: Record<WorkingHour> = read(stored)?;
            json(&WorkingHourView::from_record(&it, context.location.zone, context.now))
        }
        AppointmentTypes => {
            let it: Record<AppointmentType> = read(stored)?;
            json(&AppointmentTypeView::from_record(&it))
        }
        Appointments => appointment(context, &read(stored)?, related),
        AppointmentDescriptors => entry(stored, |it: &Record<AppointmentDescriptor>| {
            json(&AppointmentDescriptorView::from_record(it, adapter))
        }),
        FeeSchedules => entry(stored, |it: &Record<FeeSchedule>| json(&FeeScheduleView::from_record(it))),
        InsurancePlans => entry(stored, |it: &Record<InsurancePlan>| {
            json(&InsurancePlanView::from_record(it).amounts(context.amounts))
        }),
        Coverages => entry(stored, |it: &Record<Coverage>| json(&InsuranceCoverageView::from_record(it))),
        HistoryItems => entry(stored, |it: &Record<HistoryItem>| json(&MedicalHistoryItemView::from_record(it))),
        PatientHistoryItems => entry(stored, |it: &Record<PatientHistoryItem>| {
            let item: Option<Record<HistoryItem>> = related.get(it.source(), it.body.item_id)?;
            json(&PatientMedicalHistoryItemView::from_record(it, item.as_ref()))
        }),
        PatientAlerts => entry(stored, |it: &Record<PatientAlert>| json(&PatientAlertView::from_record(it))),
        CommunicationLogs => {
            entry(stored, |it: &Record<CommunicationLog>| json(&CommunicationLogView::from_record(it)))
        }
        Conversations => entry(stored, |it: &Record<Conversation>| json(&ConversationView::from_record(it, adapter))),
        FormSchemas => entry(stored, |it: &Record<FormSchema>| json(&FormSchemaDetail::from_record(it))),
        FormResponses => entry(stored, |it: &Record<FormResponse>| json(&FormResponseView::from_record(it, adapter))),
        ProcedureCodeCategories => {
            entry(stored, |it: &Record<ProcedureCodeCategory>| json(&ProcedureCodeCategoryView::from_record(it)))
        }
        ProcedureCodes => {
            entry(stored, |it: &Record<ProcedureCode>| json(&ProcedureCodeView::from_record(it, adapter)))
        }
        Fees => entry(stored, |it: &Record<Fee>| json(&FeeView::from_record(it))),
        Procedures => {
            entry(stored, |it: &Record<Procedure>| json(&ProcedureView::from_record(it).amounts(context.amounts)))
        }
        TreatmentPlans => entry(stored, |it: &Record<TreatmentPlan>| {
            let mut procedures: Vec<Record<Procedure>> = Vec::new();
            for id in &it.body.procedure_ids {
                procedures.extend(related.get(it.source(), *id)?);
            }
            json(&TreatmentPlanView::from_record(it, &procedures).amounts(context.amounts))
        }),
        ClinicalNotes => entry(stored, |it: &Record<ClinicalNote>| json(&ClinicalNoteView::from_record(it))),
        RecallTypes => entry(stored, |it: &Record<RecallType>| json(&RecallTypeView::from_record(it, adapter))),
        PatientRecalls => entry(stored, |it: &Record<PatientRecall>| {
            let kind = it.body.recall_type_id.map(|id| related.get::<Record<RecallType>>(it.source(), id));
            json(&PatientRecallView::from_record(it, kind.transpose()?.flatten().as_ref(), adapter))
        }),
        DocumentTypes => entry(stored, |it: &Record<DocumentType>| json(&DocumentTypeView::from_record(it))),
        Documents => entry(stored, |it: &Record<Document>| json(&PatientDocumentView::from_record(it, None))),
        PaymentTypes => entry(stored, |it: &Record<PaymentType>| json(&PaymentTypeView::from_record(it))),
        AdjustmentTypes => entry(stored, |it: &Record<AdjustmentType>| json(&AdjustmentTypeView::from_record(it))),
        Charges => {
            entry(stored, |it: &Record<Charge>| json(&ChargeView::in_version(it, Version::stored(context.version))))
        }
        Claims => entry(stored, |it: &Record<Claim>| json(&ClaimView::from_record(it))),
        PaymentPlans => entry(stored, |it: &Record<PaymentPlan>| json(&PaymentPlanView::from_record(it))),
        Payments => {
            entry(stored, |it: &Record<Payment>| json(&PaymentView::in_version(it, Version::stored(context.version))))
        }
        Adjustments => entry(stored, |it: &Record<Adjustment>| {
            json(&AdjustmentView::in_version(it, Version::stored(context.version)))
        }),
        GuarantorBalances => {
            entry(stored, |it: &Record<GuarantorBalance>| json(&GuarantorBalanceView::from_record(it)))
        }
        InsuranceBalances => {
            entry(stored, |it: &Record<InsuranceBalance>| json(&InsuranceBalanceView::from_record(it)))
        }
    }
}

fn patient(context: &ViewContext<'_>, it: &Record<Patient>) -> Result<Value, ViewError> {
    let adapter = context.adapter(it.source_id);
    match Version::stored(context.version) {
        Version::V3_1_0 => json(&PatientProfile::from_record(it, adapter)),
        Version::V3_0_0 | Version::V2_2_2 => json(&PatientDetail::from_record(it, adapter)),
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

fn entry<T: Body>(
    stored: &[u8],
    view: impl FnOnce(&Record<T>) -> Result<Value, ViewError>,
) -> Result<Value, ViewError> {
    view(&read(stored)?)
}

fn read<T: DeserializeOwned>(stored: &[u8]) -> Result<T, ViewError> {
    serde_json::from_slice(stored).map_err(|_| ViewError::Damaged)
}

fn json(view: &impl Serialize) -> Result<Value, ViewError> {
    serde_json::to_value(view).map_err(|_| ViewError::Damaged)
}
