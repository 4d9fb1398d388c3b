//! Clients of a practice, at any node. They book, hold, release, move, confirm, cancel and pay, retry until they get
//! an answer, and record calls and answers.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use location::zone::Date;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tests::harness::{
    fixtures,
    http_client::Caller,
    process::{API_KEY, booking},
    random::SeededRandom,
};
use tokio::time::{sleep, timeout};

use crate::nodes::{
    checker::{Action, CallResult, ClientCall, SlotPlace},
    cluster::{at, subdomain},
};

/// Time limit of a call, longer than a node waits for a location that is moving.
const CALL: Duration = Duration::from_secs(12);
/// Sufficient for a machine with two busy processors.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A free time of an operatory and a provider.
#[derive(Clone, Debug)]
pub struct SlotOffer {
    pub token: String,
    pub place: SlotPlace,
    provider: u64,
}

/// State shared by all clients.
pub struct SharedState {
    /// Addresses of nodes that accept requests.
    pub addresses: Mutex<Vec<SocketAddr>>,
    pub offers: Mutex<Vec<SlotOffer>>,
    history: Mutex<Vec<ClientCall>>,
    began: Instant,
    pub ended: AtomicBool,
    stories: AtomicUsize,
}

fn locked<T>(held: &Mutex<T>) -> parking_lot::MutexGuard<'_, T> {
    held.lock()
}

impl SharedState {
    pub fn new(addresses: Vec<SocketAddr>, offers: Vec<SlotOffer>) -> SharedState {
        SharedState {
            addresses: Mutex::new(addresses),
            offers: Mutex::new(offers),
            history: Mutex::default(),
            began: Instant::now(),
            ended: AtomicBool::new(false),
            stories: AtomicUsize::new(0),
        }
    }

    pub fn accepted(&self) -> usize {
        locked(&self.history).iter().filter(|call| matches!(call.answered, CallResult::Accepted { .. })).count()
    }

    pub fn history(&self) -> Vec<ClientCall> {
        locked(&self.history).clone()
    }

    /// Takes two offers of one operatory, provider and length, or one if there is no second.
    fn take(&self) -> Option<(SlotOffer, Option<SlotOffer>)> {
        let mut offers = locked(&self.offers);
        let one = offers.pop()?;
        let fits = |other: &SlotOffer| {
            let (a, b) = (one.place, other.place);
            (a.location, a.operatory, one.provider, a.end - a.start)
                == (b.location, b.operatory, other.provider, b.end - b.start)
        };
        let other = offers.iter().rposition(fits).map(|at| offers.remove(at));
        Some((one, other))
    }
}

/// A client's sequence of calls.
#[derive(Clone, Copy, Debug)]
enum Story {
    Book,
    BookHeld,
    HoldAndRelease,
    Rivals,
    Move,
    Confirm,
    Cancel,
    Pay,
}

const STORIES: [Story; 8] = [
    Story::Book,
    Story::BookHeld,
    Story::HoldAndRelease,
    Story::Rivals,
    Story::Move,
    Story::Confirm,
    Story::Cancel,
    Story::Pay,
];

#[derive(Clone)]
struct Booked {
    reference: String,
    appointment: u64,
    patient: u64,
}

/// Runs stories until the test ends or no offer is left.
pub async fn client(world: Arc<SharedState>, mut random: SeededRandom) {
    while !world.ended.load(Ordering::SeqCst) {
        let Some((one, other)) = world.take() else { return };
        let number = world.stories.fetch_add(1, Ordering::SeqCst);
        let story = *random.pick(&STORIES).unwrap();
        StoryRunner { world: &world, random: &mut random, location: one.place.location, number }
            .tell(story, one, other)
            .await;
        sleep(Duration::from_millis(random.draw() % 40)).await;
    }
}

struct StoryRunner<'a> {
    world: &'a SharedState,
    random: &'a mut SeededRandom,
    location: u32,
    number: usize,
}

