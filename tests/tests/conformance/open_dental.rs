//! The fake Open Dental server, written from public documentation and never compared with a real one.

use chrono::{DateTime, Days, TimeZone};
use location::resource::Operation;
use records::ehr::{EhrAppointment, EhrRecord, Resource, Write};
use records::values::Day;
use runtime::clock;
use serde_json::{Value, json};
use tests::{
    conformance::{EhrAddress, EhrUnderTest, ExistingIds},
    harness::ehr_server::open_dental::{BASE, Database, OpenDentalRow, OpenDentalServer, Seeded},
};

const KEYS: &str = "d3veloper/cust0mer";
const ZONE: chrono_tz::Tz = chrono_tz::America::New_York;

pub struct OpenDental {
    server: OpenDentalServer,
    seeded: Seeded,
    first_free: i64,
}

impl OpenDental {
    pub fn start() -> OpenDental {
        let today = DateTime::from_timestamp_millis(clock::now().0).unwrap().with_timezone(&ZONE).date_naive();
        let mut database = Database::new(ZONE, KEYS);
        let seeded = database.seed(&(today + Days::new(1)).to_string(), 3);
        // After the seeded days, and before the end of a full pass. Half past midnight, because an arrival must be on
        // the same day.
        let midnight = ZONE.from_local_datetime(&(today + Days::new(10)).into()).earliest().unwrap().timestamp();
        let first_free = midnight + 1_800;
        OpenDental { server: OpenDentalServer::start(database).unwrap(), seeded, first_free }
    }

    fn local(&self, at: i64) -> String {
        self.server.database().local_time(DateTime::from_timestamp(at, 0).unwrap())
    }

    /// Counts the rows of a table with these field values.
    fn matching(&self, table: &str, wanted: Value) -> usize {
        let wanted = wanted.as_object().unwrap().clone();
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let fits = |row: &&OpenDentalRow| wanted.iter().all(|(field, value)| plain(&row[field]) == plain(value));
        self.server.database().rows(table).filter(fits).count()
    }

    /// Counts the rows whose note begins with a text.
    fn noted(&self, table: &str, field: &str, text: &str) -> usize {
        let database = self.server.database();
        database.rows(table).filter(|row| row[field].as_str().is_some_and(|note| note.starts_with(text))).count()
    }

    fn standing(&self, a: &EhrAppointment) -> usize {
        let wanted = json!({"PatNum": a.patient, "Op": a.operatory, "AptDateTime": self.local(a.start)});
        self.matching("appointments", wanted)
    }

    fn filed(&self, resource: Resource, fields: &serde_json::Map<String, Value>) -> usize {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let cents = |name: &str| fields[name]["amount"].as_str().unwrap().parse::<f64>().unwrap();
        match resource {
            Resource::InsurancePlans => self.matching("insplans", json!({"GroupNum": text("group_number")})),
            Resource::Coverages => {
                let subscriptions = self.server.database();
                let ours = |row: &&OpenDentalRow| row["SubscriberID"] == text("subscriber_number");
                let keys: Vec<Value> =
                    subscriptions.rows("inssubs").filter(ours).map(|row| row["InsSubNum"].clone()).collect();
                subscriptions.rows("patplans").filter(|row| keys.contains(&row["InsSubNum"])).count()
            }
            Resource::PatientHistoryItems => {
                [("allergies", "Reaction"), ("diseases", "PatNote"), ("medicationpats", "PatNote")]
                    .into_iter()
                    .map(|(table, field)| self.matching(table, json!({field: text("note")})))
                    .sum()
            }
            Resource::CommunicationLogs => self.noted("commlogs", "Note", &format!("{} [", text("note"))),
            Resource::Payments => {
                let amount = cents("amount");
                let database = self.server.database();
                database.rows("payments").filter(|row| row["PayAmt"].as_str().unwrap().parse() == Ok(amount)).count()
            }
            Resource::Adjustments => self.matching("adjustments", json!({"AdjAmt": cents("amount")})),
            other => panic!("{other:?} is not written"),
        }
    }
}

/// Returns the table and key of a foreign id.
fn row_of(resource: Resource, id: &str) -> Option<(&'static str, u64)> {
    let number = |id: &str| id.parse().ok();
    let (table, key) = match resource {
        Resource::Patients => ("patients", number(id)?),
        Resource::Providers => ("providers", number(id)?),
        Resource::Operatories => ("operatories", number(id)?),
        Resource::AppointmentTypes => ("appointmenttypes", number(id)?),
        Resource::WorkingHours => ("schedules", number(id.split(':').next()?)?),
        Resource::Appointments => match id.strip_prefix("blockout:") {
            Some(blockout) => ("schedules", number(blockout.split(':').next()?)?),
            None => ("appointments", number(id)?),
        },
        Resource::CommunicationLogs => ("commlogs", number(id)?),
        Resource::Procedures | Resource::Charges => ("procedurelogs", number(id)?),
        Resource::ProcedureCodes => ("procedurecodes", number(id)?),
        Resource::TreatmentPlans => ("treatplans", number(id)?),
        Resource::Payments => ("payments", number(id)?),
        _ => return None,
    };
    Some((table, key))
}

impl EhrUnderTest for OpenDental {
    fn place(&self) -> EhrAddress {
        EhrAddress::Loopback(self.server.address)
    }

    fn base_path(&self) -> &str {
        BASE
    }

    fn credentials(&self) -> Vec<(String, String)> {
        vec![("Authorization".into(), format!("ODFHIR {KEYS}"))]
    }

    /// A horizon beyond the next change of the clocks and all free slots.
    fn settings(&self) -> Vec<(String, String)> {
        vec![("ahead_days".into(), "500".into())]
    }

