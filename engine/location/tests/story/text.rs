//! The notation of stories: ids, times, placements, events, calls and replies.

use location::{
    calendar::Holder,
    command::{Placement, PulledOperatory},
    decision::{Call, Refusal, Reply},
    event::{Blocked, CallKind, CancelledBy, Event, InsertFailure, MoveReason},
    gate::{Gate, Shut},
    ids::{OperatoryId, ProviderId},
    intent::WriteIntent,
    order::OrderingKey,
    pause::Directions,
    pull::Resource,
    replacement::Replacement,
    resource::Operation,
    slots::Fit,
    time::{DAY, HOUR, MINUTE, Millis, SECOND, Span, Timestamp},
    zone::Date,
};

pub const RESOURCES: [(&str, Resource); 9] = [
    ("providers", Resource::Providers),
    ("operatories", Resource::Operatories),
    ("types", Resource::AppointmentTypes),
    ("patients", Resource::Patients),
    ("hours", Resource::WorkingHours),
    ("appointments", Resource::Appointments),
    ("plans", Resource::InsurancePlans),
    ("coverages", Resource::Coverages),
    ("payments", Resource::Payments),
];

pub fn resource(name: &str) -> Result<Resource, String> {
    let found = RESOURCES.iter().find(|(known, _)| *known == name);
    found.map(|(_, resource)| *resource).ok_or(format!("`{name}` is no resource"))
}

fn name(resource: Resource) -> &'static str {
    RESOURCES.iter().find(|(_, known)| *known == resource).unwrap().0
}

/// Parses `a12` with prefix `a` as 12.
pub fn id<T: std::str::FromStr>(prefix: &str, word: &str) -> Result<T, String> {
    let number = word.strip_prefix(prefix).and_then(|number| number.parse().ok());
    number.ok_or(format!("`{word}` is not written `{prefix}1`"))
}

pub fn optional<T: std::str::FromStr>(prefix: &str, word: &str) -> Result<Option<T>, String> {
    if word == "-" { Ok(None) } else { id(prefix, word).map(Some) }
}

fn day_of(t: Timestamp) -> i64 {
    t.0.div_euclid(DAY)
}

/// Parses `10:00`, `10:00:05.250`, or a time with date like `2026-12-02T10:00`.
pub fn time(now: Timestamp, word: &str) -> Result<Timestamp, String> {
    let wrong = || format!("`{word}` is no time");
    let (day, clock) = match word.split_once('T') {
        None => (day_of(now), word),
        Some((date, clock)) => {
            let parts: Vec<i32> = date.split('-').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
            let [year, month, day] = parts[..] else { return Err(wrong()) };
            (i64::from(Date::from_ymd(year, month as u32, day as u32).ok_or_else(wrong)?.0), clock)
        }
    };
    let (clock, millis) = clock.split_once('.').unwrap_or((clock, "0"));
    let parts: Vec<i64> = clock.split(':').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
    let millis: i64 = millis.parse().map_err(|_| wrong())?;
    let (hours, minutes, seconds) = match parts[..] {
        [hours, minutes] => (hours, minutes, 0),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return Err(wrong()),
    };
    Ok(Timestamp(day * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND + millis))
}

pub fn show_time(now: Timestamp, t: Timestamp) -> String {
    let of_day = t.0.rem_euclid(DAY);
    let (hours, minutes) = (of_day / HOUR, of_day % HOUR / MINUTE);
    let mut text = format!("{hours:02}:{minutes:02}");
    if of_day % MINUTE != 0 {
        text += &format!(":{:02}", of_day % MINUTE / SECOND);
    }
    if of_day % SECOND != 0 {
        text += &format!(".{:03}", of_day % SECOND);
    }
    if day_of(t) == day_of(now) {
        return text;
    }
    let (year, month, day) = Date(day_of(t).clamp(Date::MIN.0.into(), Date::MAX.0.into()) as i32).ymd();
    format!("{year:04}-{month:02}-{day:02}T{text}")
}

/// Parses `250ms`, `30s`, `5m`, `2h` or `3d`.
pub fn length(word: &str) -> Result<Millis, String> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: Millis = digits.parse().map_err(|_| format!("`{word}` is no length of time"))?;
    let unit = match &word[digits.len()..] {
        "ms" => 1,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return Err(format!("`{word}` has no unit of time")),
    };
    Ok(number * unit)
}

pub fn show_length(length: Millis) -> String {
    match length {
        length if length % MINUTE == 0 => format!("{}m", length / MINUTE),
        length if length % SECOND == 0 => format!("{}s", length / SECOND),
        length => format!("{length}ms"),
    }
}

