//! PATCH /patients/{id} (specification 4.4)

use engine::commands::{ChangePatient, PatientChange};
use framework::values::kinds::ssn;

use super::show::PatientProfile;
use crate::prelude::*;

const MAX_EXTENSION: usize = 20;

#[input(object("patient", "The patient."), builds = PatientChange)]
pub struct PatientUpdate {
    #[body(given_name(), not_null)]
    first_name: Option<String>,
    /// Middle name.
    #[body(text(MAX_NAME), cleared)]
    middle_name: Option<String>,
    #[body(family_name(), not_null)]
    last_name: Option<String>,
    #[body(filled(email()), cleared)]
    email: Option<String>,
    #[body(birth_date(input.today).map(|day| day.to_string()), not_null)]
    date_of_birth: Option<String>,
    #[body(gender().map(str::to_owned), not_null)]
    gender: Option<String>,
    // Phone numbers cannot be cleared, not even by null.
    /// Cell phone number.
    #[body(filled(phone()), name = "patient.cell_phone_number", not_null)]
    cell_phone: Option<String>,
    /// Home phone number.
    #[body(filled(phone()), name = "patient.home_phone_number", not_null)]
    home_phone: Option<String>,
    /// Work phone number.
    #[body(filled(phone()), name = "patient.work_phone_number", not_null)]
    work_phone: Option<String>,
    /// Extension of the work phone number.
    #[body(filled(text(MAX_EXTENSION)), not_null)]
    work_phone_extension: Option<String>,
    #[body(filled(ssn()), not_null)]
    ssn: Option<String>,
    #[read(address(&mut input.body))]
    address: Option<Address>,
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