    fn location(&self) -> &str {
        "office"
    }

    fn zone(&self) -> chrono_tz::Tz {
        ZONE
    }

    fn existing_ids(&self) -> ExistingIds {
        ExistingIds {
            patient: self.seeded.patients[0].to_string(),
            provider: self.seeded.providers[0].to_string(),
            operatory: Some(self.seeded.operatories[0].to_string()),
            appointment_type: Some(self.seeded.check_up.to_string()),
        }
    }

    /// One hour apart, so that the time identifies an appointment.
    fn free(&self, n: usize) -> i64 {
        self.first_free + 3_600 * i64::try_from(n).unwrap()
    }

    fn adjust(&self, write: &mut Write) {
        match write {
            // The API stores addresses without a country.
            Write::CreatePatient(patient) | Write::UpdatePatient(patient, _) => {
                if let Some(address) = &mut patient.address {
                    address.country = None;
                }
            }
            // Positive amounts require a type that increases the balance; dates must not be in the future.
            Write::Record(Operation::Create, EhrRecord::Adjustment(adjustment)) => {
                adjustment.adjustment_type = Some((self.seeded.discount + 1).to_string());
                adjustment.adjusted_at = Some(Day(self.server.database().today().parse().unwrap()));
            }
            Write::Record(Operation::Create, EhrRecord::Payment(payment)) => {
                payment.paid_at = Some(Day(self.server.database().today().parse().unwrap()));
            }
            _ => (),
        }
    }

    fn keeps(&self, resource: Resource, field: &str) -> bool {
        // Confirmation is one of the appointment statuses.
        !matches!((resource, field), (Resource::Appointments, "patient_confirmed"))
    }

    fn keeps_instants(&self) -> bool {
        false
    }

    async fn copies(&self, write: &Write) -> usize {
        match write {
            Write::CreatePatient(p) | Write::UpdatePatient(p, _) => {
                self.matching("patients", json!({"FName": p.first_name, "LName": p.last_name, "Email": p.email}))
            }
            Write::CreateAppointment(a)
            | Write::RescheduleAppointment(a, _)
            | Write::ConfirmAppointment(a)
            | Write::CheckInAppointment(a)
            | Write::NoteAppointment(a)
            | Write::CancelAppointment(a, _) => self.standing(a),
            Write::CreateWorkingHour(_) | Write::UpdateWorkingHour(_) | Write::DeleteWorkingHour(_) => {
                panic!("working hours are not written there")
            }
            Write::Record(Operation::Delete, entry) => self.matching("patplans", json!({"PatPlanNum": entry.id()})),
            Write::Record(_, entry) => self.filed(entry.resource(), &entry.fields()),
        }
    }

    async fn change(&self, resource: Resource, id: &str) -> bool {
        let Some((table, key)) = row_of(resource, id) else { return false };
        let by_staff = format!("by staff {id}");
        let change = match table {
            "patients" => json!({"WirelessPhone": by_staff}),
            "providers" => json!({"PreferredName": by_staff}),
            "operatories" => json!({"OpName": by_staff}),
            "appointmenttypes" => json!({"AppointmentTypeName": by_staff}),
            "schedules" if resource == Resource::Appointments => json!({"blockoutType": by_staff}),
            "schedules" => json!({"Note": by_staff}),
            // Five minutes shorter.
            "appointments" => json!({"Pattern": "/XXX/", "PatternSecondary": "/////"}),
            "commlogs" => json!({"Note": by_staff}),
            "procedurelogs" => json!({"ProcFee": "77.77"}),
            "procedurecodes" => json!({"Descript": by_staff}),
            "treatplans" => json!({"Heading": by_staff}),
            "payments" => json!({"PayNote": by_staff}),
            _ => return false,
        };
        self.server.database().change(table, key, change);
        true
    }

    async fn delete(&self, resource: Resource, id: &str) -> bool {
        let Some((table, key)) = row_of(resource, id) else { return false };
        let mut database = self.server.database();
        match table {
            // Other records refer to them.
            "providers" | "operatories" | "appointmenttypes" | "procedurecodes" | "commlogs" => return false,
            "procedurelogs" => database.change(table, key, json!({"ProcStatus": "D"})),
            "patients" => database.change(table, key, json!({"PatStatus": "Deleted"})),
            _ => drop(database.remove(table, key)),
        }
        true
    }

    /// Writes an invalid value into one field. A schedule is not corrupted, because only a part of a week would be
    /// skipped.
    async fn corrupt(&self, resource: Resource, id: &str) -> bool {
        let Some((table, key)) = row_of(resource, id) else { return false };
        let broken = match table {
            "patients" => json!({"Birthdate": "soon"}),
            // Operatories are not corrupted, because hours and blockouts depend on them.
            "providers" | "appointmenttypes" => json!({"IsHidden": "perhaps"}),
            "appointments" => json!({"DateTimeArrived": "soon"}),
            "commlogs" => json!({"CommDateTime": "soon"}),
            "procedurelogs" => json!({"ProcDate": "soon"}),
            "procedurecodes" => json!({"ProcCat": "soon"}),
            "treatplans" => json!({"isSigned": "perhaps"}),
            "payments" => json!({"PayDate": "soon"}),
            _ => return false,
        };
        self.server.database().change(table, key, broken);
        true
    }

    /// The API checks references of a new patient.
    async fn refused(&self, write: Write) -> Option<Write> {
        let Write::CreatePatient(mut patient) = write else { return None };
        // No provider has this number.
        patient.provider = Some("999999".into());
        Some(Write::CreatePatient(patient))
    }
}