/// Parses `op1 prov1 10:00 30m`.
pub fn place(now: Timestamp, words: &[String]) -> Result<Placement, String> {
    let [operatory, provider, start, long] = words else { return Err("a place is `op1 prov1 10:00 30m`".into()) };
    let start = time(now, start)?;
    let span = Span { start, end: start.plus(length(long)?) };
    let operatory = optional("op", operatory)?.map(OperatoryId);
    Ok(Placement { operatory, provider: optional("prov", provider)?.map(ProviderId), span })
}

pub fn show_place(now: Timestamp, place: &Placement) -> String {
    let operatory = place.operatory.map_or("-".into(), |id| format!("op{id}"));
    let provider = place.provider.map_or("-".into(), |id| format!("prov{id}"));
    let (start, long) = (show_time(now, place.span.start), show_length(place.span.length()));
    format!("{operatory} {provider} {start} {long}")
}

fn show_work(work: WriteIntent) -> String {
    match work {
        WriteIntent::CreatePatient(id) => format!("create_patient p{id}"),
        WriteIntent::CreateAppointment(id) => format!("create_appointment a{id}"),
        WriteIntent::Reschedule(id) => format!("reschedule a{id}"),
        WriteIntent::Replace(id) => format!("replace a{id}"),
        WriteIntent::CancelReplaced { appointment, replaced } => format!("cancel_replaced a{appointment} w{replaced}"),
        WriteIntent::Cancel(id) => format!("cancel a{id}"),
        WriteIntent::Confirm(id) => format!("confirm a{id}"),
        WriteIntent::CheckIn(id) => format!("check_in a{id}"),
        WriteIntent::Note(id) => format!("note a{id}"),
        WriteIntent::Record { resource, id, operation } => {
            format!("{} {} {id}", show_operation(operation), name(resource))
        }
    }
}

pub const OPERATIONS: [(&str, Operation); 3] =
    [("create", Operation::Create), ("update", Operation::Update), ("delete", Operation::Delete)];

fn show_operation(operation: Operation) -> &'static str {
    OPERATIONS.iter().find(|(_, known)| *known == operation).unwrap().0
}

fn show_ordering_key(ordering_key: OrderingKey) -> String {
    match ordering_key {
        OrderingKey::Patient(patient) => format!("p{patient}"),
        OrderingKey::Record { resource, id } => format!("{}/{id}", name(resource)),
    }
}

fn show_how(how: InsertFailure) -> &'static str {
    match how {
        InsertFailure::Failed => "failed",
        InsertFailure::TimedOut => "timed_out",
        InsertFailure::Withdrawn => "withdrawn",
    }
}

pub fn show_kind(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Push => "push",
        CallKind::Find => "find",
    }
}

pub fn show_blocked(why: Blocked) -> &'static str {
    match why {
        Blocked::Breaker => "breaker",
        Blocked::GateClosed => "gate_closed",
        Blocked::Unauthorized => "unauthorized",
    }
}

fn show_gate(gate: Gate) -> &'static str {
    match gate {
        Gate::Open => "open",
        Gate::Shut(Shut::NoWorkstation) => "no_workstation",
        Gate::Shut(Shut::LoggedOut) => "logged_out",
        Gate::Shut(Shut::Paused) => "paused",
    }
}

pub fn directions(word: &str) -> Result<Directions, String> {
    match word {
        "reading" => Ok(Directions { reading: true, writing: false }),
        "writing" => Ok(Directions { reading: false, writing: true }),
        "both" => Ok(Directions { reading: true, writing: true }),
        other => Err(format!("`{other}` is no direction")),
    }
}

fn show_directions(it: Directions) -> &'static str {
    match (it.reading, it.writing) {
        (false, false) => "nothing",
        (true, false) => "reading",
        (false, true) => "writing",
        (true, true) => "both",
    }
}