impl StoryRunner<'_> {
    async fn tell(&mut self, story: Story, one: SlotOffer, other: Option<SlotOffer>) {
        let key = format!("nodes-{}", self.number);
        match (story, other) {
            (Story::Rivals, _) => self.rivals(&one).await,
            (Story::HoldAndRelease, _) => {
                self.hold(&one).await;
                self.release(&one).await;
                // The released slot can be booked at once.
                self.book(&key, &one).await;
            }
            (Story::BookHeld, _) => {
                self.hold(&one).await;
                self.book(&key, &one).await;
            }
            (Story::Move, Some(other)) => {
                let booked = self.book(&key, &one).await;
                self.change_place(&booked, other.place).await;
            }
            (Story::Confirm, _) => {
                let booked = self.book(&key, &one).await;
                let asked = Action::Confirm { appointment: booked.appointment };
                self.change(asked, &booked, json!({"appt": {"confirmed": true}})).await;
            }
            (Story::Cancel, _) => {
                let booked = self.book(&key, &one).await;
                let body = json!({"booking_ref": booked.reference});
                let (asked, path) =
                    (Action::Cancel { appointment: booked.appointment }, at("/intent/booking/cancel", self.location));
                self.insist(asked, "POST", &path, &body).await.unwrap();
            }
            (Story::Pay, _) => {
                let booked = self.book(&key, &one).await;
                self.pay(&key, &booked).await;
            }
            (Story::Book | Story::Move, _) => drop(self.book(&key, &one).await),
        }
    }

    /// Two clients book the same time concurrently under different keys.
    async fn rivals(&mut self, offer: &SlotOffer) {
        let (first, second) = (format!("nodes-{}", self.number), format!("nodes-{}-rival", self.number));
        let mut chance = SeededRandom::new(self.random.draw());
        let mut rival =
            StoryRunner { world: self.world, random: &mut chance, location: self.location, number: self.number };
        let both = tokio::join!(self.tries_to_book(&first, offer), rival.tries_to_book(&second, offer));
        let refused = [both.0, both.1].into_iter().filter_map(Result::err).collect::<Vec<Value>>();
        assert_eq!(refused.len(), 1, "of {first} and {second} one is refused: {refused:?}");
    }

    async fn book(&mut self, key: &str, offer: &SlotOffer) -> Booked {
        let booked = self.tries_to_book(key, offer).await;
        booked.unwrap_or_else(|answer| panic!("{key} was refused: {answer}"))
    }

    async fn tries_to_book(&mut self, key: &str, offer: &SlotOffer) -> Result<Booked, Value> {
        let body = booking(&offer.token, key, self.random.draw() % 400, key);
        let asked = Action::Book { key: key.to_owned(), place: offer.place };
        let answer = self.insist(asked.clone(), "POST", &at("/intent/booking/book", self.location), &body).await?;
        if self.random.chance(300) {
            // A repeated call returns the same answer.
            self.insist(asked, "POST", &at("/intent/booking/book", self.location), &body).await?;
        }
        let made = &answer["booking"];
        let reference = made["booking_ref"].as_str().unwrap().to_owned();
        let number = |name: &str| made[name].as_u64().unwrap_or_else(|| panic!("{name}: {answer}"));
        Ok(Booked { reference, appointment: number("appointment_id"), patient: number("patient_id") })
    }

    async fn hold(&mut self, offer: &SlotOffer) {
        let body = json!({"slot_token": offer.token});
        self.insist(Action::Hold, "POST", &at("/intent/booking/hold", self.location), &body).await.unwrap();
    }

    async fn release(&mut self, offer: &SlotOffer) {
        let path = format!("{}&slot_token={}", at("/intent/booking/hold", self.location), offer.token);
        self.insist(Action::Release, "DELETE", &path, &Value::Null).await.unwrap();
    }

    async fn change_place(&mut self, booked: &Booked, to: SlotPlace) {
        let times = json!({"start_time": instant_text(to.start), "end_time": instant_text(to.end)});
        let asked = Action::Move { appointment: booked.appointment, to };
        self.change(asked, booked, json!({"appt": times})).await;
    }

    async fn change(&mut self, asked: Action, booked: &Booked, body: Value) {
        let path = format!("/appointments/{}?subdomain={}", booked.appointment, subdomain(self.location));
        let changed = self.insist(asked, "PATCH", &path, &body).await;
        changed.unwrap_or_else(|answer| panic!("{body} was refused: {answer}"));
    }

    async fn pay(&mut self, key: &str, booked: &Booked) {
        let cents = 1 + self.random.draw() % 100_000;
        let amount = format!("{}.{:02}", cents / 100, cents % 100);
        let key = format!("{key}-paid");
        let payment =
            json!({"patient_id": booked.patient, "amount": amount, "currency": "USD", "transaction_id": &key});
        let asked = Action::Pay { key, cents };
        let path = at("/payments", self.location);
        self.insist(asked, "POST", &path, &json!({ "payment": payment })).await.unwrap();
    }

    /// Repeats the call at random nodes until it is answered. Returns the answer as `Err` on a conflict.
    async fn insist(&mut self, asked: Action, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let since = Instant::now();
        loop {
            let node = *self.random.pick(&locked(&self.world.addresses)).unwrap();
            let began = self.world.began.elapsed().as_nanos();
            let answer = timeout(CALL, ask(node, method, path, body)).await;
            let ended = self.world.began.elapsed().as_nanos();
            let (answered, result) = match answer {
                Ok(Ok((200..=299, answer))) => (accepted(&answer), Some(Ok(answer))),
                Ok(Ok((503, _))) | Ok(Err(_)) | Err(_) => (CallResult::Nothing, None),
                Ok(Ok((409, answer))) => (CallResult::Refused(409), Some(Err(answer))),
                // The EHR does not have the record yet. The call had no effect and can be repeated.
                Ok(Ok((400, answer))) if is_not_written_yet(&answer) && since.elapsed() < PATIENCE => {
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
                Ok(Ok((status, answer))) => {
                    panic!(
                        "{asked:?}: {status} {answer}; appointment: {}",
                        self.describe_appointment(node, &asked).await
                    )
                }
            };
            locked(&self.world.history).push(ClientCall { asked: asked.clone(), began, ended, answered });
            if let Some(result) = result {
                return result;
            }
            assert!(since.elapsed() < PATIENCE, "{asked:?} was never answered");
            sleep(Duration::from_millis(self.random.draw() % 60)).await;
        }
    }

    /// Describes the appointment of a call, for error messages.
    async fn describe_appointment(&self, node: SocketAddr, asked: &Action) -> String {
        let (Action::Move { appointment, .. } | Action::Confirm { appointment } | Action::Cancel { appointment }) =
            asked
        else {
            return "no appointment".to_owned();
        };
        let path = format!("/appointments/{appointment}?subdomain={}", subdomain(self.location));
        format!("{:?}", ask(node, "GET", &path, &Value::Null).await)
    }
}

