//! The interpreter of the story scripts. Each line is a command with its expected reply, or an expectation. After each
//! command the invariants are checked; at the end of a story, replaying the journal must give the same state.
//!
//! Lines below a command that begin with `+` are all its events in order, those with `>` all its calls. `*` in an
//! expectation matches anything. Lines with `|` are the records of a page. The stories are the only documentation of
//! the format.

mod rules;
mod text;
mod world;

use std::path::Path;

use location::{
    command::{
        Book, BookGroup, BookPatient, Closed, Command, Failure, Hold, KeyUse, LateAppointment, OfferedSlot, Outcome,
        PulledAppointment, PulledOperatory, PulledPage, PulledReplaced, Reschedule, Retried, RetriedAppointment, Save,
        Written,
    },
    gate::{Gate, Shut},
    hours::{HourSource, WorkingHour},
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId, PatientId, WorkingHourId, WriteId},
    intent::{ChangedDetails, WriteIntent},
    order::OrderingKey,
    pull::Resource,
    replacement::{ForgottenVisit, Replaced},
    resource::Operation,
};

use text::{directions, id, length, like, optional, place, resource, time};
use world::{StoryWorld, hour};

/// One line of a script, split into words. Quotes keep several words together.
struct Line {
    number: usize,
    text: String,
    words: Vec<String>,
}

/// Runs all stories of a file and reports those that fail.
pub fn run(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories").join(file);
    let script = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines: Vec<Line> = script.lines().enumerate().filter_map(|(index, text)| read(index + 1, text)).collect();
    let (mut count, mut failures) = (0, Vec::new());
    for story in lines.split(|line| line.words[0] == "story").skip(1) {
        count += 1;
        if let Err(failure) = tell(story) {
            failures.push(format!("tests/stories/{file}:{failure}"));
        }
    }
    assert!(count > 0, "{file} has no story");
    assert!(failures.is_empty(), "{} of {count} stories fail\n{}", failures.len(), failures.join("\n"));
}

fn read(number: usize, text: &str) -> Option<Line> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    Some(Line { number, text: text.to_owned(), words })
}

fn tell(story: &[Line]) -> Result<(), String> {
    let mut world = StoryWorld::new();
    let mut rest = story;
    while let Some((line, after)) = rest.split_first() {
        let details = after.iter().take_while(|line| line.text.starts_with(['+', '>', '|'])).count();
        let (details, after) = after.split_at(details);
        rest = after;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(&mut world, line, details)));
        outcome.map_err(|panic| panicked(line, &*panic))??;
    }
    world.same_after_replay().map_err(|difference| format!("{}: {difference}", story.last().unwrap().number))
}

