//! The life of a visit after its booking: find, confirm, reschedule and cancel.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use engine::{
    records::ehr::{Description, Ehr, EhrFuture, Fault, Page, Receipt, Resource, Write},
    setup::LocationStatus,
    simulated::NoSimulatedEhrs,
};
use framework::{http::rules::HttpRules, values::visit_token::SealedVisit};
use location::{
    ids::{AppointmentId, AppointmentTypeId, InstitutionId, LocationId, PatientId},
    rules::RuleOverrides,
    time::DAY,
};
use serde_json::{Value, json};

use crate::{
    practice::{Books, PracticeEhr},
    support::*,
};

const BOOK: &str = "/intent/booking/book?subdomain=acme";
const FIND: &str = "/intent/booking/find?subdomain=acme";
const CONFIRM: &str = "/intent/booking/confirm?subdomain=acme";
const RESCHEDULE: &str = "/intent/booking/reschedule?subdomain=acme";
const CANCEL: &str = "/intent/booking/cancel?subdomain=acme";

/// The EHR of the first location, whose inserts and moves wait until the test lets them pass.
struct GatedEhr {
    practice: PracticeEhr,
    /// Number of inserts so far, also those that wait.
    inserting: AtomicUsize,
    inserts: AtomicBool,
    moves: AtomicBool,
    /// Refuses moves.
    refuses: AtomicBool,
    /// A write that the EHR does not support.
    unsupported: &'static str,
}

impl GatedEhr {
    fn new(books: &Arc<Books>, unsupported: &'static str) -> Arc<GatedEhr> {
        books.open.store(true, Ordering::SeqCst);
        let practice = PracticeEhr::new(MAIN, 0, Arc::new(AtomicUsize::new(0)), books.clone());
        let flag = || AtomicBool::new(false);
        let inserting = AtomicUsize::new(0);
        Arc::new(GatedEhr { practice, inserting, inserts: flag(), moves: flag(), refuses: flag(), unsupported })
    }
}

fn open(flag: &AtomicBool) {
    flag.store(true, Ordering::SeqCst);
}

