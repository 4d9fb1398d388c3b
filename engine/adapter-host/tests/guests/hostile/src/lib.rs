//! An adapter that misbehaves on request, as specified by the setting `behaviour`.

use std::sync::atomic::{AtomicU32, Ordering};

use adapter_sdk::{
    Adapter, Deletions, Description, Fault, Hosting, MaxLength, Page, PatientField, PullAbility, Receipt, Record,
    Resource, SkippedRecord, Write, WriteKind, clock, config, export_adapter, gate, http, json,
    log::Level,
    records::{Appointment, AppointmentType, ExtraValue, Gender, HourKind, Operatory, Patient, Provider, WorkingHour},
};

struct Hostile;

/// The number of calls that this instance has served: at most one, if every call gets a fresh instance.
static CALLS: AtomicU32 = AtomicU32::new(0);

impl Adapter for Hostile {
    fn describe() -> Result<Description, Fault> {
        misbehave()?;
        if behaviour() == "gated" {
            return Ok(Description {
                name: "cloud".into(),
                version: "1.0.0".into(),
                hosting: Hosting::Cloud,
                pulls: vec![PullAbility {
                    resource: Resource::Patients,
                    delta: false,
                    deletions: Deletions::ByAbsence,
                }],
                writes: vec![WriteKind::CreatePayment],
                gated: true,
                ..Default::default()
            });
        }
        Ok(Description {
            name: environment_report()?,
            version: "1.0.0".into(),
            hosting: Hosting::Onprem,
            required_patient_fields: vec![PatientField::HomePhone, PatientField::CellPhone, PatientField::Address],
            unkept_patient_fields: vec![PatientField::WorkPhone, PatientField::Extra],
            max_lengths: vec![MaxLength::new("insurance-plan.group-number", 25)],
            pulls: vec![
                PullAbility { resource: Resource::Patients, delta: true, deletions: Deletions::Reported },
                PullAbility { resource: Resource::Claims, delta: false, deletions: Deletions::ByAbsence },
                PullAbility { resource: Resource::Appointments, delta: false, deletions: Deletions::ByAbsence },
            ],
            writes: vec![WriteKind::CreateAppointment, WriteKind::CheckInAppointment],
            requests_per_minute: Some(600),
            ..Default::default()
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        misbehave()?;
        if let Some(page) = endless(resource, cursor.as_deref(), limit) {
            return page;
        }
        let page = Page {
            records: vec![record(resource, "1".into())],
            cursor: "c1".into(),
            last: true,
            whole: true,
            ..Default::default()
        };
        Ok(match behaviour().as_str() {
            "gated" => {
                through_gate(http::Method::Get, "/patients", None)?;
                Page { records: ["1", "2", "3"].map(|id| record(resource, id.into())).into(), ..page }
            }
            "too-many-records" => {
                Page { records: (0..=limit).map(|n| record(resource, n.to_string())).collect(), ..page }
            }
            "full-page" => {
                Page { records: (0..limit).map(|n| record(resource, n.to_string())).collect(), last: false, ..page }
            }
            "long-cursor" => Page { cursor: "c".repeat(4097), ..page },
            "stuck-cursor" => Page { cursor: cursor.unwrap_or_default(), last: false, ..page },
            "other-resource" => Page { records: vec![record(Resource::Providers, "1".into())], ..page },
            "bad-deletion" => Page { deleted: vec!["1".into(), String::new()], ..page },
            "skipping" => {
                Page { skipped: vec![SkippedRecord::new("7", config::get("text").unwrap_or_default())], ..page }
            }
            "skips-nothing" => Page { skipped: vec![SkippedRecord::new("", "no reason")], ..page },
            "skips-too-many" => Page { skipped: vec![SkippedRecord::new("7", "unreadable"); limit as usize], ..page },
            "many-deletions" => Page { deleted: vec!["1".into(); 10_001], ..page },
            _ => page,
        })
    }

    fn push(write_key: String, write: Write) -> Result<Receipt, Fault> {
        let number = CALLS.fetch_add(1, Ordering::SeqCst);
        match behaviour().as_str() {
            "gated" => {
                let body = serde_json::to_vec(&write).map_err(|error| Fault::rejected(error.to_string()))?;
                let id = through_gate(http::Method::Post, &format!("/writes/{write_key}"), Some(body))?;
                return Ok(Receipt { id: id.unwrap_or_default(), version: None });
            }
            "gated-twice" => {
                through_gate(http::Method::Post, &format!("/writes/{write_key}"), None)?;
                through_gate(http::Method::Post, &format!("/writes/{write_key}/lines"), None)?;
                return Ok(Receipt { id: "twice".into(), version: None });
            }
            "get-then-panic" => {
                http::get("/before").send()?;
            }
            // Simulates a bug that quotes its record.
            "leak" => {
                let text = serde_json::to_string(&write).map_err(|error| Fault::rejected(error.to_string()))?;
                adapter_sdk::warn!("writing {text}");
                match config::get("then").as_deref() {
                    Some("panic") => panic!("cannot write {text}"),
                    _ => return Err(Fault::rejected(format!("cannot write {text}"))),
                }
            }
            // Sends the received write, so that the test can see it.
            "echo" => {
                http::post("/echo").json(&write)?.send()?;
                return Ok(Receipt { id: "echoed".into(), version: None });
            }
            "post-then" => {
                http::post(format!("/writes/{write_key}")).send()?;
                match config::get("then").as_deref() {
                    Some("panic") => panic!("after the request"),
                    Some("spin") => spin(),
                    Some("allocate") => allocate(),
                    Some("bad-receipt") => return Ok(Receipt { id: String::new(), version: None }),
                    _ => {}
                }
            }
            _ => misbehave()?,
        }
        if behaviour() == "get-then-panic" {
            panic!("after the look-up");
        }
        let id = match write {
            Write::CreatePatient(patient) => format!("{}-{}", patient.first_name, patient.last_name),
            Write::CreateAppointment(change) => {
                format!("{}..{}#{number}", change.appointment.start, change.appointment.end)
            }
            Write::CancelAppointment(change) => change.reason.unwrap_or_default(),
            other => return Err(Fault::unsupported(format!("{other:?}"))),
        };
        Ok(Receipt { id, version: Some(write_key) })
    }

    fn find(write_key: String, _: Write) -> Result<Option<Receipt>, Fault> {
        if behaviour() == "gated" {
            let found = through_gate(http::Method::Get, &format!("/writes/{write_key}"), None)?;
            return Ok(found.map(|id| Receipt { id, version: None }));
        }
        if behaviour() == "bad-receipt" {
            return Ok(Some(Receipt { id: "x".repeat(201), version: None }));
        }
        misbehave()?;
        Ok(None)
    }
}

export_adapter!(Hostile);

fn behaviour() -> String {
    config::get("behaviour").unwrap_or_default()
}

/// The misbehaviours possible in any call.
fn misbehave() -> Result<(), Fault> {
    match behaviour().as_str() {
        "spin" => spin(),
        "allocate" => allocate(),
        "panic" => panic!("a bug in the adapter"),
        "recurse" => {
            std::hint::black_box(recurse(0));
        }
        // The test sees where the call begins.
        "by-resource" => {
            clock::now();
        }
        "std-clock" => {
            std::hint::black_box(std::time::Instant::now());
        }
        "far-instant" => {
            clock::to_local(i64::MAX);
        }
        "log-flood" => flood_the_log(),
        "flood-and-panic" => {
            flood_the_log();
            panic!("a bug in the adapter");
        }
        "fault" => return Err(Fault::rejected(format!("no\n{}", "x".repeat(5_000)))),
        "say" => {
            let text = config::get("text").unwrap_or_default();
            adapter_sdk::log::write(Level::Warn, &text);
            return Err(Fault::rejected(text));
        }
        "gate-closed" => return Err(Fault::GateClosed),
        "hang" => {
            http::get("/hang").send()?;
        }
        _ => {}
    }
    Ok(())
}

fn flood_the_log() {
    for n in 0..1_000 {
        adapter_sdk::log::write(Level::Info, &format!("line {n}\nforged line {}", "x".repeat(5_000)));
    }
}

/// Misbehaviours of `pull` only, which need a readable location.
fn endless(resource: Resource, cursor: Option<&str>, limit: u32) -> Option<Result<Page, Fault>> {
    let from: u32 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let (records, weight) = match behaviour().as_str() {
        "hang-in-pull" => return http::get("/hang").send().err().map(Err),
        "spin-in-pull" => spin(),
        "by-resource" => match resource {
            Resource::Providers => spin(),
            Resource::Operatories => return http::get("/slow").send().err().map(Err),
            _ => return None,
        },
        "fat-pages" => (u32::MAX, 40_000),
        "many-patients" => (config::get("records").and_then(|count| count.parse().ok()).unwrap_or(60_000), 100),
        _ => return None,
    };
    let until = if resource == Resource::Patients { records.min(from.saturating_add(limit)) } else { from };
    let patient = |n: u32| {
        Record::Patient(Patient {
            id: n.to_string(),
            first_name: "Ada".into(),
            last_name: format!("Number{n}"),
            premedication: Some("x".repeat(weight)),
            ..Default::default()
        })
    };
    let last = resource != Resource::Patients || until == records;
    let cursor = until.to_string();
    Some(Ok(Page { records: (from..until).map(patient).collect(), cursor, last, whole: true, ..Default::default() }))
}

/// Returns the name for `describe`: the guest's view of its environment.
fn environment_report() -> Result<String, Fault> {
    let shown = |answer: Result<http::Response, http::Error>| match answer {
        Ok(answer) => {
            format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body[..answer.body.len().min(100)]))
        }
        Err(http::Error::NotSent(why)) => format!("not sent: {why}"),
        Err(http::Error::NoAnswer(why)) => format!("no answer: {why}"),
        Err(http::Error::Refused(why)) => format!("refused: {why}"),
    };
    let request = |path: String| {
        let headers = config::get("header").map(|name| http::Header::new(name, "mine")).into_iter().collect();
        http::request(&http::Request { method: http::Method::Get, path, headers, body: None })
    };
    Ok(match behaviour().as_str() {
        "get" => shown(request(config::require("path")?)),
        "many-requests" => {
            let last = (0..1_000).map(|n| request(format!("/{n}"))).enumerate().find(|(_, answer)| answer.is_err());
            last.map(|(n, answer)| format!("request {n} {}", shown(answer))).unwrap_or_default()
        }
        "config" => {
            format!("{:?} {:?} {:?}", config::get("location"), config::get("time-zone"), config::get("nothing"))
        }
        "clock" => {
            let overlap = clock::to_instant("2026-11-01T01:30:00");
            format!("{} {overlap:?} {}", clock::now(), clock::to_local(overlap[0]).abbreviation)
        }
        "gate" => {
            let answer =
                gate::send(&http::Request { method: http::Method::Get, path: "/".into(), headers: vec![], body: None });
            format!("{:?} {}", gate::current(), shown(answer))
        }
        "named" => config::get("text").unwrap_or_default(),
        "huge-name" => "n".repeat(40 << 20),
        _ => "hostile".into(),
    })
}

