//! Patients for their own endpoints, with optional related records.

use super::{
    clinical::ProcedureView,
    communications::PatientAlertView,
    insurance::IndividualCoverageView,
    ledger::{AdjustmentView, ChargeView, PaymentView},
    people::{PatientAccount, PatientBasic, PersonView, cell_phone, preferred_phone},
};
use crate::prelude::*;

/// A patient in a list.
#[view(of = Patient, args(adapter: Option<&'a str>))]
pub struct PatientListItem<'a> {
    #[view(flatten = PatientBasic::from_record(entry, adapter))]
    patient: PatientBasic<'a>,
    #[view(with = PrivacyAuthorization::default())]
    hipaa: PrivacyAuthorization,
}

/// The patient's privacy authorizations. Always null: no health record system provides them.
#[view]
#[derive(Default)]
pub(crate) struct PrivacyAuthorization {
    /// `true` if the authorization `authorization` was given. Always null: no health record system provides it.
    authorization: Option<bool>,
    /// Date of the authorization `authorization`, `YYYY-MM-DD`. Always null: no health record system provides it.
    authorization_date: Option<String>,
    /// `true` if the authorization `privacy` was given. Always null: no health record system provides it.
    privacy: Option<bool>,
    /// Date of the authorization `privacy`, `YYYY-MM-DD`. Always null: no health record system provides it.
    privacy_date: Option<String>,
    /// `true` if the authorization `consent` was given. Always null: no health record system provides it.
    consent: Option<bool>,
    /// Date of the authorization `consent`, `YYYY-MM-DD`. Always null: no health record system provides it.
    consent_date: Option<String>,
}

/// The postal address of a patient.
#[view(value = Address)]
pub struct PatientAddressView<'a> {
    /// Street and number; null if unknown.
    #[view(from = line1)]
    line_1: Option<&'a str>,
    /// Second line of the street address; null if unknown.
    #[view(from = line2)]
    line_2: Option<&'a str>,
    /// Postal code; null if unknown.
    postal_code: Option<&'a str>,
    /// City; null if unknown.
    city: Option<&'a str>,
    /// State or region; null if unknown.
    region: Option<&'a str>,
}

/// A patient with the included records.
#[view(of = Patient, args(adapter: Option<&'a str>))]
pub struct PatientDetail<'a> {
    #[view(flatten = PatientBasic::from_record(entry, adapter))]
    patient: PatientBasic<'a>,
    #[view(with = PrivacyAuthorization::default())]
    hipaa: PrivacyAuthorization,
    #[view(flatten = PatientIncludes::default())]
    pub along: PatientIncludes<'a>,
    /// The postal address; null if unknown. Only with `include[]=address`.
    pub address: Included<PatientAddressView<'a>>,
}

/// The records that can be included with a patient.
#[view]
#[derive(Default)]
pub struct PatientIncludes<'a> {
    /// Patients whose guarantor is this patient. Only with `include[]=children`.
    pub children: IncludedList<PersonView<'a>>,
    /// The person responsible for the account; null if there is none. Only with `include[]=guarantor`.
    pub guarantor: Included<PersonView<'a>>,
    /// The primary provider; null if there is none. Only with `include[]=provider`.
    pub provider: Included<PersonView<'a>>,
    /// The last appointment that has started, without missed and cancelled ones; null if there is none. Only with
    /// `include[]=last_visited_appointment`.
    pub last_visited_appointment: Included<AppointmentBasic>,
    /// Appointments that have not started, without cancelled ones, ordered by time. Only with
    /// `include[]=upcoming_appts`.
    pub upcoming_appts: IncludedList<AppointmentBasic>,
    /// Planned and performed procedures of the patient. Only with `include[]=procedures`.
    pub procedures: IncludedList<ProcedureView<'a>>,
    /// The patient's insurance coverages, with their plans. Only with `include[]=insurance_coverages`.
    pub insurance_coverages: IncludedList<IndividualCoverageView<'a>>,
    /// Adjustments on the patient's ledger. Only with `include[]=adjustments` and the grant `financial`.
    pub adjustments: IncludedList<AdjustmentView<'a>>,
    /// Charges on the patient's ledger. Only with `include[]=charges` and the grant `financial`.
    pub charges: IncludedList<ChargeView<'a>>,
    /// Payments on the patient's ledger. Only with `include[]=payments` and the grant `financial`.
    pub payments: IncludedList<PaymentView<'a>>,
    /// Alerts that are not disabled. Only with `include[]=patient_alerts`.
    pub patient_alerts: IncludedList<PatientAlertView<'a>>,
    /// Past and future appointments, without cancelled ones, ordered by time. Only with `include[]=appointments`.
    pub appointments: IncludedList<AppointmentBasic>,
}

