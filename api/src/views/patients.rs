//! Patients as their own endpoints show them, with what may come along.

use engine::records::{Appointment, Patient, record::Record, values::Address};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    clinical::ProcedureView,
    insurance::IndividualCoverageView,
    ledger::{AdjustmentView, ChargeView, PaymentView},
    parts::{Included, WriteState, foreign_id_type},
    people::{PatientBasic, PersonView, cell_phone, preferred_phone},
    talk::PatientAlertView,
};
use crate::values::times::At;

/// A patient in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientListItem<'a> {
    #[serde(flatten)]
    patient: PatientBasic<'a>,
    hipaa: PrivacyAuthorization,
}

/// The patient's privacy authorizations. Always null: no health record system provides them.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct PrivacyAuthorization {
    authorization: Option<bool>,
    #[schemars(extend("format" = "date"))]
    authorization_date: Option<String>,
    privacy: Option<bool>,
    #[schemars(extend("format" = "date"))]
    privacy_date: Option<String>,
    consent: Option<bool>,
    #[schemars(extend("format" = "date"))]
    consent_date: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientAddressView<'a> {
    line_1: Option<&'a str>,
    line_2: Option<&'a str>,
    postal_code: Option<&'a str>,
    city: Option<&'a str>,
    /// State or region.
    region: Option<&'a str>,
}

/// One patient with the included records.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientDetail<'a> {
    #[serde(flatten)]
    patient: PatientBasic<'a>,
    hipaa: PrivacyAuthorization,
    #[serde(flatten)]
    pub along: ComesAlong<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Included<PatientAddressView<'a>>,
}

/// What may come along with a patient.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct ComesAlong<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<Vec<PersonView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Included<PersonView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Included<PersonView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_visited_appointment: Included<AppointmentBasic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upcoming_appts: Option<Vec<AppointmentBasic>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedures: Option<Vec<ProcedureView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insurance_coverages: Option<Vec<IndividualCoverageView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjustments: Option<Vec<AdjustmentView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charges: Option<Vec<ChargeView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payments: Option<Vec<PaymentView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient_alerts: Option<Vec<PatientAlertView<'a>>>,
    /// Past and future appointments, ordered by time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appointments: Option<Vec<AppointmentBasic>>,
}

/// A patient as v3.1.0 shows them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientProfile<'a> {
    id: u32,
    email: Option<&'a str>,
    first_name: &'a str,
    middle_name: Option<&'a str>,
    last_name: &'a str,
    /// Full name.
    name: String,
    created_at: At,
    updated_at: At,
    institution_id: u32,
    /// Identifier in the health record system, opaque; null for a record that exists only here.
    foreign_id: Option<&'a str>,
    /// The health record system; `nex` for a record that exists only here.
    foreign_id_type: &'a str,
    inactive: bool,
    last_sync_time: Option<At>,
    home_phone_number: Option<&'a str>,
    work_phone_number: Option<&'a str>,
    work_phone_extension: Option<&'a str>,
    /// The cell phone number, or the only number if the health record system stores one number without a type.
    cell_phone_number: Option<&'a str>,
    /// The first available of: the number without a type, the cell, home and work number.
    preferred_phone_number: Option<&'a str>,
    /// The responsible party; null where the health record system names none.
    pub guarantor_id: Option<u32>,
    /// Some systems call it account type.
    billing_type: Option<&'a str>,
    chart_id: Option<&'a str>,
    /// ISO 639-1 code.
    preferred_language: Option<&'a str>,
    /// The primary provider.
    provider_id: Option<u32>,
    gender: Option<&'a str>,
    new_patient: bool,
    non_patient: bool,
    #[schemars(extend("format" = "date"))]
    date_of_birth: Option<&'a str>,
    /// Notes.
    premedication: Option<&'a str>,
    address: Option<PatientAddressView<'a>>,
    hipaa: PrivacyAuthorization,
    ehr_unsubscribe_sms: bool,
    ehr_unsubscribe_emails: bool,
    /// Always null: no health record system provides it.
    preferred_locale: Option<()>,
    /// Locations the patient was created or seen at.
    location_ids: &'a [u32],
    #[serde(flatten)]
    pub along: ComesAlong<'a>,
    #[serde(flatten)]
    write: WriteState<'a>,
}

