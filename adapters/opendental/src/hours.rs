//! Schedules as working hours and blocked time. The API lists them by day: providers' hours with their operatories, the
//! practice's entries, and blockouts. An unreadable entry is omitted, and previously listed hours stay.

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

/// Start and end within a day, in minutes after midnight.
type DayPeriod = (u32, u32);
/// Returns an error with the reason if an entry cannot be read.
type Readable<T> = Result<T, &'static str>;

pub fn working_hours(client: &Client, week: &Week) -> Mapped {
    let (providers, practice) = (entries(client, "Provider", week)?, entries(client, "Practice", week)?);
    let rooms = client.operatories()?;
    let closes = client.settings.day_notes == "close";
    let hours = |row: &Schedule| -> Readable<Vec<Record>> {
        let Some(span) = stretch(row)? else { return Ok(Vec::new()) };
        let open = open_on(&row.sched_date, span, &practice, closes)?;
        let rooms = rooms_of(row, rooms, client.settings.clinic.is_none())?;
        let hours = rooms.into_iter().flat_map(|room| open.iter().enumerate().map(move |(n, span)| (room, *span, n)));
        hours.map(|(room, span, n)| hour(row, room, span, n)).collect()
    };
    Ok(all_of(&providers, week, hours))
}

pub fn blockouts(client: &Client, week: &Week) -> Mapped {
    let rows = entries(client, "Blockout", week)?;
    let rooms = client.operatories()?;
    let blocked = |row: &Schedule| -> Readable<Vec<Record>> {
        let Some((start, end)) = span(row)?.filter(|_| blocks(client, row)) else { return Ok(Vec::new()) };
        let here = |room: &Num| rooms.iter().any(|known| known.operatory_num == *room);
        let block = |operatory: Num| {
            Record::Appointment(records::Appointment {
                id: format!("blockout:{}:{operatory}", row.schedule_num),
                operatory: operatory.id(),
                start,
                end,
                note: row.blockout_name.some().or_else(|| row.note.some()),
                unavailable: true,
                ..records::Appointment::default()
            })
        };
        Ok(listed(row)?.into_iter().filter(here).map(block).collect())
    };
    Ok(all_of(&rows, week, blocked))
}

fn entries(client: &Client, kind: &str, week: &Week) -> Result<Vec<Schedule>, Fault> {
    client.all("/schedules", &requests::schedules(kind, &week.from, &week.to))
}

/// Returns the records of all readable entries of a week, and which are unreadable.
fn all_of(rows: &[Schedule], week: &Week, records: impl Fn(&Schedule) -> Readable<Vec<Record>>) -> Shown {
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    for row in rows {
        let asked = |day: String| (&week.from..=&week.to).contains(&&day);
        match time::day(&row.sched_date)
            .and_then(|day| if day.is_some_and(asked) { records(row) } else { Ok(Vec::new()) })
        {
            Ok(records) => all.extend(records),
            Err(why) => unread.push(format!("schedule {}: {why}", row.schedule_num)),
        }
    }
    if unread.is_empty() { Shown::Records(all) } else { Shown::Partly(all, unread.join("; ")) }
}

/// Returns `true` if a blockout prevents bookings in the operatory between two instants. An unreadable blockout is an
/// error.
pub fn is_blocked(client: &Client, operatory: &str, start: i64, end: i64) -> Result<bool, Fault> {
    let days = Week { from: clock::date(start), to: clock::date(end - 1) };
    for row in entries(client, "Blockout", &days)?.iter().filter(|row| blocks(client, row)) {
        let here = |rooms: Vec<Num>| rooms.iter().any(|room| room.id().as_deref() == Some(operatory));
        let blocked = listed(row).map(here).and_then(|here| if here { span(row) } else { Ok(None) });
        match blocked {
            Ok(span) if span.is_some_and(|span| overlap(span, (start, end))) => return Ok(true),
            Ok(_) => (),
            Err(_) => return Err(Fault::rejected("a blockout of that day cannot be read")),
        }
    }
    Ok(false)
}

fn blocks(client: &Client, row: &Schedule) -> bool {
    !client.settings.bookable_blockouts.contains(&row.blockout_name.trim().to_lowercase())
}