pub fn event(now: Timestamp, event: &Event) -> String {
    let at = |t: &Timestamp| show_time(now, *t);
    let stands = |place: &Placement| show_place(now, place);
    match event {
        Event::Booked { appointment, placement, patient, key, integrated, .. } => {
            let key = key.as_ref().map(|k| format!(" key {} until {}", k.key, at(&k.expires))).unwrap_or_default();
            let alone = if *integrated { "" } else { " unintegrated" };
            format!("booked a{appointment} {} patient p{patient}{key}{alone}", stands(placement))
        }
        Event::Held { hold, placement, until, holder: _, appointment_type: _, channel: _ } => {
            format!("held h{hold} {} until {}", stands(placement), at(until))
        }
        Event::HoldEnded { hold } => format!("hold_ended h{hold}"),
        Event::KeyUsed { appointment, key } => {
            format!("key_used a{appointment} key {} until {}", key.key, at(&key.expires))
        }
        Event::KeyExpired { key } => format!("key_expired {key}"),
        Event::Moved { appointment, to, why } => {
            let why = if *why == MoveReason::Conflict { " conflict" } else { "" };
            format!("moved a{appointment} to {}{why}", stands(to))
        }
        Event::MoveReverted { appointment, to, reason } => {
            format!("move_reverted a{appointment} to {} {reason:?}", stands(to))
        }
        Event::Cancelled { appointment, by, reason } => {
            let by = if *by == CancelledBy::Ehr { "ehr" } else { "client" };
            let reason = reason.as_ref().map(|reason| format!(" {reason:?}")).unwrap_or_default();
            format!("cancelled a{appointment} by {by}{reason}")
        }
        Event::CancelReverted { appointment, reason } => format!("cancel_reverted a{appointment} {reason:?}"),
        Event::CancelConfirmed { appointment } => format!("cancel_confirmed a{appointment}"),
        Event::Replacement(Replacement::Done { appointment, replaced, to, written, .. }) => {
            format!("replaced a{appointment} w{replaced} by {} {}", written.foreign_id, stands(to))
        }
        Event::Replacement(Replacement::Late { appointment, replaced, at, visit, written }) => {
            let again = if visit.is_some() { " known_again" } else { "" };
            format!("replaced_late a{appointment} w{replaced} by {} {}{again}", written.foreign_id, stands(at))
        }
        Event::Replacement(Replacement::Shown { appointment, replaced, at }) => {
            format!("replaced_shown a{appointment} w{replaced} {}", stands(at))
        }
        Event::Replacement(Replacement::Gone { appointment, replaced }) => {
            format!("replaced_gone a{appointment} w{replaced}")
        }
        Event::InsertDone { appointment, written } => format!("insert_done a{appointment} {}", written.foreign_id),
        Event::InsertFailed { appointment, how, reason } => {
            format!("insert_failed a{appointment} {} {reason:?}", show_how(*how))
        }
        Event::WriteQueued { write, work, ordering_key, deadline, .. } => {
            format!(
                "queued w{write} {} ordered_by {} deadline {}",
                show_work(*work),
                show_ordering_key(*ordering_key),
                at(deadline)
            )
        }
        Event::WriteRetried { write, of, work, deadline, look_first, .. } => {
            let first = if *look_first { " look_first" } else { "" };
            format!("retried w{of} as w{write} {} deadline {}{first}", show_work(*work), at(deadline))
        }
        Event::WriteDropped { write } => format!("dropped w{write}"),
        Event::CallStarted { write, attempt, kind, until, .. } => {
            format!("calling w{write} {} {attempt} until {}", show_kind(*kind), at(until))
        }
        Event::WriteDeferred { write, not_before, reason, .. } => {
            format!("deferred w{write} until {} {reason:?}", at(not_before))
        }
        Event::WriteUnknown { write, not_before, reason } => {
            format!("unknown w{write} until {} {reason:?}", at(not_before))
        }
        Event::WriteDone { write, work, .. } => format!("done w{write} {}", show_work(*work)),
        Event::WriteFailed { write, work, how, reason } => {
            format!("failed w{write} {} {} {reason:?}", show_work(*work), show_how(*how))
        }
        Event::BreakerFailure { write } => format!("breaker_failure w{write}"),
        Event::BreakerOpened { why, until } => format!("blocked {} until {}", show_blocked(*why), at(until)),
        Event::BreakerClosed => "breaker_closed".into(),
        Event::RequestsSent { requests } => format!("requests_sent {requests}"),
        Event::DescribeFailed { reason } => format!("describe_failed {reason:?}"),
        Event::DescribeWorked => "describe_worked".into(),
        Event::CycleStarted => "cycle_started".into(),
        Event::ReadAnew { resource, .. } => format!("read_anew {}", name(*resource)),
        Event::PullStarted { resource, call, until, asked_at, written: _ } => {
            let prefetched = if asked_at.is_some() { " prefetched" } else { "" };
            format!("pulling {} {call} until {}{prefetched}", name(*resource), at(until))
        }
        Event::PullFailed { resource, reason, retry_at } => {
            format!("pull_failed {} until {} {reason:?}", name(*resource), at(retry_at))
        }
        Event::PullPutOff { resource, reason, retry_at, insert: _ } => {
            format!("pull_put_off {} until {} {reason:?}", name(*resource), at(retry_at))
        }
        Event::PastAppointmentGone { appointment } => format!("past_gone a{appointment}"),
        Event::PullSuspended { resource, reason } => format!("pull_suspended {} {reason:?}", name(*resource)),
        Event::PageApplied { resource, cursor, last, .. } => {
            format!("page_applied {} cursor {cursor}{}", name(*resource), if *last { " last" } else { "" })
        }
        Event::AppointmentPulled { record, keep } => {
            format!("pulled a{} {}{}", record.id, stands(&record.placement), if *keep { " keep" } else { "" })
        }
        Event::AppointmentGone { appointment } => format!("gone a{appointment}"),
        Event::HourPulled(hour) => format!("hour {}", hour.id),
        Event::HourShown(hour) => format!("hour_shown {}", hour.id),
        Event::HourGone { hour } => format!("hour_gone {hour}"),
        Event::OperatoryPulled(PulledOperatory { id, active }) => {
            format!("operatory op{id} {}", if *active { "active" } else { "inactive" })
        }
        Event::RecordSaved { resource, id, operation } => {
            format!("saved {} {id} {}", name(*resource), show_operation(*operation))
        }
        Event::AppointmentChanged { appointment, what } => {
            let what: Vec<_> = what.works(*appointment).map(show_work).collect();
            format!("changed a{appointment} {}", what.join(", "))
        }
        Event::HourSet(hour) => format!("hour_set {}", hour.id),
        Event::HourRemoved { hour } => format!("hour_removed {hour}"),
        Event::HourReverted { to, reason } => format!("hour_reverted {} {reason:?}", to.id),
        Event::OperatoryGone { operatory } => format!("operatory_gone op{operatory}"),
        Event::RecordGone { resource, id } => format!("record_gone {} {id}", name(*resource)),
        Event::ConflictFound { ours, theirs } => format!("conflict a{ours} with a{theirs}"),
        Event::GuardTripped { resource, deletions, known, .. } => {
            format!("guard_tripped {} {deletions} of {known}", name(*resource))
        }
        Event::DeletionsAccepted { resource } => format!("deletions_accepted {}", name(*resource)),
        Event::CycleFinished { next } => format!("cycle_finished next {}", at(next)),
        Event::ClockSetBack { by } => format!("clock_set_back {}", show_length(*by)),
        Event::CallsOutlast { until } => format!("calls_outlast {}", at(until)),
        Event::SyncRequested => "sync_requested".into(),
        Event::ReadRequested { everything: true } => "cycle_requested".into(),
        Event::ReadRequested { everything: false } => "read_requested".into(),
        Event::Restored { skipped_writes, .. } => format!("restored {skipped_writes}"),
        Event::WriteRestored { write, .. } => format!("write_restored w{write}"),
        Event::GateTurned { gate } => format!("gate {}", show_gate(*gate)),
        Event::PauseTurned { to } => format!("paused {}", show_directions(*to)),
        Event::Pruned { before } => format!("pruned before {}", at(before)),
        Event::Swept { resource, known, missing, counted, .. } => {
            let all = if *counted { " counted" } else { "" };
            format!("swept {} {missing} of {known}{all}", name(*resource))
        }
        Event::SweepEnded { resource } => format!("sweep ended {}", name(*resource)),
    }
}

