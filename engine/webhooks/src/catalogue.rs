//! The closed list of subscribable events: resource types with the resources whose changes they report, their events,
//! and the names under which messages are sent.

use location::{pull::Resource, resource::Operation};
use query::stream::ChangeKind;
use records::{facts::VisitFact, schema::RESOURCES};
use serde::{Deserialize, Serialize};

/// The longest part of a caller's text that an error message repeats.
const ECHOED: usize = 64;

macro_rules! catalogue {
    ($($(#[$doc:meta])* $resource:ident $(of $record:ident)? as $key:literal { $($event:ident = $name:literal),* $(,)? })*) => {
        /// The kind of record a message is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ResourceType { $($(#[$doc])* $resource),* }

        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Event { $($($event),*),* }

        impl ResourceType {
            pub const ALL: &[ResourceType] = &[$(ResourceType::$resource),*];

            /// Returns the name in subscriptions: `Appointment`.
            pub fn name(self) -> &'static str {
                match self { $(ResourceType::$resource => stringify!($resource)),* }
            }

            /// Returns the name in messages, which is also the key of the record in their `data`: `appointment`.
            pub fn key(self) -> &'static str {
                match self { $(ResourceType::$resource => $key),* }
            }

            pub fn events(self) -> &'static [Event] {
                match self { $(ResourceType::$resource => &[$(Event::$event),*]),* }
            }

            /// Returns the type under which subscribers know the resource; `None` if its changes are not sent.
            pub fn from_resource(resource: Resource) -> Option<ResourceType> {
                match resource {
                    $($(Resource::$record => Some(ResourceType::$resource),)?)*
                    _ => None,
                }
            }
        }

        impl Event {
            pub fn name(self) -> &'static str {
                match self { $($(Event::$event => $name),*),* }
            }

            pub fn resource_type(self) -> ResourceType {
                match self { $($(Event::$event => ResourceType::$resource),*),* }
            }
        }
    };
}