fn panicked(line: &Line, panic: &(dyn std::any::Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    format!("{}: `{}` panics: {}", line.number, line.text, message.unwrap_or_default())
}

fn step(world: &mut StoryWorld, line: &Line, details: &[Line]) -> Result<(), String> {
    let at = |message: String| format!("{}: `{}`: {message}", line.number, line.text);
    let words = &line.words[..];
    match words[0].as_str() {
        "at" => world.set_time(time(world.now, &words[1]).map_err(at)?),
        // Sets the clock only; `set_back` adjusts pending times.
        "clock" => world.now = world.now.minus(length(&words[2]).map_err(at)?),
        "after" => world.set_time(world.now.plus(length(&words[1]).map_err(at)?)),
        "random" => world.random = words[1].parse().map_err(|_| at("no number".into()))?,
        "settings" => words[1..].iter().try_for_each(|word| world.set(word)).map_err(at)?,
        "rules" => words[1..].iter().try_for_each(|word| world.set_rule(word)).map_err(at)?,
        "expect" => world.expect(&words[1..]).map_err(at)?,
        "restart" => world.restart(),
        // A search, hold or booking, which makes the rhythm faster.
        "intent" => world.intent(),
        // `prefetch appointments 3`: requests the page after the one of call 3.
        "prefetch" => {
            let call = words[2].parse().map_err(|_| at("which call?".into()))?;
            world.prefetch(resource(&words[1]).map_err(at)?, call).map_err(at)?;
        }
        _ => return command(world, line, details),
    }
    Ok(())
}

/// Runs the command of a line and compares its reply, events and calls.
fn command(world: &mut StoryWorld, line: &Line, details: &[Line]) -> Result<(), String> {
    let at = |message: String| format!("{}: `{}`: {message}", line.number, line.text);
    let arrow = line.words.iter().position(|word| word == "->").unwrap_or(line.words.len());
    let records: Vec<&Line> = details.iter().filter(|line| line.text.starts_with('|')).collect();
    let command = parse(world, &line.words[..arrow], &records).map_err(at)?;
    let (now, decision) = (world.now, world.run(&command));
    let reply = text::reply(now, &decision.reply);
    if arrow < line.words.len() {
        let expected = line.text.split_once("-> ").map_or("", |(_, expected)| expected);
        if !like(expected, &reply) {
            return Err(at(format!("\n  expected  {expected}\n  got       {reply}")));
        }
    } else if reply.starts_with("refused") {
        return Err(at(format!("got {reply}")));
    }
    let events = decision.events.iter().map(|event| text::event(now, event)).collect();
    compare(line, details, '+', "events", events)?;
    let calls = decision.calls.iter().map(|call| text::call(now, call)).collect();
    compare(line, details, '>', "calls", calls)
}

fn compare(line: &Line, details: &[Line], mark: char, what: &str, got: Vec<String>) -> Result<(), String> {
    let expected: Vec<(usize, &str)> =
        details.iter().filter_map(|line| line.text.strip_prefix(mark).map(|text| (line.number, text.trim()))).collect();
    if expected.is_empty() {
        return Ok(());
    }
    let wanted: Vec<_> = expected.iter().filter(|(_, text)| *text != "nothing").collect();
    let differs = wanted.iter().zip(&got).find(|((_, pattern), text)| !like(pattern, text));
    if differs.is_none() && wanted.len() == got.len() {
        return Ok(());
    }
    let number = differs.map_or(expected[0].0, |((number, _), _)| *number);
    let list = |lines: Vec<&str>| lines.iter().map(|line| format!("\n    {mark} {line}")).collect::<String>();
    let (wanted, got) = (wanted.iter().map(|(_, text)| *text).collect(), got.iter().map(String::as_str).collect());
    Err(format!("{number}: {what} of `{}`\n  expected{}\n  got{}", line.text, list(wanted), list(got)))
}

/// Parses `closed op2 closed_type`: the operatories and types that the caller may not book.
fn closed(options: &mut Options) -> Result<Closed, String> {
    let operatories = options.value("closed").map(|word| id("op", &word)).transpose()?;
    Ok(Closed {
        operatories: operatories.map(OperatoryId).into_iter().collect(),
        appointment_type: options.flag("closed_type"),
    })
}

/// Parses `key k1 data x claimed l1`.
fn key_use(options: &mut Options) -> Result<Option<KeyUse>, String> {
    let fingerprint = options.value("data").unwrap_or_default();
    let claimed_by = options.value("claimed").map(|word| id("l", &word)).transpose()?.map(LocationId);
    Ok(options.value("key").map(|key| KeyUse { key, fingerprint, claimed_by }))
}

/// Parses `a1 op1 prov1 10:00 30m patient p1` and the options of a booking.
fn booking(world: &StoryWorld, words: &[String]) -> Result<Book, String> {
    let mut options = Options { words: words.to_vec() };
    let patient = options.value("patient").ok_or("whose?")?;
    Ok(Book {
        appointment: AppointmentId(id("a", words.first().ok_or("which appointment?")?)?),
        offer: offer(world, words.get(1..5), &mut options)?,
        key: key_use(&mut options)?,
        patient: BookPatient {
            id: PatientId(id("p", &patient)?),
            is_new: options.flag("new"),
            missing_fields: options
                .value("missing")
                .map_or(Vec::new(), |list| list.split(',').map(str::to_owned).collect()),
            date_of_birth: options.value("born").map(|word| word.parse()).transpose().map_err(|_| "born when?")?,
        },
        by_rules: !options.flag("staff"),
    })
}

/// Parses a place and the options of an offer: `type t5 expires 10:00 hold h1 channel voice`.
fn offer(world: &StoryWorld, words: Option<&[String]>, options: &mut Options) -> Result<OfferedSlot, String> {
    let now = world.now;
    let place = place(now, words.ok_or("a place is missing")?)?;
    let expires = options.value("expires").map_or(Ok(now.plus(600_000)), |word| time(now, &word))?;
    let appointment_type = options.value("type").map(|word| id("t", &word)).transpose()?.map(AppointmentTypeId);
    Ok(OfferedSlot {
        appointment_type,
        hold: options.value("hold").map_or(Ok(0), |word| id("h", &word))?,
        closed: closed(options)?,
        channel: options.value("channel"),
        rules: offered_under(world, options, appointment_type)?,
        ..OfferedSlot::new(place, expires)
    })
}

fn parse(world: &StoryWorld, words: &[String], records: &[&Line]) -> Result<Command, String> {
    let now = world.now;
    let word = |index: usize| words.get(index).map(String::as_str).ok_or(format!("word {index} is missing"));
    let places = |from: usize| words.get(from..from + 4).ok_or("a place is missing".to_owned());
    let mut options = Options { words: words.to_vec() };
    Ok(match word(0)? {
        "book" => Command::Book(booking(world, &words[1..])?),
        // `book_group key k1 data x`, with a booking per line: `| a1 op1 prov1 10:00 30m patient p1`
        "book_group" => {
            let bookings = records.iter().map(|line| booking(world, &line.words[1..])).collect::<Result<_, _>>()?;
            Command::BookGroup(BookGroup { bookings, key: key_use(&mut options)? })
        }
        // `hold h1 op1 prov1 10:00 30m`
        "hold" => Command::Hold(Hold {
            offer: offer(world, words.get(2..6), &mut options)?,
            holder: options.value("holder").map(|word| id("k", &word)).transpose()?,
        }),
        "release" => Command::Release { hold: id("h", word(1)?)? },
        "move" => Command::Move {
            appointment: AppointmentId(id("a", word(1)?)?),
            to: place(now, places(2)?)?,
            join_blocks: true,
        },
        // `reschedule a1 op2 prov1 11:00 30m key k1 data x hold h1`; with `visit t5`, the visit is of that type
        "reschedule" => Command::Reschedule(Reschedule {
            appointment: AppointmentId(id("a", word(1)?)?),
            appointment_type: options.value("visit").map(|word| id("t", &word)).transpose()?.map(AppointmentTypeId),
            offer: offer(world, words.get(2..6), &mut options)?,
            key: key_use(&mut options)?,
        }),
        "confirm" => Command::Confirm { appointment: AppointmentId(id("a", word(1)?)?) },
        "cancel" => Command::Cancel { appointment: AppointmentId(id("a", word(1)?)?), reason: words.get(2).cloned() },
        // `change a1 note confirmation to op1 prov1 10:00 30m`
        "change" => {
            let to =
                words.iter().position(|word| word == "to").map(|index| place(now, places(index + 1)?)).transpose()?;
            Command::Change {
                appointment: AppointmentId(id("a", word(1)?)?),
                to,
                join_blocks: true,
                what: ChangedDetails {
                    confirmation: options.flag("confirmation"),
                    check_in: options.flag("check_in"),
                    note: options.flag("note"),
                },
            }
        }
        // `save payments 7 create patient p1`; without a patient, the record has its own ordering key
        "save" => {
            let (resource, id) = (resource(word(1)?)?, text::id("", word(2)?)?);
            let operation = text::OPERATIONS.iter().find(|(name, _)| Ok(*name) == word(3)).ok_or("no operation")?.1;
            let patient = options.value("patient").map(|word| text::id("p", &word)).transpose()?.map(PatientId);
            let ordering_key = patient.map_or(OrderingKey::Record { resource, id }, OrderingKey::Patient);
            Command::Save(Save { resource, id, operation, ordering_key, here_only: options.flag("here_only") })
        }
        // `set_hour 50 op1 prov1 until 17`
        "set_hour" => {
            let hour = own_hour(&words[1..])?;
            Command::SetHour { hour, here_only: options.flag("here_only") }
        }
        // `hour_twin_found 60 by 50 op1 prov1 until 17`, `hour_twin_found 60 gone 50`
        "hour_twin_found" => Command::HourDuplicateFound {
            duplicate: WorkingHourId(id("", word(1)?)?),
            local: WorkingHourId(id("", word(3)?)?),
            shown: if word(2)? == "gone" { None } else { Some(own_hour(&words[3..])?) },
        },
        "remove_hour" => Command::RemoveHour { hour: WorkingHourId(id("", word(1)?)?) },
        // `retry w3`, with the data of the journal; `with op1 prov1 10:00 30m patient p1` for an appointment, `with 50
        // op1 prov1` for hours
        "retry" => Command::RetryWrite(world.failed(WriteId(id("w", word(1)?)?), |work| {
            Ok(match work {
                WriteIntent::CreateAppointment(_) => Retried::Appointment(RetriedAppointment {
                    placement: place(now, places(3)?)?,
                    appointment_type: None,
                    patient: PatientId(id("p", word(8)?)?),
                }),
                WriteIntent::Record { resource: Resource::WorkingHours, operation: Operation::Create, .. } => {
                    Retried::Hour(own_hour(&words[3..])?)
                }
                _ => Retried::Record,
            })
        })?),
        "drop" => {
            let write = WriteId(id("w", word(1)?)?);
            Command::DropWrite { write, failed: options.flag("failed") }
        }
        "wake" => Command::Wake,
        // Follows `clock back 1d`. Lines with `|` are appointments that the state lacks.
        "set_back" => {
            Command::ClockSetBack { by: length(word(1)?)?, forgotten: page(world, options, records)?.appointments }
        }
        "taken_over" => Command::TakenOver,
        "read_interrupted" => Command::ReadInterrupted,
        "restored" => Command::Restored,
        "sync" => Command::SyncNow,
        // `read` requests a read of the appointments, `read everything` a cycle.
        "read" => Command::RequestRead { everything: options.flag("everything") },
        "requests" => Command::RequestsSent { requests: word(1)?.parse().map_err(|_| "how many requests?")? },
        "gate" => Command::Gate(match word(1)? {
            "open" => Gate::Open,
            "no_workstation" => Gate::Shut(Shut::NoWorkstation),
            "logged_out" => Gate::Shut(Shut::LoggedOut),
            "paused" => Gate::Shut(Shut::Paused),
            other => return Err(format!("`{other}` is no gate")),
        }),
        "pause" => Command::Pause { which: directions(word(1)?)? },
        "resume" => Command::Resume { which: directions(word(1)?)? },
        // `described`, or its failure: `described retry "refused"`
        "described" => {
            let failed = words.get(1..).filter(|words| !words.is_empty()).map(outcome).transpose()?;
            Command::Described { outcome: failed.map_or(Ok(()), |outcome| outcome.map(drop)) }
        }
        "accept" => Command::AcceptDeletions { resource: resource(word(1)?)? },
        "pushed" => Command::Pushed {
            write: WriteId(id("w", word(1)?)?),
            attempt: word(2)?.parse().map_err(|_| "which attempt?")?,
            outcome: outcome(&words[3..])?
                .and_then(|written| written.ok_or(Failure::Rejected("a push cannot find nothing".into()))),
        },
        "found" => Command::Found {
            write: WriteId(id("w", word(1)?)?),
            attempt: word(2)?.parse().map_err(|_| "which attempt?")?,
            outcome: outcome(&words[3..])?,
        },
        "page" => Command::Pulled {
            resource: resource(word(1)?)?,
            call: word(2)?.parse().map_err(|_| "which call?")?,
            outcome: Ok(page(world, options, records)?),
        },
        "pulled" => Command::Pulled {
            resource: resource(word(1)?)?,
            call: word(2)?.parse().map_err(|_| "which call?")?,
            outcome: Err(outcome(&words[3..])?.err().ok_or("a page is written `page`")?),
        },
        other => return Err(format!("`{other}` is no command")),
    })
}

/// Parses the rules of the offer: `under same` for the present ones, or `under other`. Without it, the digest is
/// unknown.
fn offered_under(
    world: &StoryWorld,
    options: &mut Options,
    appointment_type: Option<AppointmentTypeId>,
) -> Result<Option<u64>, String> {
    match options.value("under").as_deref() {
        None => Ok(None),
        Some("same") => Ok(Some(world.rules_digest(appointment_type))),
        Some("other") => Ok(Some(1)),
        Some(rules) => Err(format!("`{rules}` are no rules of an offer")),
    }
}

/// Parses `50 op1 prov1 until 17`: hours of every day, from 8 to 18 by default.
fn own_hour(words: &[String]) -> Result<WorkingHour, String> {
    let word = |index: usize| words.get(index).map(String::as_str).ok_or("hours are written `50 op1 prov1`".to_owned());
    let manual = hour(id("", word(0)?)?, id("op", word(1)?)?, id("prov", word(2)?)?);
    let until: Option<u16> = Options { words: words.to_vec() }
        .value("until")
        .map(|hour| hour.parse().map_err(|_| "until when?"))
        .transpose()?;
    let end = until.map_or(manual.end, |hour| hour * 60);
    Ok(WorkingHour { source: HourSource::Manual, end, ..manual })
}

/// Words of a line that may be at any position.
struct Options {
    words: Vec<String>,
}

impl Options {
    fn flag(&self, name: &str) -> bool {
        self.words.iter().any(|word| word == name)
    }

    fn value(&mut self, name: &str) -> Option<String> {
        let index = self.words.iter().position(|word| word == name)?;
        self.words.get(index + 1).cloned()
    }
}

/// Parses `written f1`, `nothing`, or a failure.
fn outcome(words: &[String]) -> Result<Outcome<Option<Written>>, String> {
    let reason = words.get(1).cloned().unwrap_or_default();
    Ok(match words.first().map(String::as_str).ok_or("with what outcome?")? {
        "written" => Ok(Some(Written { foreign_id: reason, version: None })),
        "nothing" => Ok(None),
        "rejected" => Err(Failure::Rejected(reason)),
        "retry" => {
            let after = words.get(3).map(|word| length(word)).transpose()?;
            Err(Failure::RetryLater { reason, after })
        }
        "unknown" => Err(Failure::Unknown(reason)),
        "unauthorized" => Err(Failure::Unauthorized(reason)),
        "unsupported" => Err(Failure::Unsupported(reason)),
        "gate_closed" => Err(Failure::GateClosed),
        "not_ready" => Err(Failure::NotReady(reason)),
        "not_begun" => Err(Failure::NotBegun(reason)),
        "of_another" => Err(Failure::OfAnother(reason)),
        "never_sent" => Err(Failure::NeverSent(reason)),
        other => return Err(format!("`{other}` is no outcome")),
    })
}

fn page(world: &StoryWorld, mut options: Options, records: &[&Line]) -> Result<PulledPage, String> {
    let mut page = PulledPage {
        cursor: options.value("cursor").unwrap_or_default(),
        last: options.flag("last"),
        whole: options.flag("whole"),
        known: options.value("known").map_or(Ok(0), |word| word.parse().map_err(|_| "how many are known?"))?,
        estimate: options
            .value("estimate")
            .map(|word| word.parse().map_err(|_| "how many are announced?"))
            .transpose()?,
        unmatched: options.value("unmatched").map_or(Ok(0), |word| word.parse().map_err(|_| "how many unmatched?"))?,
        outdated: options.flag("outdated"),
        ..PulledPage::default()
    };
    for line in records {
        let words = &line.words[1..];
        let word = |index: usize| words.get(index).map(String::as_str).ok_or(format!("`{}` is too short", line.text));
        match word(0)? {
            "seen" => page.seen.extend(numbers(&words[1..])?),
            "deleted" => page.deleted.extend(numbers(&words[1..])?),
            "past_deleted" => page.past_deleted.extend(numbers(&words[1..])?),
            "absent" => page.absent.extend(numbers(&words[1..])?),
            // `replaced a1 w2 op1 prov1 10:00 30m`, or `replaced a1 w2 gone`
            "replaced" => {
                let replaced = WriteId(id("w", word(2)?)?);
                page.seen.push(Replaced::pass_id(replaced));
                page.replaced.push(PulledReplaced {
                    appointment: AppointmentId(id("a", word(1)?)?),
                    replaced,
                    placement: match word(3)? {
                        "gone" => None,
                        _ => Some(place(world.now, words.get(3..7).ok_or("a place is missing")?)?),
                    },
                });
            }
            // `old a1 op1 prov1 10:00 30m`, or `old a1 gone`
            "old" => page.old.push((
                AppointmentId(id("a", word(1)?)?),
                match word(2)? {
                    "gone" => None,
                    _ => Some(place(world.now, words.get(2..6).ok_or("a place is missing")?)?),
                },
            )),
            // `late a1 f9 op1 prov1 10:00 30m`; `patient p1` if the document shows the visit as cancelled
            "late" => {
                let placement = place(world.now, words.get(3..7).ok_or("a place is missing")?)?;
                let patient = Options { words: words.to_vec() }.value("patient");
                let patient = patient.map(|word| id("p", &word)).transpose()?.map(PatientId);
                page.late.push(LateAppointment {
                    appointment: AppointmentId(id("a", word(1)?)?),
                    placement,
                    visit: patient.map(|patient| ForgottenVisit {
                        patient,
                        appointment_type: None,
                        placement,
                        gone: true,
                    }),
                    written: Written { foreign_id: word(2)?.to_owned(), version: None },
                });
            }
            "operatory" => {
                let id = OperatoryId(id("op", word(1)?)?);
                page.seen.push(id.0);
                page.operatories.push(PulledOperatory { id, active: word(2)? == "active" });
            }
            "hour" => {
                let mut hour = own_hour(&words[1..])?;
                page.seen.push(hour.id.0.into());
                let mut options = Options { words: words.to_vec() };
                if !options.flag("ours") {
                    hour.source = HourSource::Synced;
                }
                let only = options.value("only").map(|word| text::id("t", &word)).transpose()?;
                hour.appointment_types.extend(only.map(AppointmentTypeId));
                page.hours.push(hour);
            }
            _ => {
                let mut options = Options { words: words.to_vec() };
                let id = AppointmentId(id("a", word(0)?)?);
                page.seen.push(id.0);
                let patient = options.value("patient").map_or(Ok(None), |word| optional("p", &word))?;
                let replacement =
                    options.value("replacement").map(|word| text::id("w", &word)).transpose()?.map(WriteId);
                let foreign_id = options.value("foreign").unwrap_or(format!("f{id}"));
                let kind = options.value("type").map(|word| text::id("t", &word)).transpose()?;
                page.appointments.push(PulledAppointment {
                    id,
                    patient: patient.map(PatientId),
                    appointment_type: kind.map(AppointmentTypeId),
                    placement: place(world.now, words.get(1..5).ok_or("a place is missing")?)?,
                    unavailable: options.flag("unavailable"),
                    cancelled: options.flag("cancelled"),
                    written: Written { foreign_id, version: None },
                    replacement,
                });
            }
        }
    }
    page.records = u32::try_from(page.seen.len()).unwrap_or(u32::MAX);
    Ok(page)
}

/// Parses `1`, `a1` or an inclusive range `1..20`.
fn numbers(words: &[String]) -> Result<Vec<u64>, String> {
    let mut numbers = Vec::new();
    for word in words {
        let bare = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
        match bare.split_once("..") {
            Some((first, last)) => numbers.extend(number(first)?..=number(last)?),
            None => numbers.push(number(bare)?),
        }
    }
    Ok(numbers)
}