pub fn call(now: Timestamp, call: &Call) -> String {
    match call {
        Call::Write { write, attempt, kind, work, placement, .. } => {
            let place = placement.as_ref().map(|place| format!(" {}", show_place(now, place))).unwrap_or_default();
            format!("{} w{write} {attempt} {}{place}", show_kind(*kind), show_work(*work))
        }
        Call::Pull { resource, call, cursor, .. } => {
            format!("pull {} {call} cursor {}", name(*resource), cursor.as_deref().unwrap_or("-"))
        }
    }
}

pub fn reply(now: Timestamp, reply: &Reply) -> String {
    match reply {
        Reply::Booked { appointment, replay: false } => format!("booked a{appointment}"),
        Reply::Booked { appointment, replay: true } => format!("booked a{appointment} replay"),
        Reply::GroupBooked { appointments, replay } => {
            let ids: Vec<_> = appointments.iter().map(|id| format!("a{id}")).collect();
            format!("booked {}{}", ids.join(" "), if *replay { " replay" } else { "" })
        }
        Reply::Held { until } => format!("held until {}", show_time(now, *until)),
        Reply::Moved => "moved".into(),
        Reply::Rescheduled { replay: false } => "rescheduled".into(),
        Reply::Rescheduled { replay: true } => "rescheduled replay".into(),
        Reply::Changed => "changed".into(),
        Reply::Saved { queued: true } => "saved".into(),
        Reply::Saved { queued: false } => "saved here".into(),
        Reply::Cancelled { already: false } => "cancelled".into(),
        Reply::Cancelled { already: true } => "cancelled already".into(),
        Reply::PageApplied { keep } if keep.is_empty() => "applied".into(),
        Reply::PageApplied { keep } => {
            format!("applied keep {}", keep.iter().map(|id| format!("a{id}")).collect::<Vec<_>>().join(" "))
        }
        Reply::PageIgnored => "ignored".into(),
        Reply::Retried { write } => format!("retried w{write}"),
        Reply::Done => "done".into(),
        Reply::Refused(refusal) => format!("refused {}", show_refusal(now, refusal)),
    }
}

