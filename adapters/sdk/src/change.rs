//! What a change of a patient is about: only that is written, since staff may have changed the rest.

use serde_json::{Map, Value};

use crate::{PatientChange, records::Patient};

impl PatientChange {
    /// The patient to write, made of the one the EHR has now.
    pub fn onto(&self, held: Patient) -> Patient {
        let Some(before) = &self.before else { return self.patient.clone() };
        let object = |patient: &Patient| match serde_json::to_value(patient) {
            Ok(Value::Object(fields)) => fields,
            _ => unreachable!("a record is an object"),
        };
        let (mut held, before) = (object(&held), object(before));
        held.extend(object(&self.patient).into_iter().filter(|(name, value)| before.get(name) != Some(value)));
        serde_json::from_value(Value::Object(held)).expect("fields of a patient make a patient")
    }

    /// The fields of an EHR's form that are to be written: null where the form has nothing any more.
    pub fn fields(&self, form: impl Fn(&Patient) -> Map<String, Value>) -> Map<String, Value> {
        let mut fields = form(&self.patient);
        for (name, value) in self.before.iter().flat_map(form) {
            if fields.get(&name) == Some(&value) {
                fields.remove(&name);
            } else {
                fields.entry(name).or_insert(Value::Null);
            }
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patient(email: Option<&str>, phone: &str) -> Patient {
        Patient { email: email.map(str::to_owned), cell_phone: Some(phone.to_owned()), ..Patient::default() }
    }

    #[test]
    fn what_staff_changed_meanwhile_stays() {
        let before = Some(patient(Some("old@mail.example"), "1"));
        let change = PatientChange { patient: patient(None, "1"), before };
        assert_eq!(change.onto(patient(Some("old@mail.example"), "2")), patient(None, "2"));
        let all = PatientChange { before: None, ..change };
        assert_eq!(all.onto(patient(Some("old@mail.example"), "2")), patient(None, "1"));
    }

    #[test]
    fn a_form_has_what_is_changed() {
        let form = |patient: &Patient| {
            let filled = [("mail", &patient.email), ("phone", &patient.cell_phone)].into_iter();
            filled.filter_map(|(name, value)| Some((name.to_owned(), Value::from(value.clone()?)))).collect()
        };
        let before = Some(patient(Some("old@mail.example"), "1"));
        let change = PatientChange { patient: patient(None, "1"), before };
        assert_eq!(change.fields(form), Map::from_iter([("mail".to_owned(), Value::Null)]));
        assert!(PatientChange { patient: patient(Some("old@mail.example"), "1"), ..change }.fields(form).is_empty());
    }
}
