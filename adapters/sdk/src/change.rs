//! Changes of patients and appointments. Only the changed fields of a patient are written, because staff may have
//! edited the others. A change of an appointment is compared with the EHR's state to detect that it is already written.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    AppointmentChange, PatientChange, PatientField, json,
    records::{Address, Appointment, Patient},
};

impl PatientChange {
    /// Returns the patient to write: `held`, the EHR's current state, with this change merged into it. The lines of an
    /// address are merged separately, because staff may have changed another line.
    pub fn onto(&self, held: Patient) -> Patient {
        let Some(before) = &self.before else { return self.patient.clone() };
        let value = |patient: &Patient| serde_json::to_value(patient).expect("a record is an object");
        let mut written = value(&held);
        overlay(&mut written, &value(before), &value(&self.patient));
        serde_json::from_value(written).expect("fields of a patient make a patient")
    }

    /// Returns the fields of an EHR's form to write, with null for cleared fields. An object such as an address
    /// contains only its changed fields, as in a JSON merge patch. Use [`onto`](Self::onto) for an EHR that replaces
    /// objects as a whole.
    pub fn fields(&self, form: impl Fn(&Patient) -> Map<String, Value>) -> Map<String, Value> {
        let wanted = form(&self.patient);
        self.before.as_ref().map_or_else(|| wanted.clone(), |before| differing(&form(before), &wanted))
    }
}

impl Patient {
    /// Replaces blank texts by `None`: both clear the field. The id and the names remain texts.
    ///
    /// ```
    /// use adapter_sdk::records::{Address, Patient};
    ///
    /// let blank = |text: &str| Some(text.to_owned());
    /// let address = Some(Address { city: blank(""), ..Address::default() });
    /// let patient = Patient { last_name: "Ash".into(), email: blank(" "), address, ..Patient::default() };
    /// assert_eq!(patient.known(), Patient { email: None, address: None, ..patient });
    /// ```
    pub fn known(&self) -> Patient {
        let mut value = serde_json::to_value(self).expect("a record is an object");
        json::forget_blanks(&mut value);
        for (name, text) in [("id", &self.id), ("first_name", &self.first_name), ("last_name", &self.last_name)] {
            value[name] = text.as_str().into();
        }
        let known: Patient = serde_json::from_value(value).expect("fields of a patient make a patient");
        Patient { address: known.address.and_then(Address::known), ..known }
    }
}

/// Comparisons with the EHR's state. A change of an appointment carries no write key, so it counts as written if the
/// appointment already has the wanted state.
impl AppointmentChange {
    /// Returns `true` if the appointment is active and has the wanted time, and the wanted operatory and provider if
    /// named.
    pub fn is_scheduled(&self, held: &Appointment) -> bool {
        let wanted = &self.appointment;
        held.start == wanted.start
            && held.end == wanted.end
            && (wanted.operatory.is_none() || wanted.operatory == held.operatory)
            && (wanted.provider.is_none() || wanted.provider == held.provider)
            && !AppointmentChange::is_inactive(held)
    }

    /// Returns `true` if the patient has checked in, at the wanted time if one is named.
    pub fn has_arrived(&self, held: &Appointment) -> bool {
        held.checkin_at.is_some_and(|at| self.appointment.checkin_at.is_none_or(|wanted| wanted == at))
    }

    /// Returns `true` if the appointment no longer occupies its time.
    pub fn is_inactive(held: &Appointment) -> bool {
        held.cancelled || held.patient_missed
    }
}

/// Returns the names of the patient's fields that the EHR does not store, such as `work-phone-extension`. `new_patient`
/// of a patient being created does not count.
pub(crate) fn lost(patient: &Patient, unkept: &[PatientField]) -> Vec<String> {
    let mut given = json::fields(patient).unwrap_or_default();
    if patient.id.is_empty() {
        given.remove("new_patient");
    }
    let name = |field: &PatientField| serde_json::to_value(field).ok()?.as_str().map(str::to_owned);
    let lost =
        unkept.iter().filter_map(name).filter(|name| given.get(name).is_some_and(|value| *value != Value::Bool(false)));
    lost.map(|name| name.replace('_', "-")).collect()
}

/// Returns the differences between two objects on every level, with null for removed fields.
fn differing(before: &Map<String, Value>, wanted: &Map<String, Value>) -> Map<String, Value> {
    let names: BTreeSet<&String> = before.keys().chain(wanted.keys()).collect();
    let changed = names.into_iter().filter_map(|name| match (before.get(name), wanted.get(name)) {
        (was, is) if was == is => None,
        (Some(Value::Object(was)), Some(Value::Object(is))) => Some((name.clone(), differing(was, is).into())),
        (_, is) => Some((name.clone(), is.cloned().unwrap_or(Value::Null))),
    });
    changed.collect()
}

