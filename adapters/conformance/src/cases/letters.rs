//! Names in many scripts and with special characters.

use std::rc::Rc;

use records::ehr::{EhrPatient, Write};

use super::writing::met;
use crate::{ehr_under_test::EhrUnderTest, report::CaseResult, subject::Subject, writes::letters};

const NAMES: [(&str, &str); 14] = [
    ("Łucja", "Żółć-Ŵïllîăms"),
    ("Þórður", "Ægisson"),
    ("D’Angelo", "O'Neill \"Mac\" & <Sons> \\ 50%"),
    ("محمد", "الحسين"),
    ("רחל", "כהן"),
    ("秀英", "歐陽"),
    ("すずき", "ヴァレンティナ"),
    ("김", "서연"),
    ("Ольга", "Щербакова"),
    ("Αλεξάνδρα", "Παπαδοπούλου"),
    ("ठाकुर", "लक्ष्मी"),
    ("Zoe\u{308}", "combined A\u{30a}"),
    ("𝒥𝑜𝓎", "👩\u{200d}⚕\u{fe0f}"),
    ("İpek", "ẞ-Straße, a?b=c|d,e$f+g;h"),
];

pub async fn names_of_every_kind_of_letter_arrive_as_they_are<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    if !subject.writes("create-patient") {
        subject.needs(&["create-appointment"])?;
    }
    for (first, last) in NAMES {
        if subject.writes("create-patient") {
            // Unique in every run: an EHR may refuse a second patient with the same names and date of birth.
            let last_name = format!("{last} {}", letters(subject.number()));
            let named = EhrPatient { first_name: first.into(), last_name, ..subject.new_patient() };
            let write = subject.adjusted(Write::CreatePatient(EhrPatient { middle_name: None, ..named }));
            let id = subject.written(&write).await?.id;
            met(&subject, &write, &id).await?;
        }
        if subject.writes("create-appointment") {
            let mut appointment = subject.appointment();
            appointment.note = Some(format!("{last}, {first}: a?b=c|d,e$f+g;h"));
            let write = subject.adjusted(Write::CreateAppointment(appointment));
            let id = subject.written(&write).await?.id;
            met(&subject, &write, &id).await?;
        }
    }
    Ok(())
}
