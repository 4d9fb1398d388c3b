//! The supported releases of the web application and their field names. The application changes without notice. An
//! unknown release is not read, nor is one without an expected field.

use adapter_sdk::fields::Names;

/// The supported releases.
const KNOWN: [&str; 2] = ["v3", "v4"];

/// One of the releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Markup(usize);

/// Field names in each release. Our names are those of the contract, if it has the field.
pub type Releases = [Names; KNOWN.len()];

/// A type of record: its name in calls, and its fields.
#[derive(Clone, Copy)]
pub struct RecordType {
    pub name: &'static str,
    pub names: Releases,
}

const fn kind(name: &'static str, v3: &'static str, v4: &'static str) -> RecordType {
    RecordType { name, names: [Names(v3), Names(v4)] }
}

pub const PATIENTS: RecordType = kind(
    "patients",
    "id first_name=firstName middle_name=middleName last_name=lastName date_of_birth=dob gender=sex email cell_phone=mobile \
     home_phone=homePhone work_phone=workPhone address/line1=street address/city=city address/region=state \
     address/postal_code=zip address/country=country preferred_language=language provider=providerId chart_id=chartNo inactive \
     write_key=reference version=revision",
    "id=key first_name=name/given middle_name=name/middle last_name=name/family date_of_birth=birthDate gender \
     email=contact/email cell_phone=contact/mobile home_phone=contact/home work_phone=contact/work address/line1=home/line \
     address/city=home/city address/region=home/region address/postal_code=home/zip address/country=home/country \
     preferred_language=speaks provider=provider/key chart_id=chart inactive=archived write_key=externalRef version=rev",
);

pub const PROVIDERS: RecordType = kind(
    "providers",
    "id first_name=firstName last_name=lastName email npi inactive",
    "id=key first_name=name/given last_name=name/family email=contact/email npi inactive=archived",
);

pub const OPERATORIES: RecordType = kind("operatories", "id name closed", "id=key name=label closed=archived");

pub const TYPES: RecordType = kind("types", "id name minutes", "id=key name=label minutes=length");

pub const HOURS: RecordType = kind(
    "hours",
    "id provider=providerId operatory=chairId days begin_time=begin end_time=end",
    "id=key provider=provider/key operatory=chair/key days=when/days begin_time=when/from end_time=when/to",
);

pub const APPOINTMENTS: RecordType = kind(
    "appointments",
    "id patient=patientId provider=providerId operatory=chairId appointment_type=typeId start end note status \
     patient_confirmed=patientConfirmed checkin_at=arrivedAt checked_out_at=leftAt cancel_reason=cancelReason \
     unavailable=block write_key=reference version=revision",
    "id=key patient=patient/key provider=provider/key operatory=chair/key appointment_type=kind/key start=period/from \
     end=period/to note=comment status=state patient_confirmed=confirmedByPatient checkin_at=arrival \
     checked_out_at=departure cancel_reason=reason unavailable=block write_key=externalRef version=rev",
);

pub const CSRF: Releases = [Names("csrf"), Names("csrf=session/token")];
pub const ITEM: Releases = [Names("item"), Names("item=data/row")];
pub const ITEMS: Releases = [Names("items"), Names("items=data/rows")];
pub const CHANGES: Releases = [
    Names("rows=items deleted=removed mark more total"),
    Names("rows=data/rows deleted=data/gone mark=page/mark more=page/more total=page/total"),
];
pub const REFUSAL: Releases = [Names("code=error"), Names("code=problem/code")];

impl Markup {
    pub fn from_word(word: &str) -> Option<Markup> {
        KNOWN.iter().position(|known| *known == word).map(Markup)
    }

    pub fn known() -> String {
        KNOWN.join(" and ")
    }

    pub fn word(self) -> &'static str {
        KNOWN[self.0]
    }

    pub fn names(self, of: Releases) -> Names {
        of[self.0]
    }
}
