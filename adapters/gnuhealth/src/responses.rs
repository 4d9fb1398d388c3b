//! The fields that are requested and read of the EHR's records.

use adapter_sdk::{
    json::{forget_absent, typed},
    mark,
    notes::Note,
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    conventions::{Contact, note},
    rows::{RequestedFields, rows},
    values::{Date, DateTime, Decimal, Flag},
};

pub const APPOINTMENT: &str = "gnuhealth.appointment";
pub const PATIENT: &str = "gnuhealth.patient";

rows! {
    Coded [id: i64] {
        code: Option<String>,
    }
    Named [id: i64] {
        name: Option<String>,
    }
    State [id: i64] {
        state: Option<String>,
    }
    PatientRow [id: i64] {
        active: Flag,
        primary_care_doctor: Option<i64>,
        "party." party: Person,
    }
    /// The party of a patient.
    Person [id: i64] {
        active: Flag,
        name: Option<String>,
        lastname: Option<String>,
        gender: Option<String>,
        dob: Option<Date>,
        /// The EHR's number of a person.
        "ref" puid: Option<String>,
        deceased: Flag,
        /// One language per company, and one for all companies.
        "langs." langs: Vec<LangRow>,
        #[serde(deserialize_with = "in_use")]
        "contact_mechanisms." contacts: Vec<ContactMechanism>,
        #[serde(deserialize_with = "in_use")]
        "addresses." addresses: Vec<AddressRow>,
    }
    LangRow [id: i64] {
        "lang." lang: Option<Coded>,
    }
    ContactMechanism [id: i64] {
        "type" means: String,
        name: Option<String>,
        value: Option<String>,
        active: Flag,
    }
    AddressRow [id: i64] {
        street: Option<String>,
        city: Option<String>,
        postal_code: Option<String>,
        active: Flag,
        "country." country: Option<Coded>,
        "subdivision." subdivision: Option<Coded>,
    }
    Professional [id: i64] {
        active: Flag,
        /// The licence number.
        code: Option<String>,
        "party." party: ProfessionalParty,
        "specialties." specialties: Vec<Specialty>,
    }
    ProfessionalParty [id: i64] {
        active: Flag,
        name: Option<String>,
        lastname: Option<String>,
        #[serde(deserialize_with = "in_use")]
        "contact_mechanisms." contacts: Vec<ContactMechanism>,
    }
    Specialty {
        "specialty." specialty: Option<Coded>,
    }
    AppointmentRow [id: i64] {
        /// The number that staff see, `APP 2026/1`.
        name: Option<String>,
        patient: Option<i64>,
        healthprof: Option<i64>,
        institution: Option<i64>,
        state: Option<String>,
        appointment_date: Option<DateTime>,
        appointment_date_end: Option<DateTime>,
        appointment_type: Option<String>,
        visit_type: Option<String>,
        checked_in_date: Option<DateTime>,
        comments: Option<String>,
        /// `None` before the first change.
        write_date: Option<DateTime>,
        "_timestamp" timestamp: Option<String>,
    }
    Pathology [id: i64] {
        name: Option<String>,
        code: Option<String>,
        "groups." groups: Vec<Membership>,
    }
    Membership {
        "disease_group." group: Option<Coded>,
    }
    Condition [id: i64] {
        patient: Option<i64>,
        "pathology." pathology: Diagnosis,
        is_active: Flag,
        extra_info: Option<String>,
        diagnosed_date: Option<Date>,
    }
    Diagnosis [id: i64] {
        name: Option<String>,
        "groups." groups: Vec<Membership>,
    }
    Medicament [id: i64] {
        rec_name: Option<String>,
    }
    Medication [id: i64] {
        patient: Option<i64>,
        medicament: i64,
        is_active: Flag,
        notes: Option<String>,
    }
    Company [id: i64] {
        name: Option<String>,
        "alternative_ids." identifiers: Vec<Identifier>,
        #[serde(deserialize_with = "in_use")]
        "addresses." addresses: Vec<AddressRow>,
    }
    /// `comments` contains its type.
    Identifier {
        code: Option<String>,
        comments: Option<String>,
    }
    Plan [id: i64] {
        rec_name: Option<String>,
        "company." company: Company,
    }
    PlanCompany {
        company: i64,
    }
    /// `patient` is added by the pull: that of the party.
    Insurance [id: i64, patient: Option<i64>] {
        party: Option<i64>,
        company: i64,
        plan_id: Option<i64>,
        number: Option<String>,
        member_since: Option<Date>,
        member_exp: Option<Date>,
        /// `valid`, `grace` or `expired`.
        status: Option<String>,
        notes: Option<String>,
    }
    PatientNote [id: i64] {
        /// `gnuhealth.patient,5`
        resource: Option<String>,
        message: Option<String>,
        create_date: Option<DateTime>,
    }
    DentalCode [id: i64] {
        code: Option<String>,
        name: Option<String>,
    }
    /// A procedure code; `name` is the code.
    ProcedureCode [id: i64] {
        name: Option<String>,
        description: Option<String>,
    }
    TreatmentProcedure [id: i64] {
        tooth: Option<String>,
        mesial: Flag,
        occlusal: Flag,
        distal: Flag,
        vestibular: Flag,
        lingual: Flag,
        root: Flag,
        "procedure." procedure: DentalCode,
        "treatment." treatment: Treatment,
    }
    Treatment {
        patient: Option<i64>,
        healthprof: Option<i64>,
        state: Option<String>,
        treatment_date: Option<Date>,
    }
    PaymentMethod [id: i64] {
        name: Option<String>,
        active: Flag,
    }
    /// `patient` is added by the pull: that of the party.
    Invoice [id: i64, patient: Option<i64>] {
        number: Option<String>,
        party: i64,
        company: i64,
        account: i64,
        state: Option<String>,
        invoice_date: Option<Date>,
        description: Option<String>,
        total_amount: Option<Decimal>,
        amount_to_pay: Option<Decimal>,
        "currency." currency: Coded,
        "lines." lines: Vec<InvoiceLine>,
    }
    InvoiceLine {
        description: Option<String>,
    }
    /// An account line that settles part of an invoice. `patient` is added by the pull: that of the party.
    PaymentLine [id: i64, patient: Option<i64>] {
        party: Option<i64>,
        debit: Decimal,
        credit: Decimal,
        date: Option<Date>,
        invoice_payment: Option<i64>,
        "currency." currency: Coded,
        "move." entry: Entry,
    }
    Entry {
        description: Option<String>,
    }
    /// The party of a record without a patient.
    PartyOf [id: i64] {
        party: Option<i64>,
    }
}

