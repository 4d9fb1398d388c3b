//! GET /patients/{id}, with the requested includes.

use super::{
    find,
    includes::{INCLUDES, PatientAddressView, PatientIncludes, Related, requested_includes},
};
use crate::{
    prelude::*,
    views::persons::{PatientAccount, PatientBasic, cell_phone, preferred_phone},
};

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

impl<'a> PatientDetail<'a> {
    pub fn with(self, along: PatientIncludes<'a>, address: Included<PatientAddressView<'a>>) -> PatientDetail<'a> {
        PatientDetail { along, address, ..self }
    }
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

impl<'a> PatientProfile<'a> {
    pub fn with(self, along: PatientIncludes<'a>) -> PatientProfile<'a> {
        PatientProfile { along, ..self }
    }
}

/// Patients have another shape in earlier versions.
impl Published for Patient {
    type View = PatientByVersion<'static>;

    fn publish(entry: &Record<Patient>, context: &ViewContext<'_>, _: &dyn RelatedRecords) -> Rendered {
        match context.version() {
            Version::V3_1_0 => to_json(&PatientProfile::render(entry, context)),
            Version::V3_0_0 | Version::V2_2_2 => to_json(&PatientDetail::render(entry, context)),
        }
    }
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

#[input]
pub struct ShowPatient {
    #[read(requested_includes(input, INCLUDES))]
    include: Vec<&'static str>,
}

pub async fn show(
    mut call: ApiCall,
    Id(id): Id<u32>,
    InTenant(tenant, ShowPatient { include }): InTenant<ShowPatient>,
) -> Answer<One<PatientByVersion<'static>>> {
    let patient = find(&call, &tenant, id)?;
    let related = Related::read(&mut call, &tenant, &[&patient], &include).await?;
    let adapter = call.directory.adapter_of_source(patient.source_id);
    let includes = related.view(&call, patient.id);
    let view = match call.version {
        Version::V3_1_0 => {
            PatientByVersion::Detailed(Box::new(PatientProfile::from_record(&patient, adapter).with(includes)))
        }
        Version::V3_0_0 | Version::V2_2_2 => {
            let address = related.address(&patient);
            PatientByVersion::Detail(Box::new(PatientDetail::from_record(&patient, adapter).with(includes, address)))
        }
    };
    Ok(call.show(view))
}