/// Applies the differences between `before` and `wanted` to `held` on every level. An object without any remaining
/// field becomes null.
fn overlay(held: &mut Value, before: &Value, wanted: &Value) {
    if before == wanted {
        return;
    }
    let parts = [before, wanted].into_iter().filter_map(Value::as_object);
    let names: BTreeSet<&String> = parts.flat_map(Map::keys).collect();
    if names.is_empty() {
        *held = wanted.clone();
        return;
    }
    if !held.is_object() {
        *held = Map::new().into();
    }
    for name in names {
        overlay(&mut held[name], &before[name], &wanted[name]);
    }
    if held.as_object().is_some_and(|fields| fields.values().all(Value::is_null)) {
        *held = Value::Null;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patient(email: Option<&str>, phone: &str) -> Patient {
        Patient { email: email.map(str::to_owned), cell_phone: Some(phone.to_owned()), ..Patient::default() }
    }

    #[test]
    fn concurrent_changes_by_staff_stay() {
        let before = Some(patient(Some("old@mail.example"), "1"));
        let change = PatientChange { patient: patient(None, "1"), before };
        assert_eq!(change.onto(patient(Some("old@mail.example"), "2")), patient(None, "2"));
        let all = PatientChange { before: None, ..change };
        assert_eq!(all.onto(patient(Some("old@mail.example"), "2")), patient(None, "1"));
    }

    fn living(line1: &str, line2: Option<&str>, city: Option<&str>) -> Patient {
        let text = |text: &str| text.to_owned();
        let address =
            Address { line1: Some(text(line1)), line2: line2.map(text), city: city.map(text), ..Address::default() };
        Patient { address: Some(address), ..Patient::default() }
    }

    #[test]
    fn concurrent_changes_of_address_lines_stay() {
        let before = living("1 Elm St", None, Some("Chicago"));
        let change = PatientChange { patient: living("1 Elm St", None, Some("Peoria")), before: Some(before.clone()) };
        let by_staff = living("1 Elm St", Some("Apt 4"), Some("Chicago"));
        assert_eq!(change.onto(by_staff.clone()), living("1 Elm St", Some("Apt 4"), Some("Peoria")));
        // Staff removed the address; the client's line is still written.
        let line = Address { city: Some("Peoria".to_owned()), ..Address::default() };
        assert_eq!(change.onto(Patient::default()).address, Some(line));
        let cleared = PatientChange { patient: Patient::default(), before: Some(before.clone()) };
        let theirs = Address { line2: Some("Apt 4".to_owned()), ..Address::default() };
        assert_eq!(cleared.onto(by_staff).address, Some(theirs));
        assert_eq!(cleared.onto(before).address, None);
    }

    #[test]
    fn a_form_has_the_changed_lines_of_an_address() {
        let form = |patient: &Patient| {
            let lines = |a: &Address| json!({"street": a.line1, "town": a.city});
            Map::from_iter(patient.address.as_ref().map(|address| ("home".to_owned(), lines(address))))
        };
        let before = Some(living("1 Elm St", None, Some("Chicago")));
        let change = PatientChange { patient: living("1 Elm St", None, Some("Peoria")), before: before.clone() };
        assert_eq!(Value::from(change.fields(form)), json!({"home": {"town": "Peoria"}}));
        let gone = PatientChange { patient: Patient::default(), before };
        assert_eq!(Value::from(gone.fields(form)), json!({"home": null}));
    }

    #[test]
    fn only_given_fields_the_ehr_cannot_store_are_reported() {
        let given = Patient { ssn: Some("1".to_owned()), unsubscribed_sms: true, ..patient(None, "1") };
        let unkept = [PatientField::Ssn, PatientField::UnsubscribedSms, PatientField::NonPatient, PatientField::Extra];
        assert_eq!(lost(&given, &unkept), ["ssn", "unsubscribed-sms"]);
        assert!(lost(&Patient::default(), &unkept).is_empty());
        let new = Patient { new_patient: true, ..Patient::default() };
        assert!(lost(&new, &[PatientField::NewPatient]).is_empty(), "every created patient is new");
        let known = Patient { id: "P-1".to_owned(), ..new };
        assert_eq!(lost(&known, &[PatientField::NewPatient]), ["new-patient"]);
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

    #[test]
    fn a_change_counts_as_written_if_the_appointment_matches() {
        let held = Appointment { start: 5, end: 9, operatory: Some("1".into()), ..Appointment::default() };
        let moved = |wanted: Appointment| AppointmentChange { appointment: wanted, reason: None }.is_scheduled(&held);
        assert!(moved(held.clone()) && moved(Appointment { operatory: None, ..held.clone() }));
        assert!(!moved(Appointment { end: 8, ..held.clone() }));
        assert!(!moved(Appointment { provider: Some("2".into()), ..held.clone() }));
        let off = Appointment { patient_missed: true, ..held.clone() };
        assert!(!AppointmentChange { appointment: held.clone(), reason: None }.is_scheduled(&off));
        let came = |at: Option<i64>, wanted: Option<i64>| {
            let change = Appointment { checkin_at: wanted, ..held.clone() };
            let held = Appointment { checkin_at: at, ..held.clone() };
            AppointmentChange { appointment: change, reason: None }.has_arrived(&held)
        };
        assert!(came(Some(4), None) && came(Some(4), Some(4)) && !came(Some(4), Some(5)) && !came(None, None));
    }
}
