//! Schedules as working hours and as blocked time. The API shows them by day: providers' hours with the operatories they are for, the
//! practice's own entries, and blockouts.

use adapter_sdk::{
    Fault, Record, clock,
    records::{self, HourKind},
    spans::overlap,
    streams::{Mapped, Shown},
    time::plus_days,
};

use crate::{
    client::Client,
    lists::Week,
    requests,
    responses::{Operatory, Schedule},
    time,
    values::Num,
};

/// A stretch of a day, in minutes after midnight.
type Stretch = (u32, u32);

pub fn working_hours(client: &Client, week: &Week) -> Mapped {
    let (from, to) = (&week.from, &week.to);
    let providers: Vec<Schedule> = client.all("/schedules", &requests::schedules("Provider", from, to))?;
    let practice: Vec<Schedule> = client.all("/schedules", &requests::schedules("Practice", from, to))?;
    let rooms = client.operatories()?;
    let closes = client.settings.day_notes == "close";
    let mut hours = Vec::new();
    for row in &providers {
        let Some(span) = stretch(row) else { continue };
        let open = open_on(&row.sched_date, span, &practice, closes);
        for operatory in rooms_of(row, rooms, client.settings.clinic.is_none()) {
            hours.extend(open.iter().enumerate().map(|(n, span)| hour(row, operatory, *span, n)));
        }
    }
    Ok(Shown::Records(hours))
}

pub fn blockouts(client: &Client, week: &Week) -> Mapped {
    let rows: Vec<Schedule> = client.all("/schedules", &requests::schedules("Blockout", &week.from, &week.to))?;
    let rooms = client.operatories()?;
    let mut blocked = Vec::new();
    for row in rows.iter().filter(|row| blocks(client, row)) {
        let Some((start, end)) = span(row) else { continue };
        for operatory in listed(row).into_iter().filter(|room| rooms.iter().any(|known| known.operatory_num == *room)) {
            blocked.push(Record::Appointment(records::Appointment {
                id: format!("blockout:{}:{operatory}", row.schedule_num),
                operatory: operatory.id(),
                start,
                end,
                note: row.blockout_name.some().or_else(|| row.note.some()),
                unavailable: true,
                ..records::Appointment::default()
            }));
        }
    }
    Ok(Shown::Records(blocked))
}

/// Whether a blockout keeps an operatory from being booked between two instants.
pub fn is_blocked(client: &Client, operatory: &str, start: i64, end: i64) -> Result<bool, Fault> {
    let (from, to) = (clock::date(start), clock::date(end - 1));
    let rows: Vec<Schedule> = client.all("/schedules", &requests::schedules("Blockout", &from, &to))?;
    let here = |row: &&Schedule| listed(row).iter().any(|room| room.id().as_deref() == Some(operatory));
    let mut rows = rows.iter().filter(here).filter(|row| blocks(client, row)).filter_map(span);
    Ok(rows.any(|span| overlap(span, (start, end))))
}

fn blocks(client: &Client, row: &Schedule) -> bool {
    !client.settings.bookable_blockouts.contains(&row.blockout_name.trim().to_lowercase())
}

fn hour(row: &Schedule, operatory: Option<Num>, (begin, end): Stretch, n: usize) -> Record {
    let room = operatory.map_or_else(|| "any".to_owned(), |room| room.to_string());
    let nth = if n == 0 { String::new() } else { format!(":{n}") };
    let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
    Record::WorkingHour(records::WorkingHour {
        id: format!("{}:{room}{nth}", row.schedule_num),
        provider: row.prov_num.to_string(),
        operatory: operatory.and_then(Num::id),
        begin_time: clock(begin),
        end_time: clock(end),
        specific_date: time::day(&row.sched_date),
        kind: HourKind::WorkingHour,
        label: row.note.some(),
        active: true,
        ..records::WorkingHour::default()
    })
}

/// The operatories of a provider's entry: those it names, else those that are the provider's, else, where there are no
/// other clinics it may be for, none in particular.
fn rooms_of(row: &Schedule, rooms: &[Operatory], only_office: bool) -> Vec<Option<Num>> {
    let named = listed(row);
    if !named.is_empty() {
        let here = |room: &Num| rooms.iter().any(|known| known.operatory_num == *room);
        return named.into_iter().filter(here).map(Some).collect();
    }
    let theirs = |room: &&Operatory| room.prov_dentist == row.prov_num || room.prov_hygienist == row.prov_num;
    let own: Vec<Option<Num>> =
        rooms.iter().filter(|room| !room.is_hidden.0).filter(theirs).map(|room| Some(room.operatory_num)).collect();
    if own.is_empty() && only_office { vec![None] } else { own }
}

/// What of a provider's hours the practice is open. Its entries with hours say when it is; one without closes the day, where they
/// are taken for holidays: the API does not tell a holiday from a note of the day.
fn open_on(date: &str, hours: Stretch, practice: &[Schedule], notes_close: bool) -> Vec<Stretch> {
    let entries: Vec<&Schedule> = practice.iter().filter(|row| time::day(&row.sched_date) == time::day(date)).collect();
    let open: Vec<Stretch> = entries.iter().filter_map(|row| stretch(row)).collect();
    if notes_close && entries.len() > open.len() {
        return Vec::new();
    }
    if open.is_empty() {
        return vec![hours];
    }
    let within = |(from, to): Stretch| (from.max(hours.0), to.min(hours.1));
    let mut open: Vec<Stretch> = open.into_iter().map(within).filter(|(from, to)| from < to).collect();
    open.sort_unstable();
    open
}

fn listed(row: &Schedule) -> Vec<Num> {
    row.operatories.split(',').filter_map(|room| room.trim().parse().ok()).map(Num).collect()
}

fn stretch(row: &Schedule) -> Option<Stretch> {
    let (from, to) = (minute(&row.start_time)?, minute(&row.stop_time)?);
    // 24:00 is written as the begin of the day, or as its last minute.
    let to = if (to == 0 && from > 0) || to == 1_439 { 1_440 } else { to };
    (from < to).then_some((from, to))
}

fn span(row: &Schedule) -> Option<(i64, i64)> {
    let (date, (from, to)) = (time::day(&row.sched_date)?, stretch(row)?);
    let at = |minute: u32| {
        let date = plus_days(&date, i64::from(minute / 1_440));
        time::instant(&format!("{date} {:02}:{:02}:00", minute / 60 % 24, minute % 60))
    };
    at(from).zip(at(to)).filter(|(start, end)| start < end)
}

/// `08:30:00` in minutes after midnight.
fn minute(text: &str) -> Option<u32> {
    let mut parts = text.trim().split(':').map(|part| part.parse::<u32>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}
