//! Conversion of provider and schedule rows to the contract's records.

use adapter_sdk::{
    Record, clock,
    records::{self, extra},
    streams::{Mapped, Shown, one_record},
};

use crate::{
    client::Client,
    pattern,
    responses::{Appointment, AppointmentType, Operatory, Provider},
    time,
    values::{self, Num, Text},
};

const DAY: i64 = 86_400;

pub fn provider(_: &Client, p: Provider) -> Mapped {
    let suffix = p.suffix.some().map(|suffix| format!(", {suffix}")).unwrap_or_default();
    let names = [p.f_name.some(), p.l_name.some()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let display = p.preferred_name.some().unwrap_or_else(|| if names.is_empty() { p.abbr.0.clone() } else { names });
    one_record(Record::Provider(records::Provider {
        id: id(p.prov_num)?,
        first_name: p.f_name.some().unwrap_or_default(),
        middle_name: p.mi.some(),
        last_name: p.l_name.some().or_else(|| p.abbr.some()).unwrap_or_default(),
        display_name: Some(format!("{display}{suffix}")),
        npi: p.national_prov_id.some(),
        tin: p.ssn.some().filter(|_| p.using_tin.0),
        state_license: p.state_license.some(),
        inactive: p.is_hidden.0 || p.prov_status.0 == "Deleted",
        extra: extra([("abbreviation", p.abbr.some()), ("hygienist", p.is_secondary.0.then(|| "true".into()))]),
        ..records::Provider::default()
    }))
}

pub fn operatory(client: &Client, o: Operatory) -> Mapped {
    one_record(Record::Operatory(records::Operatory {
        id: id(o.operatory_num)?,
        name: o.op_name.some().or_else(|| o.abbrev.some()).unwrap_or_else(|| o.operatory_num.to_string()),
        display_name: o.abbrev.some(),
        active: !o.is_hidden.0,
        bookable_online: !o.is_hidden.0 && (o.is_web_sched.0 || client.settings.online_operatories != "web_sched"),
        extra: extra([("hygiene", o.is_hygiene.0.then(|| "true".into())), ("clinic", o.clinic_num.id())]),
        ..records::Operatory::default()
    }))
}

pub fn appointment_type(client: &Client, kind: AppointmentType) -> Mapped {
    if kind.is_hidden.0 {
        return Ok(Shown::Nothing);
    }
    let minutes = pattern::seconds(&kind.pattern).map(|seconds| seconds / 60).filter(|minutes| *minutes <= 1_440);
    one_record(Record::AppointmentType(records::AppointmentType {
        id: id(kind.appointment_type_num)?,
        name: name(&kind.appointment_type_name, kind.appointment_type_num),
        minutes: minutes.and_then(|m| u32::try_from(m).ok()).unwrap_or(client.settings.default_minutes),
        bookable_online: true,
        ..records::AppointmentType::default()
    }))
}

/// Converts an appointment. Planned appointments and notes are not in the calendar.
pub fn appointment(client: &Client, a: Appointment) -> Mapped {
    if matches!(a.apt_status.as_str(), "Planned" | "PtNote" | "PtNoteCompleted") {
        return Ok(Shown::Nothing);
    }
    // On the Unscheduled List, or broken: cancelled even without a readable time.
    if is_off_schedule(&a) && !matches!(span(&a), Ok(Some(_))) {
        return Ok(gone(a.apt_num));
    }
    let start = time::instant(&a.apt_date_time)?.ok_or("it is on the schedule without a time")?;
    // Deltas list changes at any date. Those outside the window of whole passes are omitted, with a margin of one day
    // for midnight.
    let (today, settings) = (clock::now(), &client.settings);
    if start < today - (settings.past_days + 1) * DAY {
        return Ok(Shown::Nothing);
    }
    if start > today + (settings.ahead_days + 1) * DAY {
        return Ok(gone(a.apt_num));
    }
    let visit = visit(client, &a)?.ok_or("it is on the schedule without a time")?;
    one_record(Record::Appointment(visit))
}

/// Returns start and end; `None` without a time.
pub fn span(row: &Appointment) -> Result<Option<(i64, i64)>, &'static str> {
    let Some(start) = time::instant(&row.apt_date_time)? else { return Ok(None) };
    let length = pattern::seconds(row.pattern.trim()).ok_or("its pattern cannot be read")?;
    Ok(Some((start, start + length)))
}

