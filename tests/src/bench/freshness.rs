//! Freshness of the schedule: staff book in the EHR itself while clients search and book. A conflict is a booking that
//! was accepted and that the EHR refuses.

use std::{
    collections::BTreeMap,
    error::Error,
    io,
    time::{Duration, Instant},
};

use chrono::DateTime;
use runtime::clock;
use sandbox_ehr::{
    Control, ControlError, Profile,
    records::{Appointment, Resource, Status},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    options::{BenchResult, Options},
    practices,
    report::{Aim, BenchReport},
    servers::BenchServer,
};
use crate::harness::{
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    intents::{BOOK, settled},
    process::{self, HASTY, Installation, LOCATIONS, booking, path},
    random::SeededRandom,
};

/// Bookings per second.
const RATE: u32 = 5;
const CLIENTS: u32 = 5;
/// Number of slots among which clients and staff choose.
const OFFERED: usize = 50;
/// Pause between two bookings by staff.
const STAFF_PAUSE: Duration = Duration::from_secs(1);
/// Requested maximum age of the schedule, in seconds.
const FRESH_WITHIN: u32 = 1;
/// Limit of the age in answers: the requested age, and the read before the answer.
const FRESHEST: Duration = Duration::from_secs(2);
/// Maximum ratio of conflicts.
const MOST: f64 = 0.5;
/// Length of a run in units of `--seconds`, because conflicts are rare.
const LENGTH: u32 = 3;

/// The result of a run.
struct Run {
    accepted: usize,
    conflicts: usize,
    /// Bookings refused because another client or a read took the slot between search and booking.
    refused: usize,
    by_staff: usize,
    /// Age of the schedule in each answer, in order.
    ages: Vec<Duration>,
}

impl Run {
    /// Returns the conflicts per 10,000 bookings.
    fn rate(&self) -> f64 {
        self.conflicts as f64 * 10_000.0 / self.accepted.max(1) as f64
    }

    fn oldest(&self) -> Duration {
        self.ages.get(self.ages.len() * 99 / 100).copied().unwrap_or_default()
    }
}

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "freshness",
        format!(
            "an EHR on loopback, read every 10 s, in which staff book every {STAFF_PAUSE:?}; meanwhile {CLIENTS} clients book {RATE} \
             times a second for {} s; all choose among the first {OFFERED} slots; a new server and data directory each",
            options.seconds * f64::from(LENGTH)
        ),
    );
    actix_rt::System::new().block_on(async {
        let plain = scene(options, None).await?;
        let fresh = scene(options, Some(FRESH_WITHIN)).await?;
        for (name, run, aim) in
            [("no limit of age", &plain, Aim::None), ("fresh_within 1 s", &fresh, Aim::Below(FRESHEST))]
        {
            report.number(&format!("{name}: conflicts per 10,000 bookings"), run.rate(), "", Aim::None);
            report.time("  age of the schedule in 99 of 100 answers, at most", run.oldest(), aim);
            report.note(format!(
                "  {} accepted, {} refused by the EHR, {} refused at once, {} by staff",
                run.accepted, run.conflicts, run.refused, run.by_staff
            ));
        }
        // Without any conflict there is nothing to compare.
        let aim = if plain.conflicts == 0 { Aim::None } else { Aim::AtMost(MOST) };
        let ratio = fresh.rate() / plain.rate().max(f64::EPSILON);
        report.number("conflicts with fresh_within / without", if plain.conflicts == 0 { 0.0 } else { ratio }, "", aim);
        Ok(())
    })
}

async fn scene(options: &Options, fresh_within: Option<u32>) -> Result<Run, Box<dyn Error>> {
    let dir = tempfile::Builder::new().prefix("bench-freshness").tempdir_in(&options.dir)?;
    let ehr = EhrServer::start(Profile { booked_percent: 20, ..fixtures::profile(19) })?;
    let installation = Installation::new(&std::env::current_exe()?, dir.path(), &ehr.url(), HASTY)?;
    let installation = installation.on_engine(practices::engine())?;
    let config = installation.config().to_str().ok_or("a folder whose name is no text")?;
    let server = BenchServer::start(&["configured", config])?;
    let mut caller = installation.sign_in().await?;
    process::first_sync(&mut caller).await?;
    let staff = Staff::new(&mut caller, &ehr).await?;
    let end = Instant::now() + options.length() * LENGTH;
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let client = Client {
            caller: caller.another(server.address).await?,
            random: SeededRandom::new(number.into()),
            number,
            fresh_within,
        };
        clients.spawn(client.run(end));
    }
    let by_staff = staff.work(&mut caller, &ehr, end).await?;
    let (mut made, mut run) = (Vec::new(), Run { accepted: 0, conflicts: 0, refused: 0, by_staff, ages: Vec::new() });
    while let Some(done) = clients.join_next().await {
        let done = done??;
        made.extend(done.made);
        run.refused += done.refused;
        run.ages.extend(done.ages);
    }
    run.ages.sort_unstable();
    // The first connection was idle.
    let mut caller = installation.sign_in().await?;
    for booking_ref in &made {
        let last = settled(&mut caller, booking_ref).await;
        run.conflicts += usize::from(last["ehr_writeback"] == "failed");
    }
    run.accepted = made.len();
    ehr.stop().await;
    Ok(run)
}

struct Client {
    caller: Caller,
    random: SeededRandom,
    number: u32,
    fresh_within: Option<u32>,
}

