//! A day's calendar by operatory. Roles without access to patient records see only which times are taken.

use std::collections::BTreeMap;

use engine::{
    lists::{Filter, ListQuery, Order, PageRequest},
    records::{Appointment, Operatory, Record},
};
use location::{Date, OperatoryId};

use crate::{prelude::*, words::clock};

/// The grid of a day: 96 steps of a quarter of an hour, and lanes for overlapping appointments of an operatory.
pub(crate) const STEPS: usize = 96;
pub(crate) const LANES: usize = 4;
const STEP: i64 = 15;
/// Maximum numbers of appointments and operatories shown.
const MAX_APPOINTMENTS: usize = 500;
const MAX_COLUMNS: usize = 24;
/// The range that is always shown, in steps: 8:00 to 18:00.
const OPEN: (usize, usize) = (8 * 4, 18 * 4);

pub(super) struct CalendarDay {
    pub date: String,
    pub text: String,
    pub before: String,
    pub after: String,
    pub columns: Vec<Column>,
    pub hours: Vec<Hour>,
    pub cancelled: usize,
    pub more: bool,
}

pub(super) struct Hour {
    pub text: String,
    pub at: usize,
}

pub struct Column {
    pub name: String,
    pub blocks: Vec<AppointmentBlock>,
}

pub struct AppointmentBlock {
    /// The first step, counted from the first hour shown.
    pub at: usize,
    pub long: usize,
    pub lane: usize,
    pub from: String,
    pub to: String,
    pub badge: Badge,
    /// `None` if the operator's role may not see it.
    pub who: Option<String>,
    pub kind: Option<String>,
}

impl CalendarDay {
    pub(super) fn read(
        visit: &ConsoleRequest,
        location: &LocationSetup,
        now: Timestamp,
    ) -> Result<CalendarDay, ConsoleError> {
        let engine = &visit.api.engine;
        let lists = engine.lists();
        let today = times::local(now, location.zone).0;
        let date = match visit.query_value("day") {
            None => today,
            Some(day) => day.parse::<Date>().map_err(|_| ApiError::bad("day must be a date such as 2026-12-01"))?,
        };
        let zone = engine.zone(location.id).ok_or_else(|| ApiError::location_not_found(location.id))?;
        let query = ListQuery::new([location.id.0], Order::StartsAt).filtered([Filter::Starting(zone.day(date))]);
        let found = lists.list::<Record<Appointment>>(&query, &PageRequest::whole(MAX_APPOINTMENTS), |_| true)?;
        let (cancelled, taken): (Vec<_>, Vec<_>) = found.rows.into_iter().partition(|it| it.cancelled);
        let query = ListQuery::new([location.id.0], Order::Id);
        let operatories = lists.list::<Record<Operatory>>(&query, &PageRequest::whole(MAX_COLUMNS), |it| it.active)?;
        let mut columns: Columns =
            operatories.rows.into_iter().map(|it| (Some(OperatoryId(it.id)), (it.body.name, Vec::new()))).collect();
        let mut names = AppointmentNames { visit, location, kinds: BTreeMap::new() };
        for it in taken {
            let named = |id: OperatoryId| engine.operatory(location.id, id.0).ok().flatten().map(|it| it.body.name);
            let operatory = it.placement.operatory;
            let new = || (operatory.and_then(named).unwrap_or_else(|| "No operatory".to_owned()), Vec::new());
            columns.entry(operatory).or_insert_with(new).1.push(names.placed(&it)?);
        }
        omit_empty(&mut columns);
        let all = || columns.values().flat_map(|(_, placed)| placed);
        let first = all().map(|it| it.from / 4 * 4).min().unwrap_or(OPEN.0).min(OPEN.0);
        let last = all().map(|it| it.to.div_ceil(4) * 4).max().unwrap_or(OPEN.1).max(OPEN.1);
        let more = found.has_next || columns.len() > MAX_COLUMNS;
        let days = |days| date.add_days(days).to_string();
        Ok(CalendarDay {
            date: date.to_string(),
            text: if date == today { format!("Today, {date}") } else { format!("{:?}, {date}", date.weekday()) },
            before: days(-1),
            after: days(1),
            columns: columns
                .into_values()
                .take(MAX_COLUMNS)
                .map(|(name, placed)| column(name, placed, first))
                .collect(),
            hours: (first..last)
                .step_by(4)
                .map(|at| Hour { text: format!("{:02}:00", at / 4), at: at - first })
                .collect(),
            cancelled: cancelled.len(),
            more,
        })
    }
}

