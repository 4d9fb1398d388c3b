//! GET /changes: what changed at a location and in its health record system, in the order of commits (our addition).

use engine::{
    EngineError,
    feed::{Change, FeedEntry},
    records::{
        Appointment,
        catalogue::{AdjustmentType, AppointmentDescriptor, Fee, FeeSchedule, PaymentType},
        clinical::{
            ClinicalNote, PatientRecall, Procedure, ProcedureCode, ProcedureCodeCategory, RecallType, TreatmentPlan,
        },
        documents::{Document, DocumentType},
        entry::{Body, Entry},
        forms::{FormResponse, FormSchema},
        history::{HistoryItem, PatientHistoryItem},
        insurance::{Coverage, InsurancePlan},
        ledger::{Adjustment, Charge, Claim, GuarantorBalance, InsuranceBalance, Payment, PaymentPlan},
        talk::{CommunicationLog, Conversation, PatientAlert},
    },
};
use location::{
    ids::AppointmentId,
    pull::Resource::{self, *},
    time::Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{
    Answer,
    appointment_types::AppointmentTypeView,
    appointments,
    operatories::OperatoryView,
    providers::Names,
    resource_names::{self, granted, name, resource},
};
use crate::{
    bounds::{CHANGES_DEFAULT, MAX_TEXT, PER_PAGE},
    cursor::{Bound, Position},
    errors::ApiError,
    kinds::{integer, text},
    pages::{Found, Page, PageInfo},
    scope::{Call, Place, Tenant},
    views::{
        catalogue::{AdjustmentTypeView, DescriptorView, FeeScheduleView, FeeView, PaymentTypeView},
        clinical::{
            ClinicalNoteView, PatientRecallView, ProcedureCodeCategoryView, ProcedureCodeView, ProcedureView,
            RecallTypeView, TreatmentPlanView,
        },
        documents::{DocumentTypeView, PatientDocumentView},
        forms::{FormResponseView, FormSchemaDetail},
        history::{HistoryItemView, PatientHistoryItemView},
        hours::WorkingHourView,
        insurance::{CoverageView, InsurancePlanView},
        ledger::{
            AdjustmentView, ChargeView, ClaimView, GuarantorBalanceView, InsuranceBalanceView, PaymentPlanView,
            PaymentView,
        },
        talk::{CommunicationLogView, ConversationView, PatientAlertView},
    },
    wire::At,
};

/// The last change of a record since the page before.
#[derive(Serialize, JsonSchema)]
pub struct ChangeView {
    /// As the path of its list names it.
    resource: &'static str,
    id: u64,
    #[schemars(extend("enum" = ["created", "updated", "deleted"]))]
    change: &'static str,
    changed_at: At,
    /// The record as it is now; null when it was deleted.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    record: Value,
}

pub async fn list(mut call: Call) -> Answer {
    let (place, (since, asked, per_page)) = call.in_place(|input| {
        let since = input.query.optional("since", text(MAX_TEXT));
        let asked = input.query.list("resource", resource());
        let range = *PER_PAGE.start() as i64..=*PER_PAGE.end() as i64;
        Some((since, asked, input.query.defaulted("per_page", integer(range), CHANGES_DEFAULT) as usize))
    })?;
    if asked.iter().any(|resource| !granted(*resource, call.key.grants)) {
        return Err(ApiError::Forbidden);
    }
    let all = || resource_names::all().filter(|resource| granted(*resource, call.key.grants)).collect();
    let resources = if asked.is_empty() { all() } else { asked };
    // The cursor is the location's, whatever else is asked.
    let cursors = call.api.cursors.bound_to("/changes", vec![("location_id", &place.location.id.to_string())]);
    let from = since.as_deref().map(|since| opened(&cursors, since)).transpose()?;
    let changes = call.api.engine.changes(place.location.id, from, &resources, per_page).map_err(|error| match error {
        EngineError::Expired => ApiError::bad(
            "since is too old: changes are kept for 30 days. List the records anew, and ask without since where changes begin.",
        ),
        other => other.into(),
    })?;
    let shown = Shown { call: &call, place: &place, tenant: Tenant { institution: place.institution.clone() } };
    let mut rows = Vec::with_capacity(changes.entries.len());
    for entry in &changes.entries {
        rows.extend(shown.change(entry)?);
    }
    let cursor = |number: u64| Some(cursors.seal(Position::id(number), Timestamp(0)));
    let info = PageInfo {
        has_previous_page: false,
        has_next_page: changes.more,
        start_cursor: since,
        end_cursor: cursor(changes.next),
    };
    Ok(call.page(&Page { rows, found: Found::Cursors(info) }))
}

fn opened(cursors: &Bound, since: &str) -> Result<u64, ApiError> {
    let position = cursors.open(since).map(|(position, _)| position.id);
    position.ok_or_else(|| ApiError::bad("since is not an end_cursor of the changes of this location."))
}

/// Records as their own endpoints show them.
struct Shown<'a> {
    call: &'a Call,
    place: &'a Place,
    tenant: Tenant,
}