fn is_not_written_yet(answer: &Value) -> bool {
    matches!(answer["reason"].as_str(), Some("appointment_not_synced" | "patient_not_synced"))
}

async fn ask(node: SocketAddr, method: &str, path: &str, body: &Value) -> std::io::Result<(u16, Value)> {
    let mut caller = Caller::sign_in(node, API_KEY).await?;
    match method {
        "POST" => caller.post(path, body).await,
        "PATCH" => caller.patch(path, body).await,
        "GET" => caller.get(path).await,
        _ => caller.delete(path).await,
    }
}

/// Returns the id of the booking, appointment or payment in the answer. A hold has none.
fn accepted(answer: &Value) -> CallResult {
    let (booking, data) = (&answer["booking"], &answer["data"]);
    let name = booking["booking_ref"].as_str().unwrap_or_default().to_owned();
    let ids = [&booking["appointment_id"], &data["appt"]["id"], &data["id"], &data["payment"]["id"]];
    CallResult::Accepted { id: ids.into_iter().find_map(Value::as_u64).unwrap_or_default(), name }
}

pub fn instant_text(at: i64) -> String {
    chrono::DateTime::from_timestamp(at, 0).unwrap().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Parses an RFC 3339 time into seconds since 1970.
pub fn seconds(text: &Value) -> i64 {
    chrono::DateTime::parse_from_rfc3339(text.as_str().unwrap_or_else(|| panic!("{text} is no time")))
        .unwrap()
        .timestamp()
}

/// Returns offers of a location that do not overlap.
pub async fn offers(caller: &mut Caller, location: u32, days: i32) -> Vec<SlotOffer> {
    let answer = get_with_retries(caller, &format!("{}&per_page=100", at("/operatories", location))).await;
    let search = at("/intent/booking/search", location);
    let today = Date(fixtures::today());
    let mut offers = Vec::new();
    for operatory in answer["data"].as_array().unwrap() {
        for day in (1..days).step_by(3) {
            let start = today.add_days(day).to_string();
            let asked = json!({"operatory_ids": [operatory["id"]], "start_date": start, "days": 3, "limit": 100});
            let found = insisting(&search, async || caller.post(&search, &asked).await.unwrap()).await;
            let mut starts = BTreeSet::new();
            let slots = found["slots"].as_array().unwrap().iter();
            offers.extend(slots.filter(|slot| starts.insert(slot["start_iso"].to_string())).map(|slot| {
                let start = seconds(&slot["start_iso"]);
                let end = start + 60 * slot["duration_minutes"].as_i64().unwrap();
                let place = SlotPlace { location, operatory: slot["operatory_id"].as_u64().unwrap(), start, end };
                let provider = slot["provider_id"].as_u64().unwrap();
                SlotOffer { token: slot["slot_token"].as_str().unwrap().to_owned(), place, provider }
            }));
        }
    }
    offers
}

/// Books with retries.
pub async fn book(caller: &mut Caller, location: u32, body: &Value) -> Value {
    insisting("a booking", async || caller.post(&at("/intent/booking/book", location), body).await.unwrap()).await
}

/// Reads with retries.
pub async fn get_with_retries(caller: &mut Caller, path: &str) -> Value {
    insisting(path, async || caller.get(path).await.unwrap()).await
}

/// Repeats a request while it returns 503, as it does during a move: the call had no effect.
pub async fn insisting(what: &str, mut ask: impl AsyncFnMut() -> (u16, Value)) -> Value {
    let since = Instant::now();
    loop {
        match ask().await {
            (200 | 201, answer) => return answer,
            (503, answer) => assert!(since.elapsed() < PATIENCE, "{what}: {answer}"),
            (status, answer) => panic!("{what}: {status} {answer}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}
