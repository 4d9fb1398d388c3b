//! Every event, caused in the practice and received by an endpoint. Each message is validated against the document.

use std::sync::{Arc, atomic::Ordering};

use actix_web::{App, HttpResponse, HttpServer, dev::ServerHandle, web};
use engine::{
    records::ehr::{EhrAppointment, EhrRecord, Resource},
    webhooks::{
        catalogue::{Event, ResourceType},
        sign::event_time,
    },
};
use location::{ids::LocationId, time::Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};
use testing::until;

use crate::{contract, practice, support::*};

const PLACE: &str = "subdomain=acme&location_id=1";

/// Stores the messages it receives.
pub struct Receiver {
    url: String,
    messages: Arc<Mutex<Vec<Value>>>,
    server: ServerHandle,
}

impl Receiver {
    fn start() -> Receiver {
        let messages = Arc::new(Mutex::new(Vec::new()));
        let kept = messages.clone();
        let server = HttpServer::new(move || {
            let kept = kept.clone();
            let take = move |body: web::Bytes| {
                kept.lock().push(serde_json::from_slice::<Value>(&body).unwrap());
                async { HttpResponse::NoContent().finish() }
            };
            App::new().default_service(web::to(take))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", server.addrs()[0]);
        let server = server.run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Receiver { url, messages, server: handle }
    }

    /// Waits for the first message of that name that contains these data.
    pub async fn wait_for(&self, name: &str, data: &Value) -> Value {
        let named = async || {
            let all = self.named(name);
            all.iter().find(|message| holds(&message["data"], data)).cloned().ok_or(all)
        };
        until(&format!("{name} with {data:#}"), named).await
    }

    fn named(&self, name: &str) -> Vec<Value> {
        self.messages.lock().iter().filter(|it| it["event_name"] == name).cloned().collect()
    }

    fn all(&self) -> Vec<Value> {
        self.messages.lock().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

/// Returns whether the second value is part of the first.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, part)| whole.get(name).is_some_and(|whole| holds(whole, part)))
        }
        (Value::Array(whole), Value::Array(parts)) => {
            whole.len() == parts.len() && whole.iter().zip(parts).all(|(whole, part)| holds(whole, part))
        }
        _ => whole == part,
    }
}

fn events() -> impl Iterator<Item = Event> {
    ResourceType::ALL.iter().flat_map(|kind| kind.events()).copied()
}

async fn register(world: &ApiWorld, receiver: &Receiver, key: &str) -> Value {
    let body = json!({"target_url": receiver.url});
    world.post("/webhook_endpoints", body).key(key).answers(201).await["data"]["id"].clone()
}

/// Registers a receiver for these events of `acme`.
pub async fn listen(world: &ApiWorld, events: impl IntoIterator<Item = Event>, version: &str) -> Receiver {
    listen_as(world, ACME_KEY, events, version).await
}

async fn listen_as(world: &ApiWorld, key: &str, events: impl IntoIterator<Item = Event>, version: &str) -> Receiver {
    let receiver = Receiver::start();
    let endpoint = register(world, &receiver, key).await;
    let path = format!("/webhook_endpoints/{endpoint}/webhook_subscriptions?subdomain=acme");
    for event in events {
        let body = json!({"resource_type": event.resource_type().name(), "event": event.name()});
        world.post(&path, body).key(key).version(version).answers(201).await;
    }
    receiver
}

async fn entry(world: &ApiWorld, resource: Resource, ids: (&str, &str), fields: Value) {
    world.books.edit_entry(resource, ids, fields);
    world.sync(MAIN).await;
}

async fn gone(world: &ApiWorld, resource: Resource, id: &str) {
    world.books.remove(resource, id);
    world.sync(MAIN).await;
}

/// Changes the first record of a resource as the staff would.
async fn edit(world: &ApiWorld, resource: Resource, change: impl FnOnce(&mut EhrRecord)) {
    let mut record = practice::records(MAIN, resource).swap_remove(0);
    change(&mut record);
    world.books.edit(record);
    world.sync(MAIN).await;
}

/// Changes the first appointment as the staff would. Returns the data of the message about the fact.
async fn visit(world: &ApiWorld, change: impl FnOnce(&mut EhrAppointment)) -> Value {
    edit(world, Resource::Appointments, |record| {
        let EhrRecord::Appointment(it) = record else { panic!("an appointment") };
        change(it);
    })
    .await;
    json!({"appointment": {"foreign_id": "appointment 1"}, "by": "staff"})
}

async fn post(world: &ApiWorld, path: &str, body: Value) -> Value {
    let reply = world.post(&format!("{path}?{PLACE}"), body).version("v3.1.0").reply().await;
    assert!(reply.status.is_success(), "{path}: {}", reply.text);
    reply.json()["data"].clone()
}

async fn pay(world: &ApiWorld, transaction: &str) -> Value {
    let payment = json!({"patient_id": PAT, "amount": 12.5, "payment_type_id": 1, "transaction_id": transaction});
    post(world, "/payments", json!({ "payment": payment })).await
}

fn usd(amount: &str) -> Value {
    json!({"amount": amount, "currency": "USD"})
}

/// Causes an event. Returns the name of its message and the data it must contain. Every event is covered.
async fn bring_about(world: &ApiWorld, event: Event) -> (&'static str, Value) {
    use Resource::*;
    let data = match event {
        Event::AdjustmentInsertion => {
            let adjustment =
                json!({"patient_id": PAT, "amount": -2, "adjustment_type_id": 1, "transaction_id": "tx-a"});
            let made = post(world, "/adjustments", json!({ "adjustment": adjustment })).await;
            return ("adjustment_insertion.complete", json!({"adjustment": {"id": made["id"]}}));
        }
        Event::AdjustmentCreated => {
            entry(world, Adjustments, ("adjustment 1", "adjustment 9"), json!({})).await;
            json!({"adjustment": {"foreign_id": "adjustment 9"}})
        }
        Event::AdjustmentUpdated => {
            entry(world, Adjustments, ("adjustment 1", "adjustment 1"), json!({"amount": usd("-8.00")})).await;
            json!({"adjustment": {"foreign_id": "adjustment 1", "adjustment_amount": usd("-8.00")},
                "previous_attributes": {"adjustment_amount": usd("-9.00")}})
        }
        Event::AdjustmentDeleted => {
            gone(world, Adjustments, "adjustment 2").await;
            json!({"adjustment": {"foreign_id": "adjustment 2"}})
        }
        Event::AdjustmentTypeCreated => {
            entry(world, AdjustmentTypes, ("courtesy", "senior"), json!({"name": "Senior"})).await;
            json!({"adjustment_type": {"name": "Senior", "active": true}})
        }
        Event::AdjustmentTypeUpdated => {
            entry(world, AdjustmentTypes, ("courtesy", "courtesy"), json!({"name": "Kindness"})).await;
            json!({"adjustment_type": {"name": "Kindness"}, "previous_attributes": {"name": "Courtesy"}})
        }
        Event::AppointmentInsertion => {
            world.books.open.store(true, Ordering::SeqCst);
            let slot = world.offers(MAIN, 1).await.swap_remove(0);
            let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03",
                "phone_number": "+1 555 010 9999", "email": "mia@example.com"});
            let body = json!({"slot_token": slot["slot_token"], "idempotency_key": "k", "patient": patient});
            let booked = world.post("/intent/booking/book?subdomain=acme", body).ok().await["booking"].clone();
            let appointment = json!({"id": booked["appointment_id"], "patient_name": "Mia Meier", "location_id": MAIN,
                "status": "scheduled"});
            return ("appointment_insertion.complete", json!({ "appointment": appointment }));
        }
        Event::AppointmentCreated => {
            edit(world, Appointments, |record| {
                let EhrRecord::Appointment(it) = record else { panic!("an appointment") };
                it.id = "appointment 77".into();
                (it.start, it.end) = (it.start + 86_400, it.end + 86_400);
            })
            .await;
            json!({"appointments": [{"foreign_id": "appointment 77", "patient_name": "Pat Present",
                "provider_name": "Anna Abel", "operatory_name": "Chair 1"}]})
        }
        Event::AppointmentUpdated => {
            edit(world, Appointments, |record| {
                let EhrRecord::Appointment(it) = record else { panic!("an appointment") };
                it.note = Some("Bring the dog".into());
            })
            .await;
            json!({"appointment": {"foreign_id": "appointment 1", "note": "Bring the dog"},
                "previous_attributes": {"note": null}})
        }
        Event::AppointmentCancelled => visit(world, |it| it.cancelled = true).await,
        Event::AppointmentRescheduled => {
            visit(world, |it| {
                (it.start, it.end) = (it.start + 86_400, it.end + 86_400);
            })
            .await
        }
        Event::AppointmentConfirmed => visit(world, |it| it.confirmed = true).await,
        Event::AppointmentArrived => visit(world, |it| it.checkin_at = Some(it.start - 60)).await,
        Event::AppointmentCompleted => {
            visit(world, |it| it.extra = vec![("status".to_owned(), "fulfilled".to_owned())]).await
        }
        Event::AppointmentMissed => visit(world, |it| it.patient_missed = true).await,
        Event::ChargeCreated => {
            entry(world, Charges, ("charge 1", "charge 9"), json!({})).await;
            json!({"charge": {"foreign_id": "charge 9"}})
        }
        Event::ChargeUpdated => {
            entry(world, Charges, ("charge 1", "charge 1"), json!({"fee": usd("91.00")})).await;
            json!({"charge": {"fee": usd("91.00")}, "previous_attributes": {"fee": usd("90.00")}})
        }
        Event::ChargeDeleted => {
            gone(world, Charges, "charge 2").await;
            json!({"charge": {"foreign_id": "charge 2"}})
        }
        Event::ClaimCreated => {
            entry(world, Claims, ("claim 1", "claim 9"), json!({"note": "another"})).await;
            json!({"claim": {"note": "another"}})
        }
        Event::ClaimUpdated => {
            entry(world, Claims, ("claim 1", "claim 1"), json!({"note": "sent twice"})).await;
            json!({"claim": {"note": "sent twice"}, "previous_attributes": {"note": null}})
        }
        Event::ClaimDeleted => {
            gone(world, Claims, "claim 2").await;
            json!({"claim": {"status": "draft"}})
        }
        Event::FeeScheduleCreated => {
            entry(world, FeeSchedules, ("ucr", "new"), json!({"name": "New"})).await;
            json!({"fee_schedule": {"name": "New"}})
        }
        Event::FeeScheduleUpdated => {
            entry(world, FeeSchedules, ("ucr", "ucr"), json!({"name": "Usual"})).await;
            json!({"fee_schedule": {"name": "Usual"}, "previous_attributes": {"name": "UCR"}})
        }
        Event::FormResponseInsertion => {
            let form = world.one_of(&format!("/form_schemas?{PLACE}")).await["id"].clone();
            let response =
                json!({"patient_id": PAT, "form_schema_id": form, "patient_submitted_data": {"name": "Pat"}});
            let made = post(world, "/form_responses", json!({ "form_response": response })).await;
            let shown = json!({"id": made["id"], "status": "succeeded", "patient_submitted_data": {"name": "Pat"}});
            return ("form_response_insertion.complete", json!({ "form_response": shown }));
        }
        Event::MedicalHistoryPatientItemsUpdated => {
            let (resource, note) = (PatientHistoryItems, json!({"note": "mild"}));
            entry(world, resource, ("ada penicillin", "ada penicillin"), note).await;
            json!({"medical_history": {"patient_id": world.patient("ada").await,
                "patient_items": [{"item_name": "Penicillin", "note": "mild", "active": true}]},
                "previous_attributes": [{"note": "severe"}]})
        }
        Event::MessageCreated => {
            entry(world, Conversations, ("talk 1", "talk 2"), json!({"subject": "Again"})).await;
            json!({"message": {"subject": "Again", "messages": [{"from": "patient", "text": "Hi"}]}})
        }
        Event::MessageUpdated => {
            let more = json!({"messages_json": r#"[{"from":"patient","text":"Hi"},{"from":"practice","text":"Ho"}]"#});
            entry(world, Conversations, ("talk 1", "talk 1"), more).await;
            json!({"message": {"foreign_id": "talk 1", "messages": [{"text": "Hi"}, {"text": "Ho"}]},
                "previous_attributes": {"messages": [{"text": "Hi"}]}})
        }
        Event::PatientCreated => {
            edit(world, Patients, |record| {
                let EhrRecord::Patient(it) = record else { panic!("a patient") };
                (it.id, it.first_name) = ("nina".into(), "Nina".into());
            })
            .await;
            json!({"patients": [{"first_name": "Nina", "foreign_id": "nina", "institution_id": 1}]})
        }
        Event::PatientUpdated => {
            edit(world, Patients, |record| {
                let EhrRecord::Patient(it) = record else { panic!("a patient") };
                it.email = Some("pat@example.com".into());
            })
            .await;
            json!({"patients": [{"id": PAT, "email": "pat@example.com"}], "previous_attributes": [{"email": null}]})
        }
        Event::PatientInsuranceCreated => {
            entry(world, Coverages, ("ada gold", "ada again"), json!({"subscriber_number": "S-9"})).await;
            json!({"patient_insurance_coverage": {"subscriber_num": "S-9"}})
        }
        Event::PatientInsuranceUpdated => {
            entry(world, Coverages, ("ada gold", "ada gold"), json!({"subscriber_number": "S-2"})).await;
            json!({"patient_insurance_coverage": {"subscriber_num": "S-2"},
                "previous_attributes": {"subscriber_num": "S-1"}})
        }
        Event::PaymentInsertion => {
            let made = pay(world, "tx-1").await;
            return ("payment_insertion.complete", json!({"payment": {"id": made["id"], "transaction_id": "tx-1"}}));
        }
        Event::PaymentCreated => {
            let made = pay(world, "tx-2").await;
            json!({"payment": {"id": made["id"], "transaction_id": "tx-2"}})
        }
        Event::PaymentUpdated => {
            entry(world, Payments, ("payment 1", "payment 1"), json!({"amount": usd("21.00")})).await;
            json!({"payment": {"payment_amount": usd("21.00")}, "previous_attributes": {"payment_amount": usd("20.00")}})
        }
        Event::PaymentDeleted => {
            gone(world, Payments, "payment 2").await;
            json!({"payment": {"foreign_id": "payment 2"}})
        }
        Event::PaymentTypeCreated => {
            entry(world, PaymentTypes, ("cash", "card"), json!({"name": "Card"})).await;
            json!({"payment_type": {"name": "Card"}})
        }
        Event::PaymentTypeUpdated => {
            entry(world, PaymentTypes, ("cash", "coins"), json!({"name": "Coins"})).await;
            gone(world, PaymentTypes, "coins").await;
            json!({"payment_type": {"name": "Coins", "active": false}, "previous_attributes": {"active": true}})
        }
        Event::ProcedureCreated => {
            entry(world, Procedures, ("procedure 1", "procedure 9"), json!({"name": "Polish"})).await;
            json!({"procedure": {"name": "Polish"}})
        }
        Event::ProcedureUpdated => {
            entry(world, Procedures, ("procedure 1", "procedure 1"), json!({"name": "Deep cleaning"})).await;
            json!({"procedure": {"name": "Deep cleaning"}, "previous_attributes": {"name": "Cleaning"}})
        }
        Event::ProcedureCodeCreated => {
            entry(world, ProcedureCodes, ("code 1", "code 9"), json!({"code": "D9999"})).await;
            json!({"procedure_code": {"code": "D9999"}})
        }
        Event::ProcedureCodeUpdated => {
            entry(world, ProcedureCodes, ("code 1", "code 1"), json!({"description": "Polish"})).await;
            json!({"procedure_code": {"description": "Polish"}, "previous_attributes": {"description": "Cleaning"}})
        }
        Event::ProcedureCodeDeleted => {
            gone(world, ProcedureCodes, "code 2").await;
            json!({"procedure_code": {"code": "D0120", "active": false}})
        }
        Event::ProviderCreated => {
            edit(world, Providers, |record| {
                let EhrRecord::Provider(it) = record else { panic!("a provider") };
                (it.id, it.first_name) = ("cleo".into(), "Cleo".into());
            })
            .await;
            json!({"provider": {"first_name": "Cleo"}})
        }
        Event::ProviderUpdated => {
            edit(world, Providers, |record| {
                let EhrRecord::Provider(it) = record else { panic!("a provider") };
                it.email = Some("anna@example.com".into());
            })
            .await;
            json!({"provider": {"id": ANNA, "email": "anna@example.com"}, "previous_attributes": {"email": null}})
        }
        Event::SyncStatusReadChange => {
            world.books.unreadable.store(true, Ordering::SeqCst);
            world.engine.sync_now(LocationId(MAIN)).await.unwrap();
            json!({"sync_status": {"read_status": "red", "locations": [{"id": MAIN}]},
                "previous_attributes": {"read_status": "green"}})
        }
        Event::SyncStatusWriteChange => {
            world.books.locked.store(true, Ordering::SeqCst);
            pay(world, "tx-3").await;
            json!({"sync_status": {"write_status": "red", "institution_id": 1},
                "previous_attributes": {"write_status": "green"}})
        }
        Event::SyncDegraded => {
            world.books.locked.store(true, Ordering::SeqCst);
            pay(world, "tx-4").await;
            json!({"sync_status": {"write_status": "red", "locations": [{"id": MAIN}]}})
        }
        // After a problem that began before the subscription.
        Event::SyncRecovered => {
            world.books.unreadable.store(false, Ordering::SeqCst);
            // The retries of the failed cycle may have ended.
            world.engine.sync_now(LocationId(MAIN)).await.unwrap();
            json!({"sync_status": {"read_status": "green", "write_status": "green", "locations": [{"id": MAIN}]}})
        }
        Event::TreatmentPlanCreated => {
            entry(world, TreatmentPlans, ("plan 1", "plan 9"), json!({"name": "B"})).await;
            json!({"treatment_plan": {"name": "B", "procedures": [{"code": "D0120"}]}})
        }
        Event::TreatmentPlanUpdated => {
            entry(world, TreatmentPlans, ("plan 1", "plan 1"), json!({"status": "rejected"})).await;
            json!({"treatment_plan": {"status": "rejected"}, "previous_attributes": {"status": "accepted"}})
        }
        Event::TreatmentPlanDeleted => {
            gone(world, TreatmentPlans, "plan 2").await;
            json!({"treatment_plan": {"status": "proposed"}})
        }
        Event::WorkingHourCreated => {
            let hour = json!({"provider_id": BEN, "operatory_id": CHAIR_2, "begin_time": "18:00", "end_time": "20:00",
                "days": ["Sunday"]});
            let made = post(world, "/working_hours", json!({ "working_hour": hour })).await;
            json!({"working_hour": {"id": made["id"], "begin_time": "18:00", "source": "manual"}})
        }
        Event::WorkingHourUpdated => {
            edit(world, WorkingHours, |record| {
                let EhrRecord::WorkingHour(it) = record else { panic!("working hours") };
                it.end_time = "16:00".into();
            })
            .await;
            json!({"working_hour": {"end_time": "16:00"}, "previous_attributes": {"end_time": "17:00"}})
        }
    };
    (event.name(), data)
}

#[actix_web::test]
async fn every_event_reaches_its_receiver_as_described() {
    let world = world_that_sends().await;
    let receiver = listen(&world, events(), "v3.1.0").await;
    // Events of the sync status come last, because they stop reads and writes. A recovery has a separate test, because
    // it would have to wait for the pause between two messages.
    let (ends, all): (Vec<Event>, Vec<Event>) = events()
        .filter(|event| *event != Event::SyncRecovered)
        .partition(|event| event.resource_type() == ResourceType::SyncStatus);
    for event in all.into_iter().chain(ends.into_iter().rev()) {
        let (name, data) = bring_about(&world, event).await;
        let message = receiver.wait_for(name, &data).await;
        assert_eq!(message["resource_type"], event.resource_type().key());
        assert_eq!(message["delivery_errors"], json!([]));
    }
    for message in receiver.all() {
        let name = message["event_name"].as_str().unwrap();
        contract::check_message(name.split('.').next().unwrap(), "v3.1.0", &message);
    }
}

#[actix_web::test]
async fn a_recovery_reaches_its_receiver() {
    let mut setup = setup();
    setup.engine.webhook_development = true;
    for location in setup.locations.values_mut() {
        // Shorter than the usual pauses, so that the test does not wait.
        Arc::make_mut(location).settings_mut().pull.retry_cap = 50;
    }
    let world = world_set_up(setup, free_rates()).await;
    world.books.unreadable.store(true, Ordering::SeqCst);
    world.engine.sync_now(LocationId(MAIN)).await.unwrap();
    let is_red = async || !world.engine.sync_state(LocationId(MAIN)).await.unwrap().read_ok;
    until("a failed read", is_red).await;
    let receiver = listen(&world, [Event::SyncDegraded, Event::SyncRecovered], "v3.0.0").await;
    let (name, data) = bring_about(&world, Event::SyncRecovered).await;
    let message = receiver.wait_for(name, &data).await;
    contract::check_message(name, "v3.0.0", &message);
    assert_eq!(message["data"].as_object().unwrap().len(), 1, "{message}");
    assert_eq!(receiver.all().len(), 1);
}

/// The same facts are in the messages and in the feed.
#[actix_web::test]
async fn facts_name_the_party_that_caused_them() {
    let world = world_that_sends().await;
    world.books.open.store(true, Ordering::SeqCst);
    let changes = "/changes?subdomain=acme&location_id=1";
    let since = world.get(changes).ok().await["page_info"]["end_cursor"].as_str().unwrap().to_owned();
    let receiver = listen(&world, events().filter(|event| event.is_fact()), "v3.1.0").await;

    let slot = world.offers(MAIN, 1).await.swap_remove(0);
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03",
        "phone_number": "+1 555 010 9999", "email": "mia@example.com"});
    let body = json!({"slot_token": slot["slot_token"], "idempotency_key": "k", "patient": patient});
    let booked = world.post("/intent/booking/book?subdomain=acme", body).ok().await["booking"].clone();
    let id = &booked["appointment_id"];
    let cancel = json!({"booking_ref": booked["booking_ref"]});
    world.post("/intent/booking/cancel?subdomain=acme", cancel.clone()).ok().await;
    let by_patient = json!({"appointment": {"id": id, "cancelled": true}, "by": "patient"});
    receiver.wait_for("appointment_cancelled", &by_patient).await;
    // Without effect.
    world.post("/intent/booking/cancel?subdomain=acme", cancel).ok().await;

    world.patch("/appointments/1?subdomain=acme", json!({"appt": {"confirmed": true}})).ok().await;
    let by_client = json!({"appointment": {"id": 1, "confirmed": true}, "by": "client"});
    receiver.wait_for("appointment_confirmed", &by_client).await;

    let EhrRecord::Appointment(first) = practice::records(MAIN, Resource::Appointments).swap_remove(0) else {
        panic!("an appointment")
    };
    let (from, to) =
        (event_time(Timestamp(first.start * 1_000)), event_time(Timestamp((first.start + 86_400) * 1_000)));
    let (name, _) = bring_about(&world, Event::AppointmentRescheduled).await;
    let by_staff = json!({"appointment": {"id": 1, "start_time": to}, "by": "staff", "from": from, "to": to});
    receiver.wait_for(name, &by_staff).await;
    world.sync(MAIN).await;

    let list = world.get(&format!("{changes}&since={since}&resource[]=appointments")).ok().await;
    let facts = |id: &Value| {
        let entry = list["data"].as_array().unwrap().iter().find(|entry| entry["id"] == *id);
        entry.unwrap().get("facts").cloned()
    };
    assert_eq!(facts(id), Some(json!([{"fact": "cancelled", "by": "patient"}])));
    let of_first = json!([{"fact": "confirmed", "by": "client"},
        {"fact": "rescheduled", "by": "staff", "from": from, "to": to}]);
    assert_eq!(facts(&json!(1)), Some(of_first));
    let end = list["page_info"]["end_cursor"].as_str().unwrap();
    world.patch("/appointments/1?subdomain=acme", json!({"appt": {"note": "Hello"}})).ok().await;
    let list = world.get(&format!("{changes}&since={end}&resource[]=appointments")).ok().await;
    assert_eq!((&list["data"][0]["id"], list["data"][0].get("facts")), (&json!(1), None));
    let mut names: Vec<Value> = receiver.all().into_iter().map(|message| message["event_name"].clone()).collect();
    names.sort_by_key(Value::to_string);
    assert_eq!(names, ["appointment_cancelled", "appointment_confirmed", "appointment_rescheduled"]);
}