/// An appointment with its position in steps of the day.
pub struct Placed {
    pub from: usize,
    pub to: usize,
    pub block: AppointmentBlock,
}

/// The name and the appointments of each operatory.
pub type Columns = BTreeMap<Option<OperatoryId>, (String, Vec<Placed>)>;

/// Removes the columns without appointments if not all columns can be shown.
pub fn omit_empty(columns: &mut Columns) {
    if columns.len() > MAX_COLUMNS {
        columns.retain(|_, (_, placed)| !placed.is_empty());
    }
}

/// Assigns lanes to overlapping appointments. If there are more than lanes, the remaining ones share the last lane.
pub fn column(name: String, mut placed: Vec<Placed>, first: usize) -> Column {
    placed.sort_by_key(|it| (it.from, it.to));
    let mut ends = [0; LANES];
    let blocks = placed.into_iter().map(|it| {
        let lane = ends.iter().position(|end| *end <= it.from).unwrap_or(LANES - 1);
        ends[lane] = it.to;
        AppointmentBlock { at: it.from - first, long: it.to - it.from, lane, ..it.block }
    });
    Column { name, blocks: blocks.collect() }
}

struct AppointmentNames<'v> {
    visit: &'v ConsoleRequest,
    location: &'v LocationSetup,
    kinds: BTreeMap<u32, Option<String>>,
}

impl AppointmentNames<'_> {
    fn placed(&mut self, it: &Record<Appointment>) -> Result<Placed, ConsoleError> {
        let (zone, span) = (self.location.zone, it.placement.span);
        let (date, minutes) = times::local(span.start, zone);
        let (end_date, end_minutes) = times::local(span.end, zone);
        let end = if end_date > date { STEPS as i64 * STEP } else { end_minutes };
        let from = usize::try_from(minutes / STEP).unwrap_or(0).min(STEPS - 1);
        let to = usize::try_from((end + STEP - 1) / STEP).unwrap_or(STEPS).clamp(from + 1, STEPS);
        let sees = self.visit.sees_patients();
        let block = AppointmentBlock {
            at: 0,
            long: 1,
            lane: 0,
            from: clock(span.start, zone),
            to: clock(span.end, zone),
            badge: status_badge(it, self.location.source.is_some()),
            who: if sees { self.patient_name(it)? } else { None },
            kind: if sees { self.kind(it.appointment_type_id)? } else { None },
        };
        Ok(Placed { from, to, block })
    }

    fn patient_name(&self, it: &Record<Appointment>) -> Result<Option<String>, ConsoleError> {
        self.visit.note("read", "appointment", it.id);
        let Some(id) = it.patient_id else { return Ok(None) };
        let patient = self.visit.api.engine.patient(self.location.institution, id)?;
        self.visit.note("read", "patient", id.into());
        Ok(patient.map(|patient| patient.name()))
    }

    fn kind(&mut self, id: Option<u32>) -> Result<Option<String>, ConsoleError> {
        let Some(id) = id else { return Ok(None) };
        if let Some(known) = self.kinds.get(&id) {
            return Ok(known.clone());
        }
        let name = self.visit.api.engine.appointment_type(self.location.institution, id)?.map(|it| it.body.name);
        Ok(self.kinds.entry(id).or_insert(name).clone())
    }
}

pub(crate) fn status_badge(it: &Record<Appointment>, has_ehr: bool) -> Badge {
    if it.cancelled {
        return Badge::plain("cancelled");
    }
    match it {
        it if it.unavailable => Badge::plain("blocked"),
        it if it.patient_missed => Badge::bad("missed"),
        it if it.checked_out_at.is_some() => Badge::plain("done"),
        it if it.checkin_at.is_some() => Badge::good("checked in"),
        it if has_ehr && it.foreign_id.is_none() => Badge::warn("on its way"),
        it if it.confirmed || it.patient_confirmed => Badge::good("confirmed"),
        _ => Badge::plain("booked"),
    }
}