/// One patient: the second form in v3.1.0, the first in earlier versions.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PatientByVersion<'a> {
    Detail(Box<PatientDetail<'a>>),
    Detailed(Box<PatientProfile<'a>>),
}

/// A patient in a list: the second form in v3.1.0, the first in earlier versions.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PatientListItemByVersion<'a> {
    Listed(Box<PatientListItem<'a>>),
    Detailed(Box<PatientProfile<'a>>),
}

/// An appointment inside a patient.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppointmentBasic {
    id: u64,
    provider_id: Option<u32>,
    provider_name: Option<String>,
    start_time: At,
    end_time: At,
    location_id: u32,
    confirmed: bool,
}

/// The answer of `POST /patients`: the new or matching patient.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientCreated<'a> {
    pub user: PatientBasic<'a>,
}

impl<'a> PatientListItem<'a> {
    pub(crate) fn of(record: &'a Record<Patient>, adapter: Option<&'a str>) -> PatientListItem<'a> {
        PatientListItem { patient: PatientBasic::of(record, adapter), hipaa: PrivacyAuthorization::default() }
    }
}

impl<'a> PatientAddressView<'a> {
    pub(crate) fn of(record: &'a Address) -> PatientAddressView<'a> {
        PatientAddressView {
            line_1: record.line1.as_deref(),
            line_2: record.line2.as_deref(),
            postal_code: record.postal_code.as_deref(),
            city: record.city.as_deref(),
            region: record.region.as_deref(),
        }
    }
}

impl<'a> PatientDetail<'a> {
    pub(crate) fn of(record: &'a Record<Patient>, adapter: Option<&'a str>) -> PatientDetail<'a> {
        PatientDetail {
            patient: PatientBasic::of(record, adapter),
            hipaa: PrivacyAuthorization::default(),
            along: ComesAlong::default(),
            address: None,
        }
    }

    pub(crate) fn with(self, along: ComesAlong<'a>, address: Included<PatientAddressView<'a>>) -> PatientDetail<'a> {
        PatientDetail { along, address, ..self }
    }
}

impl<'a> PatientProfile<'a> {
    pub(crate) fn of(record: &'a Record<Patient>, adapter: Option<&'a str>) -> PatientProfile<'a> {
        PatientProfile {
            id: record.id,
            email: record.email.as_deref(),
            first_name: &record.first_name,
            middle_name: record.middle_name.as_deref(),
            last_name: &record.last_name,
            name: record.name(),
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            institution_id: record.institution_id,
            foreign_id: record.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(record.foreign_id.as_deref(), adapter),
            inactive: record.inactive,
            last_sync_time: record.last_sync_time.map(At),
            home_phone_number: record.home_phone.as_deref(),
            work_phone_number: record.work_phone.as_deref(),
            work_phone_extension: record.work_phone_extension.as_deref(),
            cell_phone_number: cell_phone(record),
            preferred_phone_number: preferred_phone(record),
            guarantor_id: record.guarantor_id,
            billing_type: record.billing_type.as_deref(),
            chart_id: record.chart_id.as_deref(),
            preferred_language: record.preferred_language.as_deref(),
            provider_id: record.provider_id,
            gender: record.gender.as_deref(),
            new_patient: record.new_patient,
            non_patient: record.non_patient,
            date_of_birth: record.date_of_birth.as_deref(),
            premedication: record.premedication.as_deref(),
            address: record.address.as_ref().map(PatientAddressView::of),
            hipaa: PrivacyAuthorization::default(),
            ehr_unsubscribe_sms: record.unsubscribed_sms,
            ehr_unsubscribe_emails: record.unsubscribed_email,
            preferred_locale: None,
            location_ids: &record.location_ids,
            along: ComesAlong::default(),
            write: WriteState::of(record.write.as_ref()),
        }
    }

    pub(crate) fn with(self, along: ComesAlong<'a>) -> PatientProfile<'a> {
        PatientProfile { along, ..self }
    }
}

impl AppointmentBasic {
    pub(crate) fn of(record: &Record<Appointment>, provider_name: Option<String>) -> AppointmentBasic {
        AppointmentBasic {
            id: record.id,
            provider_id: record.placement.provider.map(|it| it.0),
            provider_name,
            start_time: At(record.placement.span.start),
            end_time: At(record.placement.span.end),
            location_id: record.location(),
            confirmed: record.confirmed,
        }
    }
}