/// Returns the longest possible span of an appointment with an unreadable pattern; `None` if its time is unreadable.
pub fn widest_span(row: &Appointment) -> Option<(i64, i64)> {
    let start = time::instant(&row.apt_date_time).ok()??;
    Some((start, start + pattern::LONGEST))
}

/// Converts an appointment on the schedule; `None` without a time.
pub fn visit(client: &Client, a: &Appointment) -> Result<Option<records::Appointment>, String> {
    let Some((start, end)) = span(a)? else { return Ok(None) };
    let note = values::note(&a.note);
    let (text, reason) = if is_off_schedule(a) { without_reason(note.text) } else { (note.text, None) };
    Ok(Some(records::Appointment {
        id: id(a.apt_num)?,
        patient: a.pat_num.id(),
        provider: provider_of(a),
        operatory: a.op.id(),
        appointment_type: a.appointment_type_num.id(),
        start,
        end,
        note: text,
        cancelled: is_off_schedule(a),
        confirmed: is_confirmed(client, a) || a.apt_status.0 == "Complete",
        checkin_at: arrived(a)?,
        checked_out_at: time::instant(&a.date_time_dismissed)?.filter(|at| is_moment(*at)),
        write_key: note.key,
        version: Some(version(a)),
        extra: extra([("status", a.apt_status.some()), ("confirmation", a.confirmed_name.some()), ("reason", reason)]),
        ..records::Appointment::default()
    }))
}

pub fn gone(key: Num) -> Shown {
    key.id().map_or(Shown::Nothing, Shown::Gone)
}

/// Prefix of the reason that a cancellation appends to a note.
pub const CANCELLED: &str = "Cancelled: ";

/// Splits the reason of a cancellation from the note.
fn without_reason(text: Option<String>) -> (Option<String>, Option<String>) {
    match text.as_deref().and_then(|text| text.rsplit_once(CANCELLED)) {
        Some((note, reason)) => {
            (Some(note.trim().to_owned()).filter(|note| !note.is_empty()), Some(reason.trim().to_owned()))
        }
        None => (text, None),
    }
}

pub fn is_off_schedule(row: &Appointment) -> bool {
    matches!(row.apt_status.as_str(), "Broken" | "UnschedList")
}

/// Returns `true` if the status is one of those configured as confirmed.
pub fn is_confirmed(client: &Client, row: &Appointment) -> bool {
    client.settings.confirmed.contains(&row.confirmed_name.trim().to_lowercase())
}

pub fn arrived(row: &Appointment) -> Result<Option<i64>, &'static str> {
    Ok(time::instant(&row.date_time_arrived)?.filter(|at| is_moment(*at)))
}

/// Midnight means that the EHR has filled in only the date.
fn is_moment(at: i64) -> bool {
    !time::text(at).ends_with(" 00:00:00")
}

/// Returns the provider; the hygienist for a hygiene appointment.
pub fn provider_of(row: &Appointment) -> Option<String> {
    row.prov_hyg.id().filter(|_| row.is_hygiene.0).or_else(|| row.prov_num.id())
}

/// Returns the state that a move depends on: status, time and place. A changed confirmation does not make a move stale.
pub fn version(row: &Appointment) -> String {
    let provider = provider_of(row).unwrap_or_default();
    format!("{}/{}/{}/{}/{provider}", row.apt_status.0, row.apt_date_time.0, row.op, row.pattern.len())
}

pub fn address([line1, line2, city, region, postal_code]: [&Text; 5]) -> Option<records::Address> {
    let (line1, line2, city) = (line1.some(), line2.some(), city.some());
    let (region, postal_code) = (region.some(), postal_code.some());
    records::Address { line1, line2, city, region, postal_code, country: None }.known()
}

pub fn id(key: Num) -> Result<String, String> {
    key.id().ok_or_else(|| "it has no key".to_owned())
}

/// Returns the name, or the key if empty.
pub fn name(text: &str, key: Num) -> String {
    let text = text.trim();
    if text.is_empty() { key.to_string() } else { text.to_owned() }
}
