//! PATCH /patients/{id} (specification 4.4)

use engine::{
    commands::{ChangePatient, PatientChange},
    records::values::Address,
};
use framework::{
    access::{
        arguments::{AtLocation, FromInput, Id},
        call::ApiCall,
        input::Input,
        respond::{Answer, One},
    },
    http::fields::Fields,
    values::{
        kinds::{
            email, filled, gender, object, phone,
            shared::{family_name, given_name},
            ssn, text,
            times::birth_date,
        },
        limits::{MAX_NAME, MAX_TEXT},
    },
};
use location::zone::Date;

use crate::views::patients::PatientProfile;

const MAX_EXTENSION: usize = 20;

pub struct PatientUpdate(PatientChange);

impl FromInput for PatientUpdate {
    fn from_input(input: &mut Input) -> PatientUpdate {
        input.body.required("patient", object("The patient."));
        PatientUpdate(read(&mut input.body, input.today))
    }
}

pub async fn update(
    mut call: ApiCall,
    Id(id): Id<u32>,
    AtLocation(location, PatientUpdate(change)): AtLocation<PatientUpdate>,
) -> Answer<One<PatientProfile<'static>>> {
    let saved = call.save(&location, ChangePatient { id, change }).await?;
    call.audit("update", "patient", id.into());
    Ok(call.show(PatientProfile::from_record(&saved.record, call.directory.adapter(&location.setup))))
}

fn read(b: &mut Fields, today: Date) -> PatientChange {
    PatientChange {
        first_name: b.optional_not_null("patient.first_name", given_name()),
        middle_name: b.clearable_text("patient.middle_name", text(MAX_NAME).about("Middle name.")),
        last_name: b.optional_not_null("patient.last_name", family_name()),
        email: b.clearable_text("patient.email", filled(email())),
        date_of_birth: b.optional_not_null("patient.date_of_birth", birth_date(today)).map(|day| day.to_string()),
        gender: b.optional_not_null("patient.gender", gender()).map(str::to_owned),
        // Phone numbers cannot be cleared, not even by null.
        cell_phone: b.optional_not_null("patient.cell_phone_number", filled(phone()).about("Cell phone number.")),
        home_phone: b.optional_not_null("patient.home_phone_number", filled(phone()).about("Home phone number.")),
        work_phone: b.optional_not_null("patient.work_phone_number", filled(phone()).about("Work phone number.")),
        work_phone_extension: b.optional_not_null(
            "patient.work_phone_extension",
            filled(text(MAX_EXTENSION)).about("Extension of the work phone number."),
        ),
        ssn: b.optional_not_null("patient.ssn", filled(ssn())),
        address: address(b),
    }
}

fn address(b: &mut Fields) -> Option<Address> {
    let parts = [
        ("line_1", "Street and number."),
        ("line_2", "Second line of the street address."),
        ("city", "City."),
        ("region", "State or region."),
        ("postal_code", "Postal code."),
    ];
    // Clearing the address clears all its parts.
    let without = b.clearable("patient.address", object("The address.")) == Some(None);
    let mut part = |(name, about): (&str, &'static str)| {
        let part = b.clearable_text(&format!("patient.address.{name}"), text(MAX_TEXT).about(about));
        if without { Some(String::new()) } else { part }
    };
    let [line_1, line_2, city, region, postal_code] = parts.map(&mut part);
    let address = Address { line1: line_1, line2: line_2, city, region, postal_code, country: None };
    (address != Address::default()).then_some(address)
}