/// A record that is gone, or one of another location.
enum Now {
    Gone,
    Elsewhere,
    Is(Value),
}

impl Shown<'_> {
    fn change(&self, entry: &FeedEntry) -> Result<Option<ChangeView>, ApiError> {
        let now = self.record(entry.resource, entry.id)?;
        let (record, change) = match (now, entry.change) {
            (Now::Elsewhere, _) => return Ok(None),
            (Now::Gone, _) | (_, Change::Deleted) => (Value::Null, "deleted"),
            (Now::Is(record), Change::Created) => (record, "created"),
            (Now::Is(record), Change::Updated) => (record, "updated"),
        };
        if entry.resource == Patients && !record.is_null() {
            self.call.audit("read", "patient", entry.id);
        }
        let (resource, changed_at) = (name(entry.resource), At(entry.at));
        Ok(Some(ChangeView { resource, id: entry.id, change, changed_at, record }))
    }

    fn record(&self, resource: Resource, id: u64) -> Result<Now, ApiError> {
        let Shown { call, place, .. } = self;
        let (engine, institution, location) = (&call.api.engine, self.tenant.institution.id, place.location.id);
        let small = u32::try_from(id).unwrap_or(u32::MAX);
        let adapter = call.api.directory.adapter(&place.location);
        match resource {
            Providers => one(engine.provider(institution, small)?, |it| json(&call.provider_basic(it))),
            Patients => one(engine.patient(institution, small)?, |it| json(&call.patient_basic(it))),
            Operatories => one(engine.operatory(location, id)?.filter(|it| it.deleted_at.is_none()), |it| {
                json(&OperatoryView::basic(it, adapter))
            }),
            WorkingHours => {
                let found = engine.working_hour(location, small)?.filter(|it| it.deleted_at.is_none());
                one(found, |it| json(&WorkingHourView::of(it, place.location.zone, engine.now())))
            }
            AppointmentTypes => match engine.appointment_type(institution, small)? {
                Some(it) if it.location_id.is_some_and(|own| own != location.0) => Ok(Now::Elsewhere),
                found => one(found.filter(|it| it.deleted_at.is_none()), |it| json(&AppointmentTypeView::of(it))),
            },
            Appointments => self.appointment(engine.appointment(AppointmentId(id))?),
            AppointmentDescriptors => {
                self.entry::<AppointmentDescriptor>(id, |it| json(&DescriptorView::of(it, adapter)))
            }
            FeeSchedules => self.entry::<FeeSchedule>(id, |it| json(&FeeScheduleView::of(it))),
            InsurancePlans => self.entry::<InsurancePlan>(id, |it| json(&InsurancePlanView::of(it))),
            Coverages => self.entry::<Coverage>(id, |it| json(&CoverageView::of(it))),
            HistoryItems => self.entry::<HistoryItem>(id, |it| json(&HistoryItemView::of(it))),
            PatientHistoryItems => self.entry::<PatientHistoryItem>(id, |it| {
                let item = call.try_entry::<HistoryItem>(&self.tenant, it.body.item_id)?;
                json(&PatientHistoryItemView::of(it, item.as_ref()))
            }),
            PatientAlerts => self.entry::<PatientAlert>(id, |it| json(&PatientAlertView::of(it))),
            CommunicationLogs => self.entry::<CommunicationLog>(id, |it| json(&CommunicationLogView::of(it))),
            Conversations => self.entry::<Conversation>(id, |it| json(&ConversationView::of(it, adapter))),
            FormSchemas => self.entry::<FormSchema>(id, |it| json(&FormSchemaDetail::of(it))),
            FormResponses => self.entry::<FormResponse>(id, |it| json(&FormResponseView::of(it, adapter))),
            ProcedureCodeCategories => {
                self.entry::<ProcedureCodeCategory>(id, |it| json(&ProcedureCodeCategoryView::of(it)))
            }
            ProcedureCodes => self.entry::<ProcedureCode>(id, |it| json(&ProcedureCodeView::of(it, adapter))),
            Fees => self.entry::<Fee>(id, |it| json(&FeeView::of(it))),
            Procedures => self.entry::<Procedure>(id, |it| json(&ProcedureView::of(it))),
            TreatmentPlans => self.entry::<TreatmentPlan>(id, |it| {
                let mut procedures = Vec::new();
                for id in &it.body.procedure_ids {
                    procedures.extend(call.try_entry::<Procedure>(&self.tenant, *id)?);
                }
                json(&TreatmentPlanView::of(it, &procedures))
            }),
            ClinicalNotes => self.entry::<ClinicalNote>(id, |it| json(&ClinicalNoteView::of(it))),
            RecallTypes => self.entry::<RecallType>(id, |it| json(&RecallTypeView::of(it, adapter))),
            PatientRecalls => self.entry::<PatientRecall>(id, |it| {
                let kind = it.body.recall_type_id.map(|id| call.try_entry::<RecallType>(&self.tenant, id));
                json(&PatientRecallView::of(it, kind.transpose()?.flatten().as_ref(), adapter))
            }),
            DocumentTypes => self.entry::<DocumentType>(id, |it| json(&DocumentTypeView::of(it))),
            Documents => self.entry::<Document>(id, |it| json(&PatientDocumentView::of(it, None))),
            PaymentTypes => self.entry::<PaymentType>(id, |it| json(&PaymentTypeView::of(it))),
            AdjustmentTypes => self.entry::<AdjustmentType>(id, |it| json(&AdjustmentTypeView::of(it))),
            Charges => self.entry::<Charge>(id, |it| json(&ChargeView::of(it))),
            Claims => self.entry::<Claim>(id, |it| json(&ClaimView::of(it))),
            PaymentPlans => self.entry::<PaymentPlan>(id, |it| json(&PaymentPlanView::of(it))),
            Payments => self.entry::<Payment>(id, |it| json(&PaymentView::of(it))),
            Adjustments => self.entry::<Adjustment>(id, |it| json(&AdjustmentView::of(it))),
            GuarantorBalances => self.entry::<GuarantorBalance>(id, |it| json(&GuarantorBalanceView::of(it))),
            InsuranceBalances => self.entry::<InsuranceBalance>(id, |it| json(&InsuranceBalanceView::of(it))),
        }
    }

    fn appointment(&self, found: Option<Appointment>) -> Result<Now, ApiError> {
        let names = &mut Names::new(self.call, &self.tenant);
        one(found, |it| json(&appointments::view(self.call, self.place, it, names)?))
    }

    /// What was made at another location is not this one's.
    fn entry<T: Body>(
        &self,
        id: u64,
        view: impl FnOnce(&Entry<T>) -> Result<Value, ApiError>,
    ) -> Result<Now, ApiError> {
        let Some(source) = self.place.location.source else { return Ok(Now::Gone) };
        match self.call.api.engine.entry::<T>(source, id)? {
            Some(it) if it.location_id.is_some_and(|own| own != self.place.location.id.0) => Ok(Now::Elsewhere),
            found => one(found.filter(|it| it.deleted_at.is_none()), view),
        }
    }
}

fn one<T>(found: Option<T>, view: impl FnOnce(&T) -> Result<Value, ApiError>) -> Result<Now, ApiError> {
    found.map_or(Ok(Now::Gone), |it| view(&it).map(Now::Is))
}

fn json(view: &impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(view).map_err(|_| ApiError::Internal)
}