catalogue! {
    Adjustment of Adjustments as "adjustment" {
        AdjustmentInsertion = "adjustment_insertion",
        AdjustmentCreated = "adjustment_created",
        AdjustmentUpdated = "adjustment_updated",
        AdjustmentDeleted = "adjustment_deleted",
    }
    AdjustmentType of AdjustmentTypes as "adjustment_type" {
        AdjustmentTypeCreated = "adjustment_type_created",
        AdjustmentTypeUpdated = "adjustment_type_updated",
    }
    Appointment of Appointments as "appointment" {
        AppointmentInsertion = "appointment_insertion",
        AppointmentCreated = "appointment_created",
        AppointmentUpdated = "appointment_updated",
        AppointmentCancelled = "appointment_cancelled",
        AppointmentRescheduled = "appointment_rescheduled",
        AppointmentConfirmed = "appointment_confirmed",
        AppointmentArrived = "appointment_arrived",
        AppointmentCompleted = "appointment_completed",
        AppointmentMissed = "appointment_missed",
    }
    Charge of Charges as "charge" {
        ChargeCreated = "charge_created",
        ChargeUpdated = "charge_updated",
        ChargeDeleted = "charge_deleted",
    }
    Claim of Claims as "claim" {
        ClaimCreated = "claim_created",
        ClaimUpdated = "claim_updated",
        ClaimDeleted = "claim_deleted",
    }
    FeeSchedule of FeeSchedules as "fee_schedule" {
        FeeScheduleCreated = "fee_schedule_created",
        FeeScheduleUpdated = "fee_schedule_updated",
    }
    FormResponse of FormResponses as "form_response" {
        FormResponseInsertion = "form_response_insertion",
    }
    MedicalHistory of PatientHistoryItems as "medical_history" {
        MedicalHistoryPatientItemsUpdated = "medical_history_patient_items_updated",
    }
    /// A conversation of the EHR, because its single texts have no identity there.
    Message of Conversations as "message" {
        MessageCreated = "message_created",
        MessageUpdated = "message_updated",
    }
    Patient of Patients as "patient" {
        PatientCreated = "patient_created",
        PatientUpdated = "patient_updated",
    }
    PatientInsuranceCoverage of Coverages as "patient_insurance_coverage" {
        PatientInsuranceCreated = "patient_insurance_created",
        PatientInsuranceUpdated = "patient_insurance_updated",
    }
    Payment of Payments as "payment" {
        PaymentInsertion = "payment_insertion",
        PaymentCreated = "payment_created",
        PaymentUpdated = "payment_updated",
        PaymentDeleted = "payment_deleted",
    }
    PaymentType of PaymentTypes as "payment_type" {
        PaymentTypeCreated = "payment_type_created",
        PaymentTypeUpdated = "payment_type_updated",
    }
    Procedure of Procedures as "procedure" {
        ProcedureCreated = "procedure_created",
        ProcedureUpdated = "procedure_updated",
    }
    ProcedureCode of ProcedureCodes as "procedure_code" {
        ProcedureCodeCreated = "procedure_code_created",
        ProcedureCodeUpdated = "procedure_code_updated",
        ProcedureCodeDeleted = "procedure_code_deleted",
    }
    Provider of Providers as "provider" {
        ProviderCreated = "provider_created",
        ProviderUpdated = "provider_updated",
    }
    SyncStatus as "sync_status" {
        SyncStatusReadChange = "sync_status_read_change",
        SyncStatusWriteChange = "sync_status_write_change",
        SyncDegraded = "sync_degraded",
        SyncRecovered = "sync_recovered",
    }
    TreatmentPlan of TreatmentPlans as "treatment_plan" {
        TreatmentPlanCreated = "treatment_plan_created",
        TreatmentPlanUpdated = "treatment_plan_updated",
        TreatmentPlanDeleted = "treatment_plan_deleted",
    }
    WorkingHour of WorkingHours as "working_hour" {
        WorkingHourCreated = "working_hour_created",
        WorkingHourUpdated = "working_hour_updated",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteOutcome {
    Complete,
    Failed,
    TimedOut,
}

impl WriteOutcome {
    pub const ALL: [WriteOutcome; 3] = [WriteOutcome::Complete, WriteOutcome::Failed, WriteOutcome::TimedOut];

    pub fn name(self) -> &'static str {
        match self {
            WriteOutcome::Complete => "complete",
            WriteOutcome::Failed => "failed",
            WriteOutcome::TimedOut => "timed_out",
        }
    }
}

/// The event name in messages: `patient_created`, `appointment_insertion.complete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName {
    event: Event,
    /// `None` for the change itself.
    outcome: Option<WriteOutcome>,
}

impl EventName {
    /// Returns the name for a change. Returns `None` for insertions, which are sent with an outcome only.
    pub fn change(event: Event) -> Option<EventName> {
        (!event.is_insertion()).then_some(EventName { event, outcome: None })
    }

    /// Returns the name for the end of a write. Returns `None` for events in which no write of this service ends.
    pub fn written(event: Event, outcome: WriteOutcome) -> Option<EventName> {
        (event.is_insertion() || event.is_update()).then_some(EventName { event, outcome: Some(outcome) })
    }

    /// Returns the event that a subscription must name.
    pub fn event(self) -> Event {
        self.event
    }

    pub fn resource_type(self) -> ResourceType {
        self.event.resource_type()
    }
}

impl std::fmt::Display for EventName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.outcome {
            Some(outcome) => write!(f, "{}.{}", self.event.name(), outcome.name()),
            None => f.write_str(self.event.name()),
        }
    }
}

impl ResourceType {
    /// Returns the resource whose changes are sent under the type; `None` for `SyncStatus`.
    pub fn resource(self) -> Option<Resource> {
        RESOURCES.iter().copied().find(|resource| ResourceType::from_resource(*resource) == Some(self))
    }

