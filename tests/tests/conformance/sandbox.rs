//! The simulated EHR on its own port.

use records::ehr::{Resource, Write};
use runtime::clock;
use sandbox_ehr::{
    Control, LocationProfile, OffsetFrom, Profile,
    records::{Record, Resource as Kept},
};
use serde_json::{Map, Value, json};
use tests::{
    conformance::{EhrAddress, EhrUnderTest, ExistingIds},
    harness::ehr_server::EhrServer,
};

const TOKEN: &str = "s3cret-of-the-sandbox";
const DAY: i64 = 86_400;

pub struct SandboxUnderTest {
    server: EhrServer,
    first_free: i64,
}

impl SandboxUnderTest {
    pub fn start() -> SandboxUnderTest {
        let today = clock::now().0 / 1_000 / DAY;
        let profile = Profile {
            seed: 11,
            locations: vec![LocationProfile {
                key: "main-street".into(),
                operatories: 3,
                offsets: vec![OffsetFrom { from: 0, seconds: -18_000 }],
            }],
            patients: 60,
            today: i32::try_from(today).unwrap(),
            days_back: 2,
            days_ahead: 5,
            booked_percent: 40,
            control: false,
        };
        let server = EhrServer::start(profile).unwrap();
        let sandbox = SandboxUnderTest { server, first_free: (today + 30) * DAY };
        sandbox.switch(json!({"token": TOKEN}));
        sandbox
    }

    fn control(&self, control: Control) -> bool {
        self.server.ehr().control(control).is_ok()
    }

    fn switch(&self, switches: Value) {
        assert!(self.control(Control::Switch(switches.as_object().unwrap().clone())));
    }

    fn all(&self, resource: Kept) -> Vec<Map<String, Value>> {
        let ehr = self.server.ehr();
        ehr.records(resource).map(|record| record.to_json().as_object().unwrap().clone()).collect()
    }
}

fn kept(resource: Resource) -> Kept {
    match resource {
        Resource::AppointmentTypes => Kept::Types,
        Resource::WorkingHours => Kept::Hours,
        // All others have the contract's names.
        other => Kept::named(serde_json::to_value(other).unwrap().as_str().unwrap()).unwrap(),
    }
}

/// Returns a field that staff could change.
fn field(resource: Resource) -> Option<&'static str> {
    Some(match resource {
        Resource::Patients => "cell",
        Resource::Providers => "email",
        Resource::Operatories | Resource::AppointmentTypes | Resource::InsurancePlans => "name",
        Resource::Appointments | Resource::PatientAlerts | Resource::CommunicationLogs => "note",
        _ => return None,
    })
}

impl EhrUnderTest for SandboxUnderTest {
    fn place(&self) -> EhrAddress {
        EhrAddress::Loopback(self.server.address)
    }

    fn credentials(&self) -> Vec<(String, String)> {
        vec![("Authorization".into(), format!("Bearer {TOKEN}"))]
    }

    fn location(&self) -> &str {
        "main-street"
    }

    fn zone(&self) -> chrono_tz::Tz {
        chrono_tz::America::New_York
    }

    fn existing_ids(&self) -> ExistingIds {
        ExistingIds {
            patient: "P-00001".into(),
            provider: "D-00001".into(),
            operatory: Some("O-00001".into()),
            appointment_type: Some("T-00002".into()),
        }
    }

    fn free(&self, n: usize) -> i64 {
        self.first_free + 1_800 * i64::try_from(n).unwrap()
    }

    fn keeps(&self, resource: Resource, field: &str) -> bool {
        // Every other field is kept.
        !matches!((resource, field), (Resource::Payments | Resource::Adjustments, "note"))
    }

    fn keeps_write_keys(&self) -> bool {
        true
    }

    async fn copies(&self, write: &Write) -> usize {
        let matching = |resource, wanted: Value| {
            let mut wanted = wanted.as_object().unwrap().clone();
            wanted.retain(|_, value| *value != json!([]));
            let fits = |held: &Map<String, Value>| wanted.iter().all(|(name, value)| held.get(name) == Some(value));
            self.all(resource).iter().filter(|held| fits(held)).count()
        };
        match write {
            Write::CreatePatient(p) | Write::UpdatePatient(p, _) => matching(
                Kept::Patients,
                json!({"first_name": p.first_name, "last_name": p.last_name, "email": p.email}),
            ),
            Write::CreateAppointment(a)
            | Write::RescheduleAppointment(a, _)
            | Write::ConfirmAppointment(a)
            | Write::CheckInAppointment(a)
            | Write::NoteAppointment(a)
            | Write::CancelAppointment(a, _) => {
                let ehr = self.server.ehr();
                let there = |record: &&Record| match record {
                    Record::Appointment(held) => {
                        held.patient == a.patient && held.operatory == a.operatory && held.start == a.start
                    }
                    _ => false,
                };
                ehr.records(Kept::Appointments).filter(there).count()
            }
            Write::CreateWorkingHour(hour) | Write::UpdateWorkingHour(hour) => matching(
                Kept::Hours,
                json!({"date": hour.specific_date, "begin": hour.begin_time, "end": hour.end_time}),
            ),
            Write::DeleteWorkingHour(id) => matching(Kept::Hours, json!({"id": id})),
            Write::Record(location::resource::Operation::Delete, entry) => {
                matching(kept(entry.resource()), json!({"id": entry.id()}))
            }
            Write::Record(_, entry) => matching(kept(entry.resource()), Value::Object(entry.fields())),
        }
    }

    async fn change(&self, resource: Resource, id: &str) -> bool {
        let Some(field) = field(resource) else { return false };
        let fields = json!({field: format!("by staff {id}")}).as_object().unwrap().clone();
        self.control(Control::StaffEdits { resource: kept(resource), id: id.into(), fields })
    }

    async fn delete(&self, resource: Resource, id: &str) -> bool {
        field(resource).is_some() && self.control(Control::Delete { resource: kept(resource), ids: vec![id.into()] })
    }

    /// Sets a weekday and a date at once, which is invalid.
    async fn corrupt(&self, resource: Resource, id: &str) -> bool {
        let fields = json!({"days": ["mon"], "date": "2031-01-06"}).as_object().unwrap().clone();
        resource == Resource::WorkingHours
            && self.control(Control::StaffEdits { resource: Kept::Hours, id: id.into(), fields })
    }

    /// Makes the EHR refuse the patient as a duplicate, with the patient's name in the message.
    async fn refused(&self, write: Write) -> Option<Write> {
        let Write::CreatePatient(patient) = &write else { return None };
        let message = format!("{} {} is on file already", patient.first_name, patient.last_name);
        self.switch(json!({"reject": [{"write": "create_patient", "times": 1, "code": "duplicate_patient",
            "message": message}]}));
        Some(write)
    }
}
