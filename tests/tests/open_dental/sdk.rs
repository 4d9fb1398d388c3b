//! The fake, read by a third-party typed client: `opendental-sdk` from PyPI. Its models reject rows without
//! documented fields, and it writes in the documented forms. Engine and client see each other's writes.

use std::{path::Path, time::Duration};

use processor::commands::{AppointmentChange, ChangeAppointment};
use serde_json::{Value, json};
use tests::harness::{
    ehr_server::open_dental::BASE,
    external::Suite,
    in_process::open_dental::{Harness, KEYS},
    packages::{Project, run},
};
use tokio::process::Command;

use super::{NINE, TEN, local, ludmila};
use location::ids::AppointmentId;

const LIMIT: Duration = Duration::from_secs(600);

async fn client(harness: &Harness, keys: Value) -> Value {
    let project = Project::new("opendental-sdk", "opendental", Suite::Python);
    let python = project.python().await;
    let (developer, customer) = KEYS.split_once('/').unwrap();
    let mut program = Command::new(python);
    program.arg(Path::join(&project.sources, "program.py")).arg(format!("{}{BASE}", harness.server.url()));
    program.args([developer, customer, keys.to_string().as_str()]);
    let output = run(program, LIMIT).await.unwrap_or_else(|why| panic!("{why}"));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[actix::test]
async fn typed_client_parses_all_rows_and_both_sides_see_each_others_writes() {
    if Suite::Python.is_skipped() {
        return;
    }
    let harness = Harness::open_large().await;
    let (visit, arrived) = (harness.seeded.booked, harness.at(1, TEN - 7));
    // Booked, confirmed and checked in through the engine.
    let id = harness.book(harness.place(1, 1, TEN), "sdk-1", &ludmila(), "").await.unwrap().appointment.id;
    let ours = harness.written(id).await;
    for change in [
        AppointmentChange { confirmed: Some(true), ..AppointmentChange::default() },
        AppointmentChange { checkin_at: Some(arrived), ..AppointmentChange::default() },
    ] {
        harness.save(ChangeAppointment { id: AppointmentId(ours.id), change }).await;
        harness.idle().await;
    }
    let other = {
        let mut database = harness.server.database();
        let today = database.today();
        database.insert(
            "schedules",
            json!({"SchedDate": today, "StartTime": "09:00:00", "StopTime": "12:00:00", "ProvNum": "1"}),
        );
        let row = json!({"PatNum": harness.seeded.patients[3], "Op": harness.seeded.operatories[2], "ProvNum": 3, "Pattern": "XX",
            "AptDateTime": format!("{} 09:00:00", harness.first_day)});
        database.insert("appointments", row)
    };
    harness.sync().await;
    let count = |table: &str| harness.server.database().rows(table).count();
    let tables = [
        "patients", "appointments", "providers", "operatories", "carriers", "insplans", "inssubs", "patplans",
        "procedurecodes", "procedurelogs", "feescheds", "fees",
    ];
    let mut rows: Value = tables.map(|table| (table.to_owned(), json!(count(table)))).into_iter().collect();
    rows["schedules"] = json!(1);

    let booked = harness.in_ehr(&ours)["AptNum"].clone();
    let keys = json!({"patient": harness.seeded.patients[0], "visit": visit, "other": other, "booked": booked,
        "confirmed": harness.seeded.confirmed});
    let seen = client(&harness, keys).await;
    assert_eq!(seen["lists"], rows);
    assert_eq!(
        seen["booked"],
        json!({"arrived": local(&harness, arrived), "confirmed": harness.seeded.confirmed, "status": "Scheduled",
            "start": local(&harness, harness.at(1, TEN))})
    );
    assert_eq!(seen["arrived"], local(&harness, harness.at(0, NINE + 2)));
    assert_eq!(seen["wrong"], json!([400, "DateTimeArrived format must be HH:mm:ss"]));
    assert_eq!(seen["automated"], "eConfirmed", "the status that the office chose for automated messages");
    assert_eq!(seen["ignored"], count("providers"));
    assert_eq!(seen["refused"], json!([400, "'DateTStamp' is not a valid parameter."]));
    let none = json!([]);
    assert_eq!(
        seen["absent"],
        json!({"appointments": none, "insplans": none, "procedurelogs": none, "procedurecodes": none})
    );

    harness.sync().await;
    let shown = harness.seen(&visit.to_string()).unwrap();
    assert_eq!((shown.checkin_at, shown.confirmed), (Some(harness.at(0, NINE + 2)), true));
    assert!(shown.note.as_deref().unwrap().ends_with("by the client"), "{:?}", shown.note);
    assert!(harness.seen(&other.to_string()).unwrap().cancelled);
    harness.engine.stop().await;
}