    /// Returns the event for a change of a record. Creations and deletions without an event are sent as updates.
    pub fn changed(self, change: ChangeKind) -> Option<Event> {
        let named = match change {
            ChangeKind::Created => self.ending_with("_created"),
            ChangeKind::Updated => None,
            ChangeKind::Deleted => self.ending_with("_deleted"),
        };
        named.or_else(|| self.ending_with("_updated"))
    }

    /// Returns the event for the end of a write to the EHR. Where there is no event for insertions, they are sent as
    /// updates.
    pub fn written(self, verb: Operation) -> Option<Event> {
        let insertion = self.ending_with("_insertion").filter(|_| verb == Operation::Create);
        insertion.or_else(|| self.ending_with("_updated"))
    }

    fn ending_with(self, end: &str) -> Option<Event> {
        self.events().iter().copied().find(|event| event.name().ends_with(end))
    }
}

impl Event {
    /// Returns the event that reports a fact of a visit.
    pub fn from_fact(fact: VisitFact) -> Event {
        match fact {
            VisitFact::Cancelled => Event::AppointmentCancelled,
            VisitFact::Rescheduled { .. } => Event::AppointmentRescheduled,
            VisitFact::Confirmed => Event::AppointmentConfirmed,
            VisitFact::Arrived => Event::AppointmentArrived,
            VisitFact::Completed => Event::AppointmentCompleted,
            VisitFact::Missed => Event::AppointmentMissed,
        }
    }

    /// Returns `true` if the event reports a fact of a visit.
    pub fn is_fact(self) -> bool {
        self.name().strip_prefix("appointment_").is_some_and(|name| VisitFact::NAMES.contains(&name))
    }

    fn is_insertion(self) -> bool {
        self.name().ends_with("_insertion")
    }

    pub fn is_update(self) -> bool {
        self.name().ends_with("_updated")
    }
}

/// The topic of a subscription: an event with everything sent under it, or a single outcome of its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    pub event: Event,
    pub outcome: Option<WriteOutcome>,
}

impl Topic {
    pub fn takes(self, name: EventName) -> bool {
        self.event == name.event() && self.outcome.is_none_or(|outcome| name.outcome == Some(outcome))
    }
}

impl From<Event> for Topic {
    fn from(event: Event) -> Topic {
        Topic { event, outcome: None }
    }
}

/// Writes the topic as in a subscription: `payment_created`, `appointment_insertion.failed`.
impl std::fmt::Display for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        EventName { event: self.event, outcome: self.outcome }.fmt(f)
    }
}

/// The error for a name that is not subscribable. Its message lists the known names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPair {
    #[error("resource_type {given:?} is not known; known are: {}", names(ResourceType::ALL, ResourceType::name))]
    ResourceType { given: String },
    #[error("event {given:?} is not known for {}; known are: {}", of.name(), names(of.events(), Event::name))]
    Event { given: String, of: ResourceType },
}

/// Parses a topic. Ignores case and accepts both `PatientInsuranceCoverage` and `patient_insurance_coverage`. The
/// suffixes `.complete`, `.failed` and `.timed_out` select a single outcome of the event's writes.
pub fn parse(resource_type: &str, event: &str) -> Result<Topic, UnknownPair> {
    let resource = parse_resource_type(resource_type)?;
    let (name, outcome) = event.split_once('.').map_or((event, None), |(name, outcome)| (name, Some(outcome)));
    let unknown = || UnknownPair::Event { given: echo(event), of: resource };
    let event = *resource.events().iter().find(|known| same_name(known.name(), name)).ok_or_else(unknown)?;
    let Some(given) = outcome else { return Ok(event.into()) };
    let outcome = WriteOutcome::ALL.into_iter().find(|known| same_name(known.name(), given)).ok_or_else(unknown)?;
    EventName::written(event, outcome).ok_or_else(unknown)?;
    Ok(Topic { event, outcome: Some(outcome) })
}