impl Person {
    /// Returns the row of the language that is pulled.
    pub fn language(&self) -> Option<&LangRow> {
        self.langs.iter().find(|row| row.lang.is_some())
    }

    /// Returns the address to read and write; a new party has an empty one.
    pub fn address(&self) -> Option<&AddressRow> {
        self.addresses.iter().find(|address| !address.is_empty()).or(self.addresses.first())
    }
}

/// Returns the first contact of a kind, which is the one to pull and change.
pub fn contact(contacts: &[ContactMechanism], kind: Contact) -> Option<&ContactMechanism> {
    contacts.iter().find(|contact| contact.kind() == Some(kind) && contact.value.is_some())
}

impl ContactMechanism {
    pub fn kind(&self) -> Option<Contact> {
        let work = self.name.as_ref().is_some_and(|name| name.to_lowercase().contains("work"));
        match self.means.as_str() {
            "mobile" => Some(Contact::Mobile),
            "phone" if work => Some(Contact::Work),
            "phone" => Some(Contact::Home),
            "email" => Some(Contact::Email),
            _ => None,
        }
    }
}

impl AddressRow {
    pub fn is_empty(&self) -> bool {
        let texts = [&self.street, &self.city, &self.postal_code].into_iter().all(Option::is_none);
        texts && self.country.is_none() && self.subdivision.is_none()
    }

    /// Returns the address in the format of a write.
    pub fn values(&self) -> Value {
        let id = |coded: &Option<Coded>| coded.as_ref().map(|coded| coded.id);
        json!({"street": self.street, "city": self.city, "postal_code": self.postal_code,
            "country": id(&self.country), "subdivision": id(&self.subdivision)})
    }
}

impl AppointmentRow {
    pub fn is(&self, state: &str) -> bool {
        self.state.as_deref() == Some(state)
    }

    /// Returns `true` for an appointment that is not booked.
    pub fn is_free(&self) -> bool {
        self.is("free") || (self.state.is_none() && self.patient.is_none())
    }

    pub fn is_cancelled(&self) -> bool {
        self.is("user_cancelled") || self.is("center_cancelled")
    }

    /// Returns `true` if the appointment occupies the provider's time.
    pub fn occupies_time(&self) -> bool {
        !self.is_free() && !self.is_cancelled() && !self.is("no_show")
    }

    pub fn note(&self) -> Note {
        note(self.comments.as_deref())
    }

    /// Returns the EHR's timestamp, which has a resolution of a second on SQLite, and a hash of the fields we read and
    /// write.
    pub fn version(&self) -> Option<String> {
        let seen = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            self.patient,
            self.healthprof,
            self.state,
            self.appointment_date,
            self.appointment_date_end,
            self.checked_in_date,
            self.comments
        );
        Some(format!("{}-{}", self.timestamp.as_deref()?, mark::digest(seen.bytes())))
    }

    /// Returns start and end; without an end the duration is `minutes`.
    pub fn span(&self, minutes: u32) -> Option<(i64, i64)> {
        let start = self.appointment_date?.instant()?;
        let end = self.appointment_date_end.and_then(|end| end.instant()).filter(|end| *end > start);
        Some((start, end.unwrap_or(start + i64::from(minutes) * 60)))
    }
}

/// Distinguishes allergies from other conditions in the same way as the EHR.
pub fn is_allergy(groups: &[Membership]) -> bool {
    groups.iter().filter_map(|member| member.group.as_ref()?.code.as_deref()).any(|code| code == "ALLERGIC")
}

impl Company {
    pub fn identifier(&self, what: &str) -> Option<String> {
        let held = self.identifiers.iter().find(|held| held.comments.as_deref() == Some(what))?;
        held.code.clone()
    }
}

/// A record that can be inactive and is still stored by the EHR.
trait MaybeInactive {
    fn in_use(&self) -> bool;
}

impl MaybeInactive for ContactMechanism {
    fn in_use(&self) -> bool {
        self.active.0
    }
}

impl MaybeInactive for AddressRow {
    fn in_use(&self) -> bool {
        self.active.0
    }
}

/// Parses a row; null and empty texts count as absent.
pub fn read<T: DeserializeOwned>(mut row: Value) -> Result<T, String> {
    forget_absent(&mut row);
    typed(row)
}

/// Deserializes a list without its inactive items.
fn in_use<'de, D: Deserializer<'de>, T: Deserialize<'de> + MaybeInactive>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let all = Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(all.into_iter().filter(T::in_use).collect())
}
