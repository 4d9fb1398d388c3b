//! Patients whose data is recognised in any text. All patients of the EHR get such data before the engine reads them.

use std::collections::BTreeMap;

use sandbox_ehr::{
    Control,
    records::{Record, Resource, Status},
};
use serde_json::{Value, json};
use tests::harness::{
    ehr_server::EhrServer,
    http_client::Caller,
    process::{LOCATIONS, path},
};

/// Texts of which each canary has one. They are searched first, because most results have none.
const MARKS: [&str; 7] = ["quazz", "zyxoff", "canary", "1907", "312777", "312-777", "777-"];

#[derive(Clone, Debug)]
pub struct Person {
    pub first_name: String,
    pub last_name: String,
    pub date_of_birth: String,
    pub phone_number: String,
    pub email: String,
}

impl Person {
    fn canary(n: usize) -> Person {
        let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
        let word: String = [letter(n / 26), letter(n)].into_iter().collect();
        Person {
            first_name: format!("Quazz{word}"),
            last_name: format!("Zyxoff{word}"),
            date_of_birth: format!("1907-{:02}-{:02}", 1 + n % 12, 1 + n / 12 % 28),
            phone_number: format!("(312) 777-{n:04}"),
            email: format!("canary{n}@mail.example"),
        }
    }

    /// Returns the fields of a booking.
    pub fn details(&self) -> Value {
        json!({
            "first_name": self.first_name, "last_name": self.last_name, "date_of_birth": self.date_of_birth,
            "phone_number": self.phone_number, "email": self.email,
        })
    }

    /// Returns the fields of a search for visits.
    pub fn sought(&self) -> Value {
        json!({"last_name": self.last_name, "date_of_birth": self.date_of_birth, "phone_number": self.phone_number})
    }

    /// Returns `true` if these details of a call are the person's and prove it. Names and contacts are repeated
    /// literally by a dialogue, so spellings do not matter.
    pub fn is_proved_by(&self, details: &Value) -> bool {
        let first_name = details["first_name"].as_str();
        details["last_name"] == self.last_name.as_str()
            && details["date_of_birth"] == self.date_of_birth.as_str()
            && first_name.is_none_or(|name| name == self.first_name)
            && (details["phone_number"] == self.phone_number.as_str() || details["email"] == self.email.as_str())
    }

    /// Returns the texts that disclose the person, in lower case.
    fn canaries(&self) -> Vec<String> {
        let digits: String = self.phone_number.chars().filter(char::is_ascii_digit).collect();
        let last = self.phone_number.chars().skip(6).collect::<String>();
        [&self.first_name, &self.last_name, &self.date_of_birth, &self.email, &digits, &last]
            .map(|text| text.to_lowercase())
            .to_vec()
    }
}

/// The patients of the EHR.
pub struct Patients {
    pub all: Vec<Person>,
    /// Indices in `all` by the API's ids.
    by_id: BTreeMap<u64, usize>,
}

impl Patients {
    /// Gives all patients of the EHR recognisable data.
    pub fn mark(ehr: &EhrServer) -> Vec<Person> {
        let mut ehr = ehr.ehr();
        let ids: Vec<String> = ehr.records(Resource::Patients).map(|record| record.id().to_owned()).collect();
        let mut all = Vec::new();
        for (n, id) in ids.into_iter().enumerate() {
            let person = Person::canary(n);
            let fields = json!({
                "first_name": person.first_name, "last_name": person.last_name, "born": person.date_of_birth,
                "cell": person.phone_number, "home": null, "email": person.email, "inactive": false,
            });
            let fields = fields.as_object().cloned().unwrap();
            ehr.control(Control::StaffEdits { resource: Resource::Patients, id, fields }).unwrap();
            all.push(person);
        }
        all
    }

    /// Finds the API's ids of the patients.
    pub async fn identified(all: Vec<Person>, caller: &mut Caller) -> Patients {
        let (status, answer) =
            caller.get(&format!("{}&per_page=1000", path("/patients", LOCATIONS[0].0))).await.unwrap();
        assert_eq!(status, 200, "{answer}");
        let index: BTreeMap<&str, usize> = (0..).zip(&all).map(|(n, person)| (person.first_name.as_str(), n)).collect();
        let rows = answer["data"].as_array().unwrap();
        let of_row = |row: &Value| Some((row["id"].as_u64()?, *index.get(row["first_name"].as_str()?)?));
        let by_id: BTreeMap<u64, usize> = rows.iter().filter_map(of_row).collect();
        assert_eq!(by_id.len(), all.len(), "each patient has an id");
        Patients { all, by_id }
    }

    pub fn with_id(&self, id: u64) -> Option<&Person> {
        self.by_id.get(&id).map(|n| &self.all[*n])
    }

    /// Returns the canaries of a text in lower case that another text does not contain.
    pub fn disclosed(&self, text: &str, given: &str) -> Vec<String> {
        if !MARKS.iter().any(|mark| text.contains(mark)) {
            return Vec::new();
        }
        let canaries = self.all.iter().flat_map(Person::canaries);
        canaries.filter(|canary| text.contains(canary.as_str()) && !given.contains(canary.as_str())).collect()
    }
}

/// Returns the live appointments of the EHR that overlap another one in their operatory.
pub fn overlaps(ehr: &EhrServer) -> Vec<[String; 2]> {
    let mut places: BTreeMap<String, Vec<(i64, i64, String)>> = BTreeMap::new();
    for record in ehr.ehr().records(Resource::Appointments) {
        let Record::Appointment(it) = record else { continue };
        let Some(operatory) = it.operatory.clone().filter(|_| it.status != Status::Cancelled) else {
            continue;
        };
        places.entry(operatory).or_default().push((it.start, it.end, it.id.clone()));
    }
    let mut found = Vec::new();
    for mut spans in places.into_values() {
        spans.sort();
        for (n, (_, end, id)) in spans.iter().enumerate() {
            let later = spans[n + 1..].iter().take_while(|(start, ..)| start < end);
            found.extend(later.map(|(.., other)| [id.clone(), other.clone()]));
        }
    }
    found
}
