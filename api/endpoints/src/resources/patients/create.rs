//! POST /patients

use engine::commands::{CreatePatient, PatientChange};
use framework::values::kinds::ssn;

use crate::{prelude::*, views::persons::PatientBasic};

/// The response of `POST /patients`: the new or matching patient.
#[derive(Serialize, JsonSchema)]
pub struct PatientCreated<'a> {
    /// The patient.
    pub user: PatientBasic<'a>,
}

pub struct NewPatient(CreatePatient);

impl FromInput for NewPatient {
    fn from_input(input: &mut Input) -> NewPatient {
        let b = &mut input.body;
        b.container("provider", "The provider.");
        b.container("patient", "The patient.");
        b.container("patient.bio", "Contact and personal data.");
        let provider_id = b.required("provider.provider_id", provider());
        let first_name = b.required("patient.first_name", given_name());
        let last_name = b.required("patient.last_name", family_name());
        let email = b.required("patient.email", email());
        let date_of_birth = b.required("patient.bio.date_of_birth", birth_date(input.today));
        let phone_number = b.required("patient.bio.phone_number", phone());
        let home_phone = b.optional_nonempty("patient.bio.home_phone_number", phone().about("Home phone number."));
        let cell_phone = b.optional_nonempty("patient.bio.cell_phone_number", phone().about("Cell phone number."));
        let work_phone = b.optional_nonempty("patient.bio.work_phone_number", phone().about("Work phone number."));
        let gender = b.optional_nonempty("patient.bio.gender", gender()).map(str::to_owned);
        let ssn = b.optional_nonempty("patient.bio.ssn", ssn());
        let address = address(b);
        let more = more(b);
        let return_existing = b.defaulted(
            "return_existing_if_match",
            boolean().about("`true` to return the existing patient if one matches."),
            false,
        );
        let details = PatientDetails {
            first_name,
            middle_name: None,
            last_name,
            date_of_birth: Some(date_of_birth),
            phone_number: Some(phone_number),
            email: Some(email),
            gender,
            address,
        };
        let change = PatientChange { home_phone, cell_phone, work_phone, ssn, ..PatientChange::default() };
        NewPatient(CreatePatient { provider_id, details, change, more, return_existing })
    }
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, NewPatient(new)): AtLocation<NewPatient>,
) -> Answer<Created<PatientCreated<'static>>> {
    let saved = call.save(&location, new).await?;
    call.audit(if saved.existing { "read" } else { "create" }, "patient", saved.record.id.into());
    let adapter = call.directory.adapter_of_source(saved.record.source_id);
    let view = PatientCreated { user: PatientBasic::from_record(&saved.record, adapter) };
    Ok(if saved.existing { call.show_as(200, view) } else { call.created(saved.replay, view) })
}

fn address(b: &mut Fields) -> Option<Address> {
    let parts = [
        ("address_line_1", "Street and number."),
        ("street_address", "Street and number."),
        ("address_line_2", "Second line of the street address."),
        ("city", "City."),
        ("state", "State, as a two-letter code."),
        ("zip_code", "Postal code."),
    ];
    let [line_1, street, line_2, city, region, postal_code] =
        parts.map(|(name, about)| b.optional_nonempty(&format!("patient.bio.{name}"), text(MAX_TEXT).about(about)));
    let address = Address { line1: line_1.or(street), line2: line_2, city, region, postal_code, country: None };
    (address != Address::default()).then_some(address)
}

/// Reads the fields that patient records do not have; they are sent to the EHR.
fn more(b: &mut Fields) -> Vec<(String, String)> {
    let texts = [
        ("custom_contact_number", "Another phone number."),
        ("insurance_name", "Name of the insurance, as stated by the patient."),
        ("race", "Race, as stated by the patient."),
    ];
    let texts = texts
        .map(|(name, about)| (name, b.optional_nonempty(&format!("patient.bio.{name}"), text(MAX_TEXT).about(about))));
    let numbers = [("weight", "Weight."), ("height", "Height.")].map(|(name, about)| {
        let number = b.optional(&format!("patient.bio.{name}"), integer(0..=10_000).about(about));
        (name, number.map(|number| number.to_string()))
    });
    let given = texts.into_iter().chain(numbers);
    given.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