#[derive(Default)]
struct ClientResult {
    made: Vec<String>,
    refused: usize,
    ages: Vec<Duration>,
}

impl Client {
    async fn run(mut self, end: Instant) -> io::Result<ClientResult> {
        let begin = Instant::now();
        let mut result = ClientResult::default();
        for n in (self.number..).step_by(CLIENTS as usize) {
            let due = begin + Duration::from_secs(1) * n / RATE;
            if due >= end {
                break;
            }
            tokio::time::sleep_until(due.into()).await;
            let found = search(&mut self.caller, self.fresh_within).await?;
            result.ages.push(age(&found)?);
            let slots = found["slots"].as_array().ok_or_else(|| io::Error::other("no slots"))?;
            let Some(slot) = self.random.pick(slots) else { continue };
            let token = slot["slot_token"].as_str().unwrap_or_default();
            let mut body = booking(token, &format!("fresh-{n}"), n.into(), "freshness");
            if let Some(seconds) = self.fresh_within {
                body["fresh_within"] = json!(seconds);
            }
            match self.caller.post(&path(BOOK, LOCATIONS[0].0), &body).await? {
                (200, answer) => {
                    result.ages.push(age(&answer)?);
                    result.made.extend(answer["booking"]["booking_ref"].as_str().map(str::to_owned));
                }
                (409, _) => result.refused += 1,
                (status, answer) => return Err(io::Error::other(format!("{status} {answer}"))),
            }
        }
        Ok(result)
    }
}

async fn search(caller: &mut Caller, fresh_within: Option<u32>) -> io::Result<Value> {
    let mut asked = json!({"days": 14, "limit": OFFERED});
    if let Some(seconds) = fresh_within {
        asked["fresh_within"] = json!(seconds);
    }
    let (status, found) = caller.post(&path("/intent/booking/search", LOCATIONS[0].0), &asked).await?;
    if status == 200 { Ok(found) } else { Err(io::Error::other(format!("{status} {found}"))) }
}

/// Returns the age of the schedule on which an answer is based.
fn age(answer: &Value) -> io::Result<Duration> {
    let at = answer["schedule_as_of"].as_str().ok_or_else(|| io::Error::other("an answer without schedule_as_of"))?;
    let at = DateTime::parse_from_rfc3339(at).map_err(io::Error::other)?;
    let age = clock::now().0.saturating_sub(at.timestamp_millis());
    Ok(Duration::from_millis(u64::try_from(age).unwrap_or_default()))
}

/// Staff who book in the EHR.
struct Staff {
    /// Ids in the EHR by our ids.
    providers: BTreeMap<u64, String>,
    operatories: BTreeMap<u64, String>,
    patient: String,
}

impl Staff {
    async fn new(caller: &mut Caller, ehr: &EhrServer) -> Result<Staff, Box<dyn Error>> {
        let patient = ehr.ehr().records(Resource::Patients).next().map(|patient| patient.id().to_owned());
        Ok(Staff {
            providers: foreign_ids(caller, "/providers").await?,
            operatories: foreign_ids(caller, "/operatories").await?,
            patient: patient.ok_or("no patient")?,
        })
    }

    /// Books until the end, and returns the number of bookings.
    async fn work(&self, caller: &mut Caller, ehr: &EhrServer, end: Instant) -> Result<usize, Box<dyn Error>> {
        let (mut booked, mut random) = (0, SeededRandom::new(99));
        while Instant::now() < end {
            let found = search(caller, None).await?;
            if let Some(slot) = random.pick(found["slots"].as_array().ok_or("no slots")?) {
                let appointment = self.appointment(slot).ok_or_else(|| format!("an incomplete slot: {slot}"))?;
                match ehr.ehr().control(Control::StaffBooks { appointment, force: false }) {
                    Ok(_) => booked += 1,
                    // A booking of a client came first.
                    Err(ControlError::Refused(_)) => {}
                    Err(other) => return Err(other.into()),
                }
            }
            tokio::time::sleep(STAFF_PAUSE).await;
        }
        Ok(booked)
    }

    fn appointment(&self, slot: &Value) -> Option<Appointment> {
        let start = DateTime::parse_from_rfc3339(slot["start_iso"].as_str()?).ok()?.timestamp();
        Some(Appointment {
            id: String::new(),
            version: 0,
            location: LOCATIONS[0].1.to_owned(),
            patient: Some(self.patient.clone()),
            provider: self.providers.get(&slot["provider_id"].as_u64()?).cloned(),
            operatory: self.operatories.get(&slot["operatory_id"].as_u64()?).cloned(),
            kind: None,
            start,
            end: start + 60 * slot["duration_minutes"].as_i64()?,
            note: Some("by telephone".to_owned()),
            status: Status::Scheduled,
            reason: None,
            blocked: false,
            patient_confirmed: false,
            arrived_at: None,
            left_at: None,
            write_key: None,
        })
    }
}

async fn foreign_ids(caller: &mut Caller, list: &str) -> io::Result<BTreeMap<u64, String>> {
    let (status, answer) = caller.get(&format!("{}&per_page=100", path(list, LOCATIONS[0].0))).await?;
    let rows = answer["data"].as_array().filter(|_| status == 200);
    let rows = rows.ok_or_else(|| io::Error::other(format!("{list}: {status} {answer}")))?;
    Ok(rows.iter().filter_map(|row| Some((row["id"].as_u64()?, row["foreign_id"].as_str()?.to_owned()))).collect())
}
