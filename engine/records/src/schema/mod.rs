//! All records, and the code that treats every one of them. A record is declared in its own file: its fields,
//! references, index terms and writes.
//!
//! ```text
//! #[record(..)] ──► body, form in EHRs, ResourceRules ──► for_every_record! ──► rules, visitors, EhrRecord
//!              └──► fields in the contract with limits ──► adapter_host::record (conversions)
//! ```
//!
//! A new field must be added to the contract (`wit`) too: a test compares the two. Until a new version of the contract
//! can have it, the field is `in_extra`.

#[cfg(test)]
mod tests;

use location::{Operation, Resource};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    Body, appointment::Appointment, document::DocumentKind, index::Field, record::Schema, references::ForeignId,
    working_hour::WorkingHour,
};
pub use crate::{
    adjustment::*,
    appointment::EhrAppointment,
    appointment_descriptor::*,
    appointment_type::*,
    balance::*,
    charge::*,
    claim::*,
    clinical_note::*,
    communication_log::*,
    conversation::*,
    coverage::*,
    documents::{Document, DocumentType, EhrDocument, EhrDocumentType},
    fee_schedule::*,
    form_response::*,
    form_schema::*,
    insurance_plan::*,
    medical_history::*,
    operatory::*,
    patient::{EhrPatient, Patient, PatientChange},
    patient_alert::*,
    payment::*,
    payment_plan::*,
    procedure::*,
    procedure_code::*,
    provider::*,
    recall::*,
    record::ResourceRules,
    split::*,
    treatment_plan::*,
    working_hour::{EhrRecurrence, EhrWorkingHour},
};

/// Calls a macro with the bodies of all records and their resources, in the order of [`RESOURCES`].
#[macro_export]
macro_rules! for_every_record {
    ($call:ident) => {
        $call! {
            Provider(Providers) Operatory(Operatories) AppointmentType(AppointmentTypes) Patient(Patients)
            AppointmentDescriptor(AppointmentDescriptors) FeeSchedule(FeeSchedules)
            InsurancePlan(InsurancePlans) Coverage(Coverages) HistoryItem(HistoryItems)
            PatientHistoryItem(PatientHistoryItems) PatientAlert(PatientAlerts)
            CommunicationLog(CommunicationLogs) Conversation(Conversations) FormSchema(FormSchemas)
            FormResponse(FormResponses) ProcedureCodeCategory(ProcedureCodeCategories)
            ProcedureCode(ProcedureCodes) Fee(Fees) Procedure(Procedures) TreatmentPlan(TreatmentPlans)
            ClinicalNote(ClinicalNotes) RecallType(RecallTypes) PatientRecall(PatientRecalls)
            DocumentType(DocumentTypes) Document(Documents) PaymentType(PaymentTypes)
            AdjustmentType(AdjustmentTypes) Charge(Charges) Claim(Claims) PaymentPlan(PaymentPlans)
            Payment(Payments) Adjustment(Adjustments) GuarantorBalance(GuarantorBalances)
            InsuranceBalance(InsuranceBalances) WorkingHour(WorkingHours) Appointment(Appointments)
        }
    };
}

macro_rules! define {
    ($($body:ident($resource:ident))*) => {
        pub const fn rules(resource: Resource) -> &'static ResourceRules {
            match resource {
                $( Resource::$resource => &<$body as Schema>::RULES, )*
            }
        }

        pub const RESOURCES: &[Resource] = &[$( Resource::$resource, )*];

        /// Runs the visitor with the resource's body.
        pub fn on<V: Visitor>(resource: Resource, visitor: V) -> V::Output {
            match resource {
                $( Resource::$resource => visitor.visit::<$body>(), )*
            }
        }

        /// A record in the EHR's form.
        #[allow(clippy::large_enum_variant, reason = "patients are the common case; a box each would cost more than it saves")]
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum EhrRecord {
            $( #[doc = concat!("[`Ehr", stringify!($body), "`]")] $body(<$body as Schema>::Ehr), )*
        }

        $(
            impl From<<$body as Schema>::Ehr> for EhrRecord {
                fn from(record: <$body as Schema>::Ehr) -> EhrRecord {
                    EhrRecord::$body(record)
                }
            }
        )*

        impl EhrRecord {
            /// Returns the resource of the record.
            pub fn resource(&self) -> Resource {
                match self {
                    $( EhrRecord::$body(_) => Resource::$resource, )*
                }
            }

            /// Returns the identifier in the EHR.
            pub fn id(&self) -> &str {
                match self {
                    $( EhrRecord::$body(record) => &record.id, )*
                }
            }

            /// Sets the identifier in the EHR.
            pub fn set_id(&mut self, id: ForeignId) {
                match self {
                    $( EhrRecord::$body(record) => record.id = id, )*
                }
            }

            /// Runs the visitor with the EHR's form of the record.
            pub fn on<V: EhrVisitor>(&self, visitor: V) -> V::Output {
                match self {
                    $( EhrRecord::$body(record) => visitor.visit::<$body>(&record.id, record), )*
                }
            }

            /// Creates a record from its fields by name, as in fixtures. Errors name the field but never contain its
            /// value.
            pub fn from_fields(resource: Resource, id: &str, fields: Value) -> Result<EhrRecord, String> {
                let mut record = match resource {
                    $( Resource::$resource => EhrRecord::$body(read(fields)?), )*
                };
                record.set_id(id.to_owned());
                Ok(record)
            }

            /// Returns the known fields by name, without the identifier.
            pub fn fields(&self) -> Map<String, Value> {
                let fields = match self {
                    $( EhrRecord::$body(record) => serde_json::to_value(record), )*
                };
                let Ok(Value::Object(mut fields)) = fields else { return Map::new() };
                fields.remove("id");
                drop_unknown(&mut fields);
                fields
            }
        }
    };
}