#[actix_web::test]
async fn messages_with_ids_contain_nothing_else() {
    let world = world_that_sends().await;
    let receiver = Receiver::start();
    let endpoint = register(&world, &receiver, ACME_KEY).await;
    let path = format!("/webhook_endpoints/{endpoint}/webhook_subscriptions?subdomain=acme");
    for event in events() {
        let body = json!({"resource_type": event.resource_type().name(), "event": event.name(), "payload": "ids"});
        let made = world.post(&path, body).answers(201).await["data"].clone();
        assert_eq!(made["payload"], "ids");
    }
    bring_about(&world, Event::AppointmentConfirmed).await;
    bring_about(&world, Event::PatientUpdated).await;
    let paid = pay(&world, "REFUSE").await["id"].clone();
    for (name, data) in [
        ("appointment_updated", json!({"appointment": {"id": 1}})),
        ("appointment_confirmed", json!({"appointment": {"id": 1}})),
        ("patient_updated", json!({"patients": [{"id": PAT}]})),
        ("payment_insertion.failed", json!({"payment": {"id": paid}})),
    ] {
        let message = receiver.wait_for(name, &data).await;
        assert_eq!(message["data"], data);
        let known = [
            "resource_type", "event_name", "event_time", "subdomain", "institution_id", "location_id", "sequence",
            "is_newer", "data", "delivery_errors",
        ];
        assert!(message.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{message}");
    }
}

#[actix_web::test]
async fn records_without_visible_changes_send_no_message() {
    let world = world_that_sends().await;
    let receiver = listen(&world, events(), "v3.0.0").await;
    world.sync(MAIN).await;
    // The EHR sends a new version without a change visible to clients.
    edit(&world, Resource::Appointments, |record| {
        let EhrRecord::Appointment(it) = record else { panic!("an appointment") };
        it.version = Some("2".into());
    })
    .await;
    let seen = bring_about(&world, Event::PatientUpdated).await;
    receiver.wait_for(seen.0, &seen.1).await;
    assert_eq!(receiver.all().len(), 1, "{:#?}", receiver.all());
}

#[actix_web::test]
async fn a_refused_write_has_its_reason() {
    let world = world_that_sends().await;
    let receiver = listen(&world, events(), "v3.0.0").await;
    let made = pay(&world, "REFUSE").await;
    let message = receiver.wait_for("payment_insertion.failed", &json!({"payment": {"id": made["id"]}})).await;
    assert_eq!(message["data"]["failure_reason"], "the practice refuses it");
    contract::check_message("payment_insertion", "v3.0.0", &message);
    assert_eq!(receiver.named("payment_created"), [] as [Value; 0], "it never reached the ledger");
}

#[actix_web::test]
async fn messages_have_the_form_of_the_subscriptions_version() {
    let world = world_that_sends().await;
    let versions = ["v2.2.2", "v3.0.0", "v3.1.0"];
    let mut receivers = Vec::new();
    for version in versions {
        receivers.push(listen(&world, [Event::PatientUpdated], version).await);
    }
    let (name, data) = bring_about(&world, Event::PatientUpdated).await;
    for (version, receiver) in versions.iter().zip(&receivers) {
        let message = receiver.wait_for(name, &data).await;
        contract::check_message("patient_updated", version, &message);
        let shown = &message["data"]["patients"][0];
        let asked = world.get(&format!("/patients/{PAT}?subdomain=acme")).version("v3.0.0").ok().await["data"].clone();
        match *version {
            "v3.1.0" => assert!(shown.get("preferred_phone_number").is_some() && shown.get("bio").is_none(), "{shown}"),
            _ => assert_eq!(*shown, asked),
        }
    }
    let older = listen(&world, [Event::PaymentCreated], "v2.2.2").await;
    let (name, data) = bring_about(&world, Event::PaymentCreated).await;
    let message = older.wait_for(name, &data).await;
    contract::check_message("payment_created", "v2.2.2", &message);
    let payment = &message["data"]["payment"];
    assert_eq!((&payment["value"], payment.get("procedure_id")), (&payment["payment_amount"], Some(&Value::Null)));
}

#[actix_web::test]
async fn messages_never_reach_another_tenant() {
    let world = world_that_sends().await;
    let ours = listen(&world, [Event::PaymentCreated], "v3.0.0").await;
    let theirs = Receiver::start();
    let endpoint = register(&world, &theirs, RIVAL_KEY).await;
    let path = format!("/webhook_endpoints/{endpoint}/webhook_subscriptions");
    for event in events() {
        let body = json!({"resource_type": event.resource_type().name(), "event": event.name()});
        world.post(&format!("{path}?subdomain=rival"), body.clone()).key(RIVAL_KEY).answers(201).await;
        world.post(&format!("{path}?subdomain=acme"), body).key(RIVAL_KEY).fails(403).await;
    }
    let (name, data) = bring_about(&world, Event::PaymentCreated).await;
    ours.wait_for(name, &data).await;
    world.sync(RIVAL).await;
    assert_eq!(theirs.all(), [] as [Value; 0]);
}

/// Messages contain the same records as the endpoints, of the whole institution.
#[actix_web::test]
async fn a_key_receives_only_messages_it_could_read() {
    let world = world_that_sends().await;
    let receiver = Receiver::start();
    let endpoint = register(&world, &receiver, MAIN_KEY).await;
    let path = format!("/webhook_endpoints/{endpoint}/webhook_subscriptions?subdomain=acme");
    for (resource_type, event) in [("Payment", "payment_created"), ("Patient", "patient_created")] {
        let body = json!({"resource_type": resource_type, "event": event});
        let refused = world.post(&path, body).key(MAIN_KEY).fails(403).await;
        assert_eq!(refused, ["You don't have access to perform this action."], "{event}");
    }
}

/// Fees are withheld as in the endpoints of procedures and plans.
#[actix_web::test]
async fn fees_are_sent_only_to_keys_with_the_grant() {
    let world = world_that_sends().await;
    let mut all = keys();
    // A key of another organisation than the first, without the grant.
    all.iter_mut().filter(|key| key.name == MAIN_KEY).for_each(|key| key.locations = None);
    world.api.replace_keys(all);
    entry(&world, Resource::Procedures, ("procedure 2", "procedure 2"), json!({"fee": usd("50.00")})).await;
    let events = [Event::ProcedureUpdated, Event::TreatmentPlanUpdated];
    let granted = listen(&world, events, "v3.0.0").await;
    let withheld = listen_as(&world, MAIN_KEY, events, "v3.0.0").await;

    let change = json!({"name": "Deep cleaning", "fee": usd("99.00")});
    entry(&world, Resource::Procedures, ("procedure 1", "procedure 1"), change).await;
    entry(&world, Resource::TreatmentPlans, ("plan 1", "plan 1"), json!({"status": "rejected"})).await;
    let procedure = json!({"procedure": {"name": "Deep cleaning", "fee": usd("99.00")}});
    let message = granted.wait_for("procedure_updated", &procedure).await;
    assert_eq!(message["data"]["previous_attributes"]["fee"]["currency"], "USD");
    let plan = json!({"treatment_plan": {"procedures": [{"code": "D0120", "fee": usd("50.00")}]}});
    granted.wait_for("treatment_plan_updated", &plan).await;

    let procedure = json!({"procedure": {"name": "Deep cleaning", "fee": null}});
    let message = withheld.wait_for("procedure_updated", &procedure).await;
    let before = message["data"]["previous_attributes"].as_object().unwrap();
    assert!(before.contains_key("name") && !before.contains_key("fee"), "{before:?}");
    let plan = json!({"treatment_plan": {"procedures": [{"code": "D0120", "fee": null}]}});
    withheld.wait_for("treatment_plan_updated", &plan).await;

    // The visible part of the record has not changed.
    entry(&world, Resource::Procedures, ("procedure 1", "procedure 1"), json!({"fee": usd("98.00")})).await;
    granted.wait_for("procedure_updated", &json!({"procedure": {"fee": usd("98.00")}})).await;
    assert_eq!(withheld.named("procedure_updated").len(), 1);
}