/// A patient in the shape of v3.1.0.
#[view(of = Patient, named = "patient")]
pub struct PatientProfile<'a> {
    id: u32,
    email: Option<&'a str>,
    first_name: &'a str,
    middle_name: Option<&'a str>,
    last_name: &'a str,
    /// Full name.
    #[view(with = entry.name())]
    name: String,
    created_at: At,
    updated_at: At,
    institution_id: u32,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    inactive: bool,
    last_sync_time: Option<At>,
    #[view(from = home_phone)]
    home_phone_number: Option<&'a str>,
    #[view(from = work_phone)]
    work_phone_number: Option<&'a str>,
    /// Extension of the work phone number; null if unknown.
    work_phone_extension: Option<&'a str>,
    /// Cell phone number, or the only number if the health record system stores one number without a type; null if
    /// unknown.
    #[view(with = cell_phone(entry))]
    cell_phone_number: Option<&'a str>,
    /// The first available number, in this order: the number without a type, the cell, home and work number. Null if
    /// there is none.
    #[view(with = preferred_phone(entry))]
    preferred_phone_number: Option<&'a str>,
    #[view(flatten = PatientAccount::from_record(entry))]
    account: PatientAccount<'a>,
    /// Id of the primary provider; null if the patient has none.
    provider_id: Option<u32>,
    gender: Option<&'a str>,
    new_patient: bool,
    non_patient: bool,
    date_of_birth: Option<&'a str>,
    /// Notes on premedication; null if there are none.
    premedication: Option<&'a str>,
    /// The postal address; null if unknown.
    #[view(with = entry.address.as_ref().map(PatientAddressView::from_value))]
    address: Option<PatientAddressView<'a>>,
    #[view(with = PrivacyAuthorization::default())]
    hipaa: PrivacyAuthorization,
    /// `true` if the patient unsubscribed from text messages in the health record system.
    #[view(from = unsubscribed_sms)]
    ehr_unsubscribe_sms: bool,
    /// `true` if the patient unsubscribed from e-mail in the health record system.
    #[view(from = unsubscribed_email)]
    ehr_unsubscribe_emails: bool,
    preferred_locale: Option<()>,
    location_ids: &'a [u32],
    #[view(flatten = PatientIncludes::default())]
    pub along: PatientIncludes<'a>,
    write: WriteState<'a>,
}

/// A patient, as detailed in v3.1.0 and in an older form in earlier versions.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PatientByVersion<'a> {
    /// In v2.2.2 and v3.0.0.
    #[schemars(extend("x-versions" = ["v2.2.2", "v3.0.0"]))]
    Detail(Box<PatientDetail<'a>>),
    /// In v3.1.0.
    #[schemars(extend("x-versions" = ["v3.1.0"]))]
    Detailed(Box<PatientProfile<'a>>),
}

/// A patient in a list, as detailed in v3.1.0 and in an older form in earlier versions.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PatientListItemByVersion<'a> {
    /// In v2.2.2 and v3.0.0.
    #[schemars(extend("x-versions" = ["v2.2.2", "v3.0.0"]))]
    Listed(Box<PatientListItem<'a>>),
    /// In v3.1.0.
    #[schemars(extend("x-versions" = ["v3.1.0"]))]
    Detailed(Box<PatientProfile<'a>>),
}

/// An appointment of a patient, inside the patient.
#[view(of = Appointment, named = "appointment", args(provider_name: Option<String>))]
pub struct AppointmentBasic {
    id: u64,
    /// Id of the provider; null if the appointment has none.
    #[view(with = entry.placement.provider.map(|it| it.0))]
    provider_id: Option<u32>,
    /// Display name of the provider, or the full name if there is none; null if the appointment has no provider.
    #[view(with = provider_name)]
    provider_name: Option<String>,
    #[view(with = At(entry.placement.span.start))]
    start_time: At,
    #[view(with = At(entry.placement.span.end))]
    end_time: At,
    /// Id of the location of the appointment.
    #[view(with = entry.location())]
    location_id: u32,
    confirmed: bool,
}

/// The response of `POST /patients`: the new or matching patient.
#[derive(Serialize, JsonSchema)]
pub struct PatientCreated<'a> {
    /// The patient.
    pub user: PatientBasic<'a>,
}

impl<'a> PatientDetail<'a> {
    pub fn with(self, along: PatientIncludes<'a>, address: Included<PatientAddressView<'a>>) -> PatientDetail<'a> {
        PatientDetail { along, address, ..self }
    }
}

impl<'a> PatientProfile<'a> {
    pub fn with(self, along: PatientIncludes<'a>) -> PatientProfile<'a> {
        PatientProfile { along, ..self }
    }
}