for_every_record!(define);

/// An operation on the body of a resource that is known only at run time.
pub trait Visitor {
    /// The result of the operation.
    type Output;

    /// Runs the operation for a type of body.
    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self) -> Self::Output;
}

/// An operation on a record in the EHR's form.
pub trait EhrVisitor {
    /// The result of the operation.
    type Output;

    /// Runs the operation for a type of body, with the record in the EHR's form.
    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self, id: &str, shown: &T::Ehr) -> Self::Output;
}

/// The limit on a value from an EHR. A text without limit is `Short`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// An identifier in the EHR: 1 to 200 bytes without control characters.
    Id,
    /// Cut after 1,024 bytes.
    Short,
    /// Cut after 65,536 bytes.
    Long,
    /// At most 500 bytes. Never cut, because the value is compared.
    Exact,
    /// `YYYY-MM-DD`.
    Date,
    /// `HH:MM`.
    TimeOfDay,
    /// `HH:MM` or `24:00`.
    EndOfDay,
    /// Seconds since 1970, in the years 1 to 9999.
    Instant,
    /// Ignored when read: the field is only written.
    NeverRead,
    /// The range from the first number to the second, and the message for others.
    Between(i64, i64, &'static str),
}

/// Reads a body. Errors name the field but never contain its value.
pub fn read<T: DeserializeOwned>(body: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(body).map_err(|error| {
        let rule = rule(&error.inner().to_string());
        match error.path().iter().next() {
            Some(_) => format!("field {}: {rule}", error.path()),
            None => rule,
        }
    })
}

/// Returns the part of a serde message about the type, without the value.
fn rule(message: &str) -> String {
    if message.starts_with("missing field ") || message.starts_with("must ") {
        return message.to_owned();
    }
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("must be {expected}"),
        None => "is not valid".to_owned(),
    }
}

/// Removes fields that are null, in parts of a record too.
fn drop_unknown(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    fields.values_mut().filter_map(Value::as_object_mut).for_each(drop_unknown);
    let lists = fields.values_mut().filter_map(Value::as_array_mut);
    lists.flatten().filter_map(Value::as_object_mut).for_each(drop_unknown);
}

/// Returns the name of a write in the contract, or `None` if the contract has no such write.
pub fn write_kind(resource: Resource, operation: Operation) -> Option<&'static str> {
    rules(resource).writes.iter().find(|(known, _)| *known == operation).map(|(_, kind)| *kind)
}

/// Returns all writes of records, with their names in the contract. The writes that create patients and appointments
/// are separate.
pub fn all_writes() -> impl Iterator<Item = ((Resource, Operation), &'static str)> {
    let rules = RESOURCES.iter().map(|resource| rules(*resource));
    rules.flat_map(|rules| rules.writes.iter().map(|(operation, kind)| ((rules.resource, *operation), *kind)))
}

pub fn patient_of(body: &impl Body) -> Option<u32> {
    body.terms().iter().find_map(|term| match (term.field, &term.value) {
        (Field::Patient, crate::index::Value::Number(id)) => u32::try_from(*id).ok(),
        _ => None,
    })
}

impl DocumentKind {
    /// Returns the byte in keys. Stored, so never reused or changed.
    pub const fn byte(self) -> u8 {
        match self {
            DocumentKind::Write => 7,
            DocumentKind::Description => 8,
            DocumentKind::SetUp => 9,
            DocumentKind::LastSync => 10,
            DocumentKind::ReportedSyncStatus => 11,
            DocumentKind::LastTurn => 12,
            DocumentKind::FailedWrite => 13,
            DocumentKind::EhrSite => 14,
            DocumentKind::Of(resource) => rules(resource).tag,
        }
    }
}

/// Returns the institution, data source or location that a resource's records belong to.
pub fn scope_of(resource: Resource, institution: u32, source: Option<u32>, location: u32) -> u32 {
    rules(resource).scope.number(institution, source, location)
}