fn hour(row: &Schedule, operatory: Option<Num>, (begin, end): DayPeriod, n: usize) -> Readable<Record> {
    let room = operatory.map_or_else(|| "any".to_owned(), |room| room.to_string());
    let nth = if n == 0 { String::new() } else { format!(":{n}") };
    let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
    Ok(Record::WorkingHour(records::WorkingHour {
        id: format!("{}:{room}{nth}", row.schedule_num),
        provider: row.prov_num.to_string(),
        operatory: operatory.and_then(Num::id),
        begin_time: clock(begin),
        end_time: clock(end),
        specific_date: time::day(&row.sched_date)?,
        kind: HourKind::WorkingHour,
        label: row.note.some(),
        active: true,
        ..records::WorkingHour::default()
    }))
}

/// Returns the operatories of a provider's entry: the named ones, else the provider's own. Without clinics, an entry
/// without either is for no particular operatory.
fn rooms_of(row: &Schedule, rooms: &[Operatory], only_office: bool) -> Readable<Vec<Option<Num>>> {
    let named = listed(row)?;
    if !named.is_empty() {
        let here = |room: &Num| rooms.iter().any(|known| known.operatory_num == *room);
        return Ok(named.into_iter().filter(here).map(Some).collect());
    }
    let theirs = |room: &&Operatory| room.prov_dentist == row.prov_num || room.prov_hygienist == row.prov_num;
    let own: Vec<Option<Num>> =
        rooms.iter().filter(|room| !room.is_hidden.0).filter(theirs).map(|room| Some(room.operatory_num)).collect();
    Ok(if own.is_empty() && only_office { vec![None] } else { own })
}

/// Returns the part of a provider's hours in which the practice is open. Entries with hours define when it is open.
/// With `notes_close`, an entry without hours closes the day, because the API does not distinguish holidays from notes.
fn open_on(date: &str, hours: DayPeriod, practice: &[Schedule], notes_close: bool) -> Readable<Vec<DayPeriod>> {
    let date = time::day(date)?;
    let (mut open, mut notes) = (Vec::new(), false);
    for row in practice {
        match time::day(&row.sched_date)? {
            day if day != date => (),
            _ => match stretch(row)? {
                Some(stretch) => open.push(stretch),
                None => notes = true,
            },
        }
    }
    if notes_close && notes {
        return Ok(Vec::new());
    }
    if open.is_empty() {
        return Ok(vec![hours]);
    }
    let within = |(from, to): DayPeriod| (from.max(hours.0), to.min(hours.1));
    let mut open: Vec<DayPeriod> = open.into_iter().map(within).filter(|(from, to)| from < to).collect();
    open.sort_unstable();
    Ok(open)
}

/// Returns the operatories named by an entry.
fn listed(row: &Schedule) -> Readable<Vec<Num>> {
    let named = row.operatories.split(',').map(str::trim).filter(|room| !room.is_empty());
    let rooms: Option<Vec<Num>> = named.map(|room| room.parse().ok().map(Num)).collect();
    rooms.ok_or("its operatories cannot be read")
}

/// Returns `None` if the entry has no hours.
fn stretch(row: &Schedule) -> Readable<Option<DayPeriod>> {
    match (time::minute(&row.start_time)?, time::minute(&row.stop_time)?) {
        (None, None) => Ok(None),
        (Some(from), Some(to)) if from == to => Ok(None),
        // 24:00 is stored as the start of the day or as its last minute.
        (Some(from), Some(0 | 1_439)) => Ok(Some((from, 1_440))),
        (Some(from), Some(to)) if from < to => Ok(Some((from, to))),
        _ => Err("its times contradict each other"),
    }
}

/// Returns `None` if the entry has no hours, or if they are in a daylight-saving gap.
fn span(row: &Schedule) -> Readable<Option<(i64, i64)>> {
    let Some((date, (from, to))) = time::day(&row.sched_date)?.zip(stretch(row)?) else { return Ok(None) };
    let at = |minute: u32| {
        let date = plus_days(&date, i64::from(minute / 1_440));
        time::instant(&format!("{date} {:02}:{:02}:00", minute / 60 % 24, minute % 60))
    };
    Ok(at(from)?.zip(at(to)?).filter(|(start, end)| start < end))
}