pub fn parse_resource_type(given: &str) -> Result<ResourceType, UnknownPair> {
    let found = ResourceType::ALL.iter().find(|known| same_name(known.name(), given));
    found.copied().ok_or_else(|| UnknownPair::ResourceType { given: echo(given) })
}

fn same_name(known: &str, given: &str) -> bool {
    let plain = |name: &str| name.bytes().filter(|b| *b != b'_').map(|b| b.to_ascii_lowercase()).collect::<Vec<_>>();
    given.len() <= ECHOED && plain(known) == plain(given)
}

fn echo(given: &str) -> String {
    given.chars().take(ECHOED).collect()
}

fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> String {
    all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::time::Timestamp;

    use super::*;

    #[test]
    fn every_pair_is_found_in_every_spelling() {
        for resource in ResourceType::ALL {
            assert!(!resource.events().is_empty(), "{resource:?} has no event");
            for event in resource.events() {
                assert_eq!(event.resource_type(), *resource);
                for spelling in [resource.name().to_owned(), resource.key().to_owned(), resource.name().to_uppercase()]
                {
                    assert_eq!(parse(&spelling, event.name()), Ok((*event).into()));
                    assert_eq!(parse(&spelling, &event.name().to_uppercase()), Ok((*event).into()));
                }
            }
        }
    }

    #[test]
    fn the_list_is_the_published_one() {
        let events: Vec<&str> = ResourceType::ALL.iter().flat_map(|r| r.events()).map(|e| e.name()).collect();
        let of = |base: &str, kinds: &[&str]| kinds.iter().map(|kind| format!("{base}_{kind}")).collect::<Vec<_>>();
        let mut published = Vec::new();
        for base in ["payment", "adjustment"] {
            published.extend(of(base, &["insertion", "created", "updated", "deleted"]));
        }
        published.extend(of("appointment", &["insertion", "created", "updated"]));
        published.extend(of("appointment", &VisitFact::NAMES));
        for base in ["charge", "claim", "procedure_code", "treatment_plan"] {
            published.extend(of(base, &["created", "updated", "deleted"]));
        }
        let created_and_updated =
            ["patient", "payment_type", "adjustment_type", "procedure", "fee_schedule", "provider"];
        for base in created_and_updated.iter().chain(&["working_hour", "patient_insurance", "message"]) {
            published.extend(of(base, &["created", "updated"]));
        }
        published.push("form_response_insertion".into());
        published.push("medical_history_patient_items_updated".into());
        published.extend(of("sync_status", &["read_change", "write_change"]));
        published.extend(of("sync", &["degraded", "recovered"]));

        let mut ours: Vec<String> = events.iter().map(|e| e.to_string()).collect();
        ours.sort();
        published.sort();
        assert_eq!(ours, published);
        assert_eq!(ResourceType::ALL.len(), 19);
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = parse("Tooth", "appointment_created").unwrap_err().to_string();
        assert!(error.contains("\"Tooth\"") && error.contains("Appointment, Charge"), "{error}");
        let error = parse("appointment", "patient_created").unwrap_err().to_string();
        let known = "known are: appointment_insertion, appointment_created, appointment_updated, appointment_cancelled";
        assert!(error.contains("for Appointment") && error.contains(known), "{error}");
        assert!(parse("", "").is_err());
        for no_outcome in ["appointment_insertion.", "appointment_insertion.done", "appointment_created.complete"] {
            assert!(parse("appointment", no_outcome).is_err(), "{no_outcome}");
        }
        assert!(parse(&"x\n".repeat(10_000), "y").unwrap_err().to_string().len() < 600);
    }

    #[test]
    fn a_single_outcome_can_be_subscribed_to() {
        let failed = parse("Appointment", "Appointment_Insertion.FAILED").unwrap();
        assert_eq!(failed.to_string(), "appointment_insertion.failed");
        let name = |outcome| EventName::written(Event::AppointmentInsertion, outcome).unwrap();
        assert!(failed.takes(name(WriteOutcome::Failed)));
        assert!(!failed.takes(name(WriteOutcome::Complete)));
        let all = parse("appointment", "appointment_insertion").unwrap();
        assert!(WriteOutcome::ALL.into_iter().all(|outcome| all.takes(name(outcome))));
        assert!(!all.takes(EventName::change(Event::AppointmentCreated).unwrap()));
    }

    #[test]
    fn changes_and_writes_have_their_events() {
        let (payment, history) = (ResourceType::Payment, ResourceType::MedicalHistory);
        let items = Event::MedicalHistoryPatientItemsUpdated;
        for (kind, change, event) in [
            (payment, ChangeKind::Created, Some(Event::PaymentCreated)),
            (payment, ChangeKind::Updated, Some(Event::PaymentUpdated)),
            (payment, ChangeKind::Deleted, Some(Event::PaymentDeleted)),
            (ResourceType::Provider, ChangeKind::Deleted, Some(Event::ProviderUpdated)),
            (ResourceType::FormResponse, ChangeKind::Created, None),
            (history, ChangeKind::Created, Some(items)),
            (history, ChangeKind::Deleted, Some(items)),
        ] {
            assert_eq!(kind.changed(change), event, "{kind:?} {change:?}");
        }
        for (kind, verb, event) in [
            (payment, Operation::Create, Some(Event::PaymentInsertion)),
            (ResourceType::Appointment, Operation::Update, Some(Event::AppointmentUpdated)),
            (ResourceType::Patient, Operation::Create, Some(Event::PatientUpdated)),
            (ResourceType::PatientInsuranceCoverage, Operation::Delete, Some(Event::PatientInsuranceUpdated)),
            (ResourceType::FormResponse, Operation::Update, None),
            (history, Operation::Create, Some(items)),
        ] {
            assert_eq!(kind.written(verb), event, "{kind:?} {verb:?}");
        }
    }

    #[test]
    fn each_fact_has_its_event() {
        let rescheduled = VisitFact::Rescheduled { from: Timestamp(1), to: Timestamp(2) };
        let facts = [VisitFact::Cancelled, rescheduled, VisitFact::Confirmed, VisitFact::Arrived, VisitFact::Completed];
        for fact in facts.into_iter().chain([VisitFact::Missed]) {
            let event = Event::from_fact(fact);
            assert_eq!(event.name(), format!("appointment_{}", fact.name()));
            assert!(event.is_fact() && EventName::change(event).is_some());
            assert_eq!(EventName::written(event, WriteOutcome::Complete), None);
        }
        let all = || ResourceType::ALL.iter().flat_map(|kind| kind.events());
        assert_eq!(all().filter(|event| event.is_fact()).count(), VisitFact::NAMES.len());
    }

    #[test]
    fn insertions_are_sent_with_an_outcome_only() {
        let insertion = Event::AppointmentInsertion;
        assert_eq!(EventName::change(insertion), None);
        for (outcome, name) in [
            (WriteOutcome::Complete, "appointment_insertion.complete"),
            (WriteOutcome::Failed, "appointment_insertion.failed"),
            (WriteOutcome::TimedOut, "appointment_insertion.timed_out"),
        ] {
            let name_of_event = EventName::written(insertion, outcome).unwrap();
            assert_eq!((name_of_event.to_string().as_str(), name_of_event.event()), (name, insertion));
        }
    }

    #[test]
    fn an_update_and_the_end_of_its_write_are_both_sent() {
        let update = Event::AppointmentUpdated;
        assert_eq!(EventName::change(update).unwrap().to_string(), "appointment_updated");
        let written = EventName::written(update, WriteOutcome::Complete).unwrap();
        assert_eq!(written.to_string(), "appointment_updated.complete");
        assert_eq!(EventName::written(Event::PatientCreated, WriteOutcome::Complete), None);
    }
}
