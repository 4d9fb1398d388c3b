//! PATCH /patients/{id} (specification 4.4)

use chrono::NaiveDate;
use engine::{
    records::{Patient, PatientAddress},
    saving::{PatientChange, Saving},
};
use location::zone::Date;

use super::create::GENDERS;
use crate::{
    body::Fields,
    bounds::{MAX_NAME, MAX_TEXT},
    kinds::{Kind, born, date, email, filled, id, name_of, object, phone, ssn, text},
    resources::Answer,
    scope::Call,
    views::people::PatientDetailed,
};

const MAX_EXTENSION: usize = 20;

pub async fn update(mut call: Call) -> Answer {
    let id = call.path_id(id())?;
    let (place, change) = call.in_place(|input| {
        let patient = input.body.required("patient", object());
        let change = read(&mut input.body, input.today);
        patient.map(|()| change)
    })?;
    let saved = call.save::<Patient>(&place, Saving::PatientChange { id, change: Box::new(change) }).await?;
    call.audit("update", "patient", id.into());
    Ok(call.show(PatientDetailed::of(&saved.record, call.api.directory.adapter(&place.location))))
}

fn read(b: &mut Fields, today: Date) -> PatientChange {
    PatientChange {
        first_name: b.optional("patient.first_name", filled(text(MAX_NAME))),
        middle_name: b.optional("patient.middle_name", text(MAX_NAME)),
        last_name: b.optional("patient.last_name", filled(text(MAX_NAME))),
        email: b.optional("patient.email", filled(email())),
        date_of_birth: b.optional("patient.date_of_birth", born(any_date(), today)).map(|day| day.to_string()),
        gender: b.optional("patient.gender", name_of(GENDERS)).map(str::to_owned),
        // Fields of phone numbers cannot be blanked, by null neither.
        cell_phone: b.kept("patient.cell_phone_number", filled(phone())),
        home_phone: b.kept("patient.home_phone_number", filled(phone())),
        work_phone: b.kept("patient.work_phone_number", filled(phone())),
        work_phone_extension: b.kept("patient.work_phone_extension", filled(text(MAX_EXTENSION))),
        ssn: b.optional("patient.ssn", filled(ssn())),
        address: address(b),
    }
}

fn address(b: &mut Fields) -> Option<PatientAddress> {
    let names = ["line_1", "line_2", "city", "region", "postal_code"];
    b.optional("patient.address", object());
    let [line_1, line_2, city, region, postal_code] =
        names.map(|name| b.optional(&format!("patient.address.{name}"), text(MAX_TEXT)));
    let address = PatientAddress { line_1, line_2, city, region, postal_code, country: None };
    (address != PatientAddress::default()).then_some(address)
}

/// The ways people write a date besides the recommended one: month before day, as in the countries these systems are made for.
const DATES: &[&str] =
    &["%Y/%m/%d", "%Y%m%d", "%m/%d/%Y", "%m-%d-%Y", "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y"];

/// A date that can be parsed, in its one form.
fn any_date() -> Kind<Date> {
    // A schema cannot say all that is understood: it promises what is recommended.
    Kind::of_text(
        || date().shape().schema,
        "1980-05-06",
        |given| {
            // Of a date-time the day counts.
            let day = given.split_once('T').map_or(given, |(day, _)| day);
            let parsed = DATES.iter().find_map(|format| NaiveDate::parse_from_str(day, format).ok());
            let day = parsed.map_or_else(|| day.to_owned(), |day| day.format("%Y-%m-%d").to_string());
            date().text(&day)
        },
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dates_are_read_however_they_are_written() {
        for given in [
            "1980-05-06",
            "1980/05/06",
            "05/06/1980",
            "5/6/1980",
            "May 6, 1980",
            "6 May 1980",
            "19800506",
            "1980-05-06T00:00:00Z",
        ] {
            assert_eq!(any_date().text(given).unwrap().to_string(), "1980-05-06", "{given}");
        }
        for given in ["31/12/1980", "yesterday", "1980-02-30", "80-05-06", ""] {
            assert!(any_date().text(given).is_err(), "{given}");
        }
    }
}