impl Ehr for GatedEhr {
    fn describe(&self, deadline: Duration) -> EhrFuture<'_, Description> {
        Box::pin(async move {
            let mut description = self.practice.describe(deadline).await?;
            description.writes.retain(|kind| kind != self.unsupported);
            Ok(description)
        })
    }

    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, deadline: Duration) -> EhrFuture<'_, Page> {
        self.practice.pull(resource, cursor, limit, deadline)
    }

    fn push(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Receipt> {
        Box::pin(async move {
            let gate = match &write {
                Write::CreateAppointment(_) => Some(&self.inserts),
                Write::RescheduleAppointment(..) => Some(&self.moves),
                _ => None,
            };
            if matches!(write, Write::CreateAppointment(_)) {
                self.inserting.fetch_add(1, Ordering::SeqCst);
            }
            while gate.is_some_and(|gate| !gate.load(Ordering::SeqCst)) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            if matches!(write, Write::RescheduleAppointment(..)) && self.refuses.load(Ordering::SeqCst) {
                return Err(Fault::Rejected("the chair is being repaired".into()));
            }
            self.practice.push(write_key, write, deadline).await
        })
    }

    fn find(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Option<Receipt>> {
        self.practice.find(write_key, write, deadline)
    }
}

async fn gated(unsupported: &'static str) -> (ApiWorld, Arc<GatedEhr>, Arc<Books>) {
    let books = Arc::new(Books::default());
    let ehr = GatedEhr::new(&books, unsupported);
    (world_on([(MAIN, ehr.clone() as Arc<dyn Ehr>)]).await, ehr, books)
}

fn patient(first_name: &str, last_name: &str, born: &str, phone: &str) -> Value {
    json!({"first_name": first_name, "last_name": last_name, "date_of_birth": born, "phone_number": phone})
}

fn mia() -> Value {
    patient("Mia", "Meier", "1990-02-03", "+1 555 010 9999")
}

fn booking(slot_token: &Value, key: &str, patient: &Value) -> Value {
    json!({"slot_token": slot_token, "idempotency_key": key, "patient": patient})
}

fn change(visit: &Value, slot: &Value, key: &str) -> Value {
    json!({"booking_ref": visit["booking_ref"], "slot_token": slot["slot_token"], "idempotency_key": key})
}

/// Books the first slot and returns the booking with the offered slots, all at different times.
async fn booked(world: &ApiWorld) -> (Value, Vec<Value>) {
    let mut offers = world.offers(MAIN, 12).await;
    let mut starts = Vec::new();
    offers.retain(|offer| {
        let is_new = !starts.contains(&offer["start_iso"]);
        starts.push(offer["start_iso"].clone());
        is_new
    });
    let made = world.post(BOOK, booking(&offers[0]["slot_token"], "booked", &mia())).ok().await;
    (made["booking"].clone(), offers)
}

fn status(booking: &Value) -> String {
    format!("/intent/booking/status?subdomain=acme&booking_ref={}", booking["booking_ref"].as_str().unwrap())
}

/// Returns `true` if a search offers the time and place of an offer.
async fn is_free(world: &ApiWorld, offer: &Value) -> bool {
    let fields = |it: &Value| ["start_iso", "provider_id", "operatory_id"].map(|name| it[name].clone());
    world.offers(MAIN, 12).await.iter().any(|it| fields(it) == fields(offer))
}

/// Adds a telephone number to the patient of the practice's visit.
async fn pat_with_phone(world: &ApiWorld) -> Value {
    let phone = json!({"cell_phone": "+1 555 777 0001"});
    world.books.edit_entry(Resource::Patients, ("pat", "pat"), phone);
    world.sync(MAIN).await;
    json!({"patient": {"last_name": "présent", "date_of_birth": "1980-05-06", "phone_number": "(555) 777-0001"}})
}

#[actix_web::test]
async fn a_visit_is_moved_while_its_insert_is_in_flight() {
    let (world, ehr, books) = gated("").await;
    let (visit, offers) = booked(&world).await;
    testing::until("the insert in flight", async || ehr.inserting.load(Ordering::SeqCst) == 1).await;
    let moved = world.post(RESCHEDULE, change(&visit, &offers[2], "r1")).ok().await;
    assert_eq!((&moved["ok"], &moved["replay"]), (&json!(true), &json!(false)));
    let now = &moved["booking"];
    for name in ["booking_ref", "appointment_id", "patient", "patient_id"] {
        assert_eq!(now[name], visit[name], "{name}");
    }
    assert_eq!(now["start_iso"], offers[2]["start_iso"]);
    let pending = json!({"status": "pending", "from_iso": visit["start_iso"], "to_iso": offers[2]["start_iso"],
        "failure_reason": null});
    assert_eq!((&now["reschedule"], visit.get("reschedule")), (&pending, None));
    assert!(moved["message"].as_str().unwrap().ends_with("is being sent to the practice's system."), "{moved}");
    assert_eq!((is_free(&world, &offers[0]).await, is_free(&world, &offers[2]).await), (false, false));

    // The EHR has the old time until it has moved the visit.
    open(&ehr.inserts);
    let inserted = || books.written(MAIN).iter().any(|write| matches!(write, Write::CreateAppointment(_)));
    testing::until("the insert", async || inserted()).await;
    assert_eq!(world.get(&status(&visit)).ok().await["booking"]["reschedule"]["status"], json!("pending"));
    assert_eq!((is_free(&world, &offers[0]).await, is_free(&world, &offers[2]).await), (false, false));

    open(&ehr.moves);
    let done = |it: &Value| it["booking"]["reschedule"]["status"] == json!("confirmed");
    let shown = world.until(&status(&visit), done).await;
    assert_eq!(
        (&shown["booking"]["start_iso"], &shown["booking"]["ehr_writeback"]),
        (&offers[2]["start_iso"], &json!("confirmed"))
    );
    assert_eq!((is_free(&world, &offers[0]).await, is_free(&world, &offers[2]).await), (true, false));
}

#[actix_web::test]
async fn a_refused_move_keeps_the_old_time_and_frees_the_new_one() {
    let (world, ehr, _) = gated("").await;
    open(&ehr.inserts);
    open(&ehr.moves);
    open(&ehr.refuses);
    let (visit, offers) = booked(&world).await;
    world.until(&status(&visit), |it| it["booking"]["ehr_writeback"] == json!("confirmed")).await;
    world.post(RESCHEDULE, change(&visit, &offers[2], "r1")).ok().await;
    let shown = world.until(&status(&visit), |it| it["booking"]["reschedule"]["status"] == json!("failed")).await;
    let now = &shown["booking"];
    let failed = json!({"status": "failed", "from_iso": visit["start_iso"], "to_iso": offers[2]["start_iso"],
        "failure_reason": "the chair is being repaired"});
    assert_eq!((&now["reschedule"], &now["start_iso"]), (&failed, &visit["start_iso"]));
    assert!(shown["message"].as_str().unwrap().contains("did not accept its last change"), "{shown}");
    assert_eq!((is_free(&world, &offers[0]).await, is_free(&world, &offers[2]).await), (false, true));
}

#[actix_web::test]
async fn the_last_of_two_moves_wins() {
    let (world, ehr, _) = gated("").await;
    open(&ehr.inserts);
    let (visit, offers) = booked(&world).await;
    world.until(&status(&visit), |it| it["booking"]["ehr_writeback"] == json!("confirmed")).await;
    let moved = world.post(RESCHEDULE, change(&visit, &offers[2], "r1")).ok().await;
    let text = moved["message"].as_str().unwrap();
    assert!(text.contains("is being moved to") && text.contains(visit["start_local"].as_str().unwrap()), "{text}");
    world.post(RESCHEDULE, change(&visit, &offers[3], "r2")).ok().await;
    for offer in [&offers[0], &offers[2], &offers[3]] {
        assert!(!is_free(&world, offer).await, "{offer}");
    }
    open(&ehr.moves);
    let done = |it: &Value| it["booking"]["reschedule"]["status"] == json!("confirmed");
    let shown = world.until(&status(&visit), done).await;
    assert_eq!(shown["booking"]["start_iso"], offers[3]["start_iso"]);
    assert_eq!(shown["booking"]["reschedule"]["from_iso"], visit["start_iso"]);
    assert_eq!((is_free(&world, &offers[0]).await, is_free(&world, &offers[2]).await), (true, true));
}

#[actix_web::test]
async fn a_repeated_move_is_replayed_and_keys_are_unique_per_institution() {
    let world = world().await;
    let (visit, offers) = booked(&world).await;
    let moved = world.post(RESCHEDULE, change(&visit, &offers[2], "r1")).ok().await;
    let again = world.post(RESCHEDULE, change(&visit, &offers[2], "r1")).ok().await;
    assert_eq!((&again["replay"], &again["booking"]), (&json!(true), &moved["booking"]));
    let refused = async |path: &str, body: Value| world.post(path, body).answers(409).await["reason"].clone();
    let conflict = json!("idempotency_conflict");
    assert_eq!(refused(RESCHEDULE, change(&visit, &offers[3], "r1")).await, conflict);
    assert_eq!(refused(RESCHEDULE, change(&visit, &offers[3], "booked")).await, conflict);
    assert_eq!(refused(BOOK, booking(&offers[3]["slot_token"], "r1", &mia())).await, conflict);
    let mut other = change(&visit, &offers[2], "r1");
    other["reason"] = json!("another reason");
    assert_eq!(refused(RESCHEDULE, other).await, conflict);
    // A move to the same time changes nothing.
    let same = world.post(RESCHEDULE, change(&visit, &offers[2], "r2")).ok().await;
    assert_eq!((&same["replay"], &same["booking"]), (&json!(false), &moved["booking"]));
}

#[actix_web::test]
async fn a_move_is_refused_like_a_booking() {
    let world = world().await;
    let (visit, offers) = booked(&world).await;
    let other = patient("Max", "Meier", "1991-02-03", "+1 555 010 8888");
    world.post(BOOK, booking(&offers[2]["slot_token"], "other", &other)).ok().await;
    let taken = world.post(RESCHEDULE, change(&visit, &offers[2], "r1")).answers(409).await;
    assert_eq!(taken["reason"], json!("slot_taken"));
    // The refused key is free, and each alternative is accepted.
    world.post(RESCHEDULE, change(&visit, &taken["alternatives"][0], "r1")).ok().await;

    let unknown = json!({"booking_ref": visit["booking_ref"], "slot_token": "slt_00", "idempotency_key": "r2"});
    assert_eq!(world.post(RESCHEDULE, unknown).answers(404).await["reason"], json!("slot_not_found"));
    let elsewhere = world.offers(SECOND, 1).await.remove(0);
    let refused = world.post(RESCHEDULE, change(&visit, &elsewhere, "r3")).answers(422).await;
    let why = "The visit is at Place 1 and the slot at Place 2: search for slots at Place 1.";
    assert_eq!((&refused["reason"], &refused["message"]), (&json!("refused"), &json!(why)));
    let missing = ["booking_ref or visit_token is missing.", "slot_token is missing.", "idempotency_key is missing."];
    assert_eq!(world.post(RESCHEDULE, json!({})).fails(400).await, missing);

    world.post(CANCEL, json!({"booking_ref": visit["booking_ref"]})).ok().await;
    let refused = world.post(RESCHEDULE, change(&visit, &offers[3], "r4")).answers(409).await;
    assert_eq!(refused["reason"], json!("booking_not_open"));
}

#[actix_web::test]
async fn a_visit_of_the_practice_is_found_confirmed_moved_and_cancelled() {
    let world = world().await;
    let details = pat_with_phone(&world).await;
    let found = world.post(FIND, details.clone()).ok().await;
    assert_eq!(found["visits"].as_array().unwrap().len(), 1, "{found}");
    let visit = &found["visits"][0];
    let token = visit["visit_token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("vis_"), "{token}");
    let shown = ["provider", "appointment_type", "booking_ref", "duration_minutes", "can"].map(|name| &visit[name]);
    let can = json!({"confirm": true, "reschedule": true, "cancel": true});
    assert_eq!(shown, [&json!("Anna Abel"), &json!("Cleaning"), &Value::Null, &json!(30), &can]);
    assert!(found["message"].as_str().unwrap().starts_with("The next visit with Anna Abel is on "), "{found}");
    let elsewhere = format!("{FIND}&location_id={SECOND}");
    assert_eq!(world.post(&elsewhere, details.clone()).ok().await["visits"], json!([]));

    let confirmed = world.post(CONFIRM, json!({"visit_token": token})).ok().await;
    let ending = "is confirmed; the confirmation is being sent to the practice's system.";
    assert!(confirmed["message"].as_str().unwrap().ends_with(ending), "{confirmed}");
    assert_eq!((&confirmed["booking"]["booking_ref"], &confirmed["booking"]["patient"]), (&Value::Null, &Value::Null));
    let sent = || {
        let written = world.books.written(MAIN);
        written.iter().filter(|write| matches!(write, Write::ConfirmAppointment(it) if it.confirmed)).count()
    };
    testing::until("the confirmation", async || sent() == 1).await;
    world.post(CONFIRM, json!({"visit_token": token})).ok().await;
    let found = world.post(FIND, details.clone()).ok().await;
    assert_eq!((sent(), &found["visits"][0]["can"]["confirm"]), (1, &json!("already_confirmed")));

    let slot = world.offers(MAIN, 1).await.remove(0);
    let body = json!({"visit_token": token, "slot_token": slot["slot_token"], "idempotency_key": "r1"});
    let moved = world.post(RESCHEDULE, body).ok().await;
    assert_eq!((&moved["booking"]["start_iso"], &moved["booking"]["booking_ref"]), (&slot["start_iso"], &Value::Null));
    testing::until("the move", async || {
        let found = world.post(FIND, details.clone()).ok().await;
        found["visits"][0]["start_iso"] == slot["start_iso"]
    })
    .await;

    let cancelled = world.post(CANCEL, json!({"visit_token": token, "reason": "ill"})).ok().await;
    assert_eq!(cancelled["booking"]["booking_status"], json!("cancelled"));
    assert_eq!(world.post(FIND, details).ok().await["visits"], json!([]));
    let refused = world.post(CONFIRM, json!({"visit_token": token})).answers(409).await;
    assert_eq!(refused["reason"], json!("booking_not_open"));
}

#[actix_web::test]
async fn every_search_without_a_result_has_the_same_answer() {
    let world = world().await;
    let born = "2015-05-05";
    let twins = ["Anna", "Ben"].map(|name| patient(name, "Twin", born, "+1 555 777 1234"));
    let offers = world.offers(MAIN, 3).await;
    for (n, twin) in twins.iter().enumerate() {
        world.post(BOOK, booking(&offers[n]["slot_token"], &format!("k{n}"), twin)).ok().await;
    }
    let gone = patient("Gil", "Gone", "1970-01-01", "+1 555 777 4321");
    let made = world.post(BOOK, booking(&offers[2]["slot_token"], "k2", &gone)).ok().await;
    world.post(CANCEL, json!({"booking_ref": made["booking"]["booking_ref"]})).ok().await;

    let find = async |patient: Value| {
        let reply = world.post(FIND, json!({"patient": patient})).reply().await;
        (reply.status.as_u16(), reply.text)
    };
    let nobody = find(patient("Nora", "Nobody", "1980-01-01", "+1 555 777 9999")).await;
    assert_eq!((nobody.0, nobody.1.contains(r#""visits":[]"#)), (200, true), "{}", nobody.1);
    let without_first_name = json!({"last_name": "Twin", "date_of_birth": born, "phone_number": "+1 555 777 1234"});
    for (case, patient) in [
        ("a patient without visits", gone),
        ("several patients", without_first_name),
        ("another name", patient("Carl", "Twin", born, "+1 555 777 1234")),
        ("another date of birth", patient("Anna", "Twin", "2015-05-06", "+1 555 777 1234")),
        ("another number", patient("Anna", "Twin", born, "+1 555 777 1235")),
    ] {
        assert_eq!(find(patient).await, nobody, "{case}");
    }
    let found = world.post(FIND, json!({"patient": twins[0]})).ok().await;
    assert_eq!(found["visits"].as_array().unwrap().len(), 1, "{found}");
    assert!(found["visits"][0]["booking_ref"].as_str().unwrap().starts_with("bkg_"));
    // The practice's system does not have the booking yet.
    let can = json!({"confirm": "appointment_not_synced", "reschedule": true, "cancel": true});
    assert_eq!(found["visits"][0]["can"], can);
    let stranger = world.post(&FIND.replace("acme", "rival"), json!({"patient": twins[0]})).key(RIVAL_KEY).ok().await;
    assert_eq!(stranger["visits"], json!([]));
}

#[actix_web::test]
async fn find_names_wrong_and_missing_values() {
    let world = world().await;
    assert_eq!(world.post(FIND, json!({})).fails(400).await[0], "patient is missing.");
    let bare = json!({"patient": {"last_name": "Meier", "date_of_birth": "1990-02-03"}});
    assert_eq!(world.post(FIND, bare).fails(400).await, ["patient.phone_number or patient.email is missing."]);
    let wrong = json!({"patient": {"last_name": "", "date_of_birth": "soon", "phone_number": "call me"}});
    let expected = [
        "patient.last_name must not be empty.",
        "patient.date_of_birth must be a date in the form YYYY-MM-DD.",
        "patient.phone_number must be a phone number.",
    ];
    assert_eq!(world.post(FIND, wrong).fails(400).await, expected);
}

#[actix_web::test]
async fn searches_are_limited_per_key_and_per_contact() {
    let rules = HttpRules { finds_per_minute: 3, finds_per_contact: 2, ..free_rates() };
    let world = world_with(rules).await;
    let find = |phone: &str| json!({"patient": patient("Nora", "Nobody", "1980-01-01", phone)});
    let limited = async |key: &str, phone: &str| {
        let reply = world.post(FIND, find(phone)).key(key).reply().await;
        assert_eq!(reply.status.as_u16(), 429, "{}", reply.text);
        let wait: u64 = reply.header("Retry-After").unwrap().parse().unwrap();
        assert!((1..=1_800).contains(&wait), "{wait}");
        reply.json()["message"].as_str().unwrap().to_owned()
    };
    for phone in ["+1 555 777 1111", "(555) 777-1111"] {
        world.post(FIND, find(phone)).ok().await;
    }
    assert!(limited(ACME_KEY, "5557771111").await.contains("with this telephone number"));
    assert!(limited(MAIN_KEY, "+1 555 777 1111").await.contains("with this telephone number"));
    assert!(limited(ACME_KEY, "+1 555 777 2222").await.contains("with this API key"));
    world.post(FIND, find("+1 555 777 2222")).key(MAIN_KEY).ok().await;
}

#[actix_web::test]
async fn visit_tokens_expire_and_belong_to_one_tenant() {
    let world = world().await;
    let details = pat_with_phone(&world).await;
    let found = world.post(FIND, details).ok().await;
    let token = found["visits"][0]["visit_token"].as_str().unwrap().to_owned();
    let altered = format!("{}{}", &token[..token.len() - 1], if token.ends_with('0') { '1' } else { '0' });
    let sealed = SealedVisit {
        institution: InstitutionId(1),
        location: LocationId(MAIN),
        appointment: AppointmentId(1),
        patient: PatientId(PAT),
        expires: world.engine.now(),
    };
    let expired = world.api.visit_tokens.seal(sealed);
    let opened = world.api.visit_tokens.open(&token).unwrap();
    let of_another = world.api.visit_tokens.seal(SealedVisit { patient: PatientId(opened.patient.0 + 1), ..opened });
    let slot = world.offers(MAIN, 1).await.remove(0);
    for path in [CONFIRM, RESCHEDULE, CANCEL] {
        let ask = |path: &str, token: &str| {
            let body = json!({"visit_token": token, "slot_token": slot["slot_token"], "idempotency_key": "k"});
            world.post(path, body)
        };
        assert_eq!(ask(path, &of_another).answers(404).await["reason"], json!("booking_not_found"), "{path}");
        assert_eq!(ask(path, &altered).answers(404).await["reason"], json!("booking_not_found"), "{path}");
        let elsewhere = path.replace("acme", "rival");
        let refused = ask(&elsewhere, &token).key(RIVAL_KEY).answers(404).await;
        assert_eq!(refused["reason"], json!("booking_not_found"), "{path}");
        let unreached = ask(path, &token).key(BARE_KEY).answers(404).await;
        assert_eq!(unreached["reason"], json!("booking_not_found"), "{path}");
        assert_eq!(ask(path, &expired).answers(410).await["reason"], json!("visit_token_expired"), "{path}");
    }
    let both = json!({"visit_token": token, "booking_ref": "bkg_0"});
    for path in [CONFIRM, CANCEL] {
        let refused = world.post(path, both.clone()).fails(400).await;
        assert_eq!(refused, ["Send either booking_ref or visit_token, not both."]);
        assert_eq!(world.post(path, json!({})).fails(400).await, ["booking_ref or visit_token is missing."]);
    }
}

#[actix_web::test]
async fn tokens_of_a_closed_location_are_like_unknown_ones() {
    let world = world().await;
    let details = pat_with_phone(&world).await;
    let token = world.post(FIND, details.clone()).ok().await["visits"][0]["visit_token"].clone();
    let slot = world.offers(MAIN, 1).await.remove(0);
    let mut closed = setup();
    closed.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap().status = LocationStatus::Closed;
    assert!(world.api.reconfigure(closed, &NoSimulatedEhrs).await.is_ok());
    assert_eq!(world.post(FIND, details).ok().await["visits"], json!([]));
    let body = json!({"visit_token": token, "slot_token": slot["slot_token"], "idempotency_key": "k"});
    for path in [CONFIRM, RESCHEDULE, CANCEL] {
        assert_eq!(world.post(path, body.clone()).answers(404).await["reason"], json!("booking_not_found"), "{path}");
    }
    for path in ["hold", "explain"] {
        let path = format!("/intent/booking/{path}?subdomain=acme");
        let refused = world.post(&path, json!({"slot_token": slot["slot_token"]})).answers(404).await;
        assert_eq!(refused["reason"], json!("slot_not_found"), "{path}");
    }
}

#[actix_web::test]
async fn a_confirmation_that_the_ehr_does_not_take_stays_here() {
    let (mut world, _, books) = gated("confirm-appointment").await;
    world.books = books.clone();
    let details = pat_with_phone(&world).await;
    let found = world.post(FIND, details.clone()).ok().await;
    assert_eq!(found["visits"][0]["can"]["confirm"], json!(true));
    let token = &found["visits"][0]["visit_token"];
    let confirmed = world.post(CONFIRM, json!({"visit_token": token})).ok().await;
    assert!(confirmed["message"].as_str().unwrap().contains("does not take confirmations"), "{confirmed}");
    let since = &confirmed["booking"]["patient_confirmed_at"];
    assert!(since.is_string(), "{confirmed}");
    // A change in the EHR does not remove it.
    books.edit_entry(Resource::Appointments, ("appointment 1", "appointment 1"), json!({"note": "by staff"}));
    world.sync(MAIN).await;
    let again = world.post(CONFIRM, json!({"visit_token": token})).ok().await;
    assert_eq!(&again["booking"]["patient_confirmed_at"], since);
    let found = world.post(FIND, details).ok().await;
    assert_eq!(found["visits"][0]["can"]["confirm"], json!("already_confirmed"));
    assert!(!books.written(MAIN).iter().any(|write| matches!(write, Write::ConfirmAppointment(_))));
}

#[actix_web::test]
async fn a_change_within_the_notice_of_the_practice_is_refused() {
    let mut setup = setup();
    let place = Arc::make_mut(setup.locations.get_mut(&LocationId(MAIN)).unwrap());
    let rules = &mut place.settings_mut().booking.rules.plain;
    (rules.cancel_notice, rules.reschedule_notice) = (60 * DAY, 60 * DAY);
    let world = world_set_up(setup, free_rates()).await;
    let (visit, offers) = booked(&world).await;
    let refused = world.post(CANCEL, json!({"booking_ref": visit["booking_ref"]})).answers(422).await;
    assert_eq!(refused["reason"], json!("change_too_late"));
    assert!(refused["message"].as_str().unwrap().contains("60 days"), "{refused}");
    let refused = world.post(RESCHEDULE, change(&visit, &offers[2], "r1")).answers(422).await;
    assert_eq!(refused["reason"], json!("change_too_late"));
    let found = world.post(FIND, json!({"patient": mia()})).ok().await;
    let can =
        json!({"confirm": "appointment_not_synced", "reschedule": "change_too_late", "cancel": "change_too_late"});
    assert_eq!(found["visits"][0]["can"], can);
    // Staff are not bound.
    let path = format!("/appointments/{}?subdomain=acme", visit["appointment_id"]);
    world.patch(&path, json!({"appt": {"cancelled": true}})).ok().await;
}

#[actix_web::test]
async fn a_slot_of_another_type_and_length_is_refused_with_the_type_to_search_for() {
    let world = world().await;
    let (visit, offers) = booked(&world).await;
    let asked = json!({"start_date": world.monday().to_string(), "limit": 1, "appointment_type_id": CLEANING});
    let search = "/intent/booking/search?subdomain=acme&location_id=1";
    let cleaning = world.post(search, asked).ok().await["slots"][0].clone();
    assert_ne!(cleaning["duration_minutes"], visit["duration_minutes"]);
    let refused = world.post(RESCHEDULE, change(&visit, &cleaning, "r1")).answers(422).await;
    assert_eq!((&refused["ok"], &refused["reason"]), (&json!(false), &json!("refused")), "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("slot_token ") && message.ends_with("appointment_type_id 2."), "{message}");
    let found = world.post(FIND, json!({"patient": mia()})).ok().await;
    assert_eq!(found["visits"][0]["appointment_type_id"], json!(CHECKUP));
    // The key of the refused change is free.
    let moved = world.post(RESCHEDULE, change(&visit, &offers[2], "r1")).ok().await;
    assert_eq!(moved["booking"]["duration_minutes"], visit["duration_minutes"]);
}

#[actix_web::test]
async fn a_rule_for_the_type_of_a_visit_refuses_a_slot_that_was_offered_for_another_type() {
    let mut setup = setup();
    let place = Arc::make_mut(setup.locations.get_mut(&LocationId(MAIN)).unwrap());
    let today = RuleOverrides { horizon_days: Some(0), ..RuleOverrides::default() };
    place.settings_mut().booking.rules.types.insert(AppointmentTypeId(CLEANING), today);
    let world = world_set_up(setup, free_rates()).await;
    let details = pat_with_phone(&world).await;
    let found = world.post(FIND, details).ok().await;
    let slot = world.offers(MAIN, 1).await.remove(0);
    let body = json!({"visit_token": found["visits"][0]["visit_token"], "slot_token": slot["slot_token"],
        "idempotency_key": "r1"});
    // The rules have not changed since the search.
    let refused = world.post(RESCHEDULE, body).answers(422).await;
    assert_eq!((&refused["reason"], &refused["rule"]), (&json!("not_bookable"), &json!("beyond_horizon")));
}

#[actix_web::test]
async fn without_an_ehr_a_move_and_a_confirmation_are_final_at_once() {
    let world = world().await;
    let at = |path: &str| format!("{path}?subdomain=acme&location_id={BARE}");
    let create = async |path: &str, body: Value| {
        world.post(&at(path), body).key(BARE_KEY).answers(201).await["data"]["id"].clone()
    };
    let provider = json!({"provider": {"first_name": "Ada", "last_name": "Weber", "npi": "1234567893"}});
    let provider = create("/providers", provider).await;
    let kind = json!({"location_id": BARE, "appointment_type": {"name": "Check-up", "minutes": 30, "parent_type": "Location",
        "parent_id": BARE}});
    let kind = create("/appointment_types", kind).await;
    let room = create("/operatories", json!({"operatory": {"name": "Room 1", "appointment_type_ids": [kind]}})).await;
    let hour = json!({"working_hour": {"provider_id": provider, "operatory_id": room, "begin_time": "09:00",
        "end_time": "12:00", "days": ["Monday"], "appointment_type_ids": [kind]}});
    create("/working_hours", hour).await;
    let search = json!({"start_date": world.monday().to_string(), "appointment_type_id": kind, "limit": 3});
    let found = world.post(&at("/intent/booking/search"), search).key(BARE_KEY).ok().await;
    let slots = &found["slots"];
    let made = world.post(BOOK, booking(&slots[0]["slot_token"], "k", &mia())).key(BARE_KEY).ok().await;
    let visit = &made["booking"];
    let moved = world.post(RESCHEDULE, change(visit, &slots[1], "r1")).key(BARE_KEY).ok().await;
    let status = &moved["booking"]["reschedule"]["status"];
    assert_eq!((status, &moved["booking"]["start_iso"]), (&json!("confirmed"), &slots[1]["start_iso"]));
    assert!(moved["message"].as_str().unwrap().contains(" is moved to Mon, "), "{moved}");
    let confirm = json!({"booking_ref": visit["booking_ref"]});
    let confirmed = world.post(CONFIRM, confirm).key(BARE_KEY).ok().await;
    assert!(confirmed["message"].as_str().unwrap().ends_with(" is confirmed."), "{confirmed}");
    let found = world.post(FIND, json!({"patient": mia()})).key(BARE_KEY).ok().await;
    let can = json!({"confirm": "already_confirmed", "reschedule": true, "cancel": true});
    assert_eq!((&found["visits"][0]["can"], &found["visits"][0]["start_iso"]), (&can, &slots[1]["start_iso"]));
}