fn show_refusal(now: Timestamp, refusal: &Refusal) -> String {
    match refusal {
        Refusal::SlotExpired => "slot_expired".into(),
        Refusal::SlotTaken { fit, alternatives } => {
            let fit = match fit {
                Fit::Free => "free".into(),
                Fit::OutsideHours => "outside_hours".into(),
                Fit::TypeNotAccepted => "type_not_accepted".into(),
                Fit::Busy(Holder::Appointment(id)) => format!("busy(a{id})"),
                Fit::Busy(Holder::Vacating(id)) => format!("busy(vacating a{id})"),
                Fit::Busy(Holder::Hold(id)) => format!("busy(h{id})"),
            };
            let starts: Vec<_> = alternatives
                .iter()
                .map(|slot| {
                    let Span { start, .. } = slot.span;
                    let operatory = slot.operatory.map_or("-".into(), |id| format!("op{id}"));
                    format!("{operatory}/prov{}/{}", slot.provider, show_time(now, start))
                })
                .collect();
            format!("slot_taken {fit} alternatives {}", starts.join(" "))
        }
        Refusal::NotBookable { rule, instead } => {
            let instead = instead.map(|instead| format!(" instead {instead}")).unwrap_or_default();
            format!("not_bookable {rule}{instead}")
        }
        Refusal::RulesChanged { rule, alternatives } => {
            let starts: Vec<_> = alternatives.iter().map(|slot| show_time(now, slot.span.start)).collect();
            format!("rules_changed {rule} alternatives {}", starts.join(" "))
        }
        Refusal::OfferOfOtherType { appointment_type } => format!("offer_of_other_type t{appointment_type}"),
        Refusal::ChangeTooLate { notice } => format!("change_too_late {}", show_length(*notice)),
        Refusal::Member { index, refusal } => format!("member {index} {}", show_refusal(now, refusal)),
        Refusal::PatientTwice => "patient_twice".into(),
        Refusal::IdempotencyConflict => "idempotency_conflict".into(),
        Refusal::PatientFieldsRequired { missing } => format!("patient_fields_required {}", missing.join(",")),
        Refusal::NewPatientNotSupported => "new_patient_not_supported".into(),
        Refusal::OperatoryRequired => "operatory_required".into(),
        Refusal::AppointmentNotFound => "appointment_not_found".into(),
        Refusal::TypeNotOnline => "type_not_online".into(),
        Refusal::AppointmentNotOpen(over) => format!("appointment_not_open {}", format!("{over:?}").to_lowercase()),
        Refusal::NotSupportedByEhr => "not_supported_by_ehr".into(),
        Refusal::AppointmentNotSynced => "appointment_not_synced".into(),
        Refusal::HourNotFound => "hour_not_found".into(),
        Refusal::HourOfEhr => "hour_of_ehr".into(),
        Refusal::WriteNotFound => "write_not_found".into(),
        Refusal::WriteNotFailed => "write_not_failed".into(),
        Refusal::WriteOnItsWay => "write_on_its_way".into(),
        Refusal::NoDeletionsStopped => "no_deletions_stopped".into(),
        Refusal::WriteWasPutBack => "write_was_put_back".into(),
        Refusal::WriteOfPatientFirst => "write_of_patient_first".into(),
        Refusal::TooManyHours { limit } => format!("too_many_hours {limit}"),
        Refusal::TooManyHolds { limit, of_key, free_in } => {
            format!("too_many_holds{} {limit} {}s", if *of_key { "_of_key" } else { "" }, free_in / 1_000)
        }
        Refusal::QueueFull { limit } => format!("queue_full {limit}"),
    }
}

/// Returns `true` if `text` matches `pattern`, in which `*` matches anything.
pub fn like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().map(|(index, _)| index).chain([rest.len()]).any(|index| like(after, &rest[index..]))
        }),
    }
}