/// Returns the body of a response with status 200, or `None` for another status.
fn through_gate(method: http::Method, path: &str, body: Option<Vec<u8>>) -> Result<Option<String>, Fault> {
    let reads = method == http::Method::Get;
    let request = http::Request { method, path: path.into(), headers: vec![], body };
    let answer = gate::send(&request).map_err(|error| http::fault_of_error(error, reads))?;
    Ok((answer.status == 200).then(|| String::from_utf8_lossy(&answer.body).into_owned()))
}

fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = std::hint::black_box(turns.wrapping_add(1));
    }
}

fn allocate() -> ! {
    let mut held: Vec<Vec<u8>> = Vec::new();
    loop {
        held.push(std::hint::black_box(vec![1; 1 << 20]));
    }
}

#[allow(unconditional_recursion, reason = "that is the point")]
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    recurse(depth + 1) + frame[0]
}

fn record(resource: Resource, id: String) -> Record {
    if let Some(given) = config::get("record") {
        let fields = serde_json::from_str(&given).expect("the test gives JSON");
        return json::record(resource, fields).expect("the test gives a record of this resource");
    }
    let bad = behaviour();
    let is = |name: &str| bad == name;
    let id = match bad.as_str() {
        "empty-id" => String::new(),
        "long-id" => "i".repeat(201),
        _ => id,
    };
    match resource {
        Resource::Patients => Record::Patient(Patient {
            id,
            first_name: if is("huge-text") { "n".repeat(1 << 20) } else { "Ada".into() },
            gender: is("other-gender").then_some(Gender::Other),
            date_of_birth: is("bad-date").then(|| "2026-02-30".into()),
            extra: if is("many-extras") { vec![ExtraValue::new("a", "b"); 65] } else { vec![] },
            ..Default::default()
        }),
        Resource::Providers => Record::Provider(Provider { id, ..Default::default() }),
        Resource::Operatories => Record::Operatory(Operatory {
            id,
            appointment_types: if is("many-references") { vec!["t".into(); 1_001] } else { vec![] },
            ..Default::default()
        }),
        Resource::AppointmentTypes => Record::AppointmentType(AppointmentType {
            id,
            minutes: if is("bad-minutes") { 1_441 } else { 30 },
            ..Default::default()
        }),
        Resource::WorkingHours => Record::WorkingHour(WorkingHour {
            id,
            provider: "p".into(),
            operatory: None,
            begin_time: if is("bad-time") { "24:00".into() } else { "09:00".into() },
            end_time: "24:00".into(),
            days: vec![],
            specific_date: (!is("no-day")).then(|| "2026-01-05".into()),
            recurrence: None,
            kind: HourKind::WorkingHour,
            appointment_types: vec![],
            label: None,
            active: true,
            extra: vec![],
        }),
        _ => Record::Appointment(Appointment {
            id,
            start: if is("far-start") { i64::MIN } else { 1_000 },
            end: if is("bad-end") { 1_000 } else { 1_900 },
            ..Default::default()
        }),
    }
}
