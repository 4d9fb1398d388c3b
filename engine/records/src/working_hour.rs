//! Working hours of a provider, and blocks of the schedule.

use location::{Date, HourKind, HourSource, Recurrence, Resource, Timestamp, Weekday, hours::RecurrenceUnit};
use record_macro::record_form;
use serde::{Deserialize, Serialize};

use crate::{
    Body, Record,
    index::{Field, Term},
    references::{ForeignId, ForeignIdOf, Invalid, Missing, Reference, ResolveId},
    values::Extra,
};

/// Working hours of a provider, or a block of the schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingHour {
    pub provider_id: u32,
    /// `None` if the EHR schedules by provider only.
    pub operatory_id: Option<u64>,
    /// Minutes after local midnight.
    pub begin: u16,
    /// Minutes after local midnight, 1440 included. An end not after `begin` is on the next day.
    pub end: u16,
    /// Local dates on which the hours apply.
    pub recurrence: Recurrence,
    /// Working hours or a block.
    pub kind: HourKind,
    /// The place where the hours were first entered; it does not change.
    pub source: HourSource,
    /// Accepted appointment types. Empty for all.
    pub appointment_type_ids: Vec<u32>,
    /// The label in the EHR, such as `Hygiene`.
    pub label: Option<String>,
    /// `false` also for removed hours.
    pub active: bool,
}

impl Record<WorkingHour> {
    /// Returns `true` if the hours offer slots. Hours that the EHR refused offer none.
    pub fn in_force(&self) -> bool {
        self.active && !self.rejected()
    }
}

/// Working hours of a provider. Exactly one of `days` (not empty), `specific_date` and `recurrence` applies.
#[record_form(
    of = WorkingHour, resource = WorkingHours, tag = 5, id = u32, scope = Location,
    contract = "working-hour", name = "Working Hour",
    writes(Create = "create-working-hour", Update = "update-working-hour", Delete = "delete-working-hour")
)]
pub struct EhrWorkingHour {
    #[record(refers = Providers)]
    pub provider: ForeignId,
    /// The operatory; `None` if the EHR schedules by provider only.
    #[record(refers = Operatories)]
    pub operatory: Option<ForeignId>,
    /// Appointment types it accepts; empty means all.
    #[record(refers = AppointmentTypes)]
    pub appointment_types: Vec<ForeignId>,
    /// Begin, `HH:MM` local.
    #[record(limit = TimeOfDay)]
    pub begin_time: String,
    /// End, `HH:MM` local, `24:00` included; not after the begin means the next day.
    #[record(limit = EndOfDay)]
    pub end_time: String,
    /// Weekly days.
    pub days: Vec<Weekday>,
    /// One date only.
    #[record(limit = Date)]
    pub specific_date: Option<String>,
    pub recurrence: Option<EhrRecurrence>,
    /// Working hours or a block.
    pub kind: HourKind,
    /// Label of the hours in the EHR, such as `Hygiene`.
    pub label: Option<String>,
    /// In force.
    pub active: bool,
}

/// A recurrence of every `number` units, counted from `reference`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EhrRecurrence {
    /// Number of units, at least 1.
    pub number: u32,
    pub unit: RecurrenceUnit,
    /// A date on which the hours apply, `YYYY-MM-DD`.
    pub reference: String,
}

impl Body for WorkingHour {
    /// Keeps the source of hours created here, so that clients may continue to change them.
    fn resolve<E: From<Invalid>>(
        shown: &EhrWorkingHour,
        kept: Option<&WorkingHour>,
        resolve_id: ResolveId<'_, E>,
    ) -> Result<WorkingHour, E> {
        let times = (minutes(&shown.begin_time), minutes(&shown.end_time), recurrence(shown));
        let (Some(begin), Some(end), Some(recurrence)) = times else {
            return Err(Invalid("begin_time, end_time or the days of the working hour cannot be read").into());
        };
        Ok(WorkingHour {
            provider_id: Reference::resolve(&shown.provider, Resource::Providers, resolve_id)?,
            operatory_id: Reference::resolve(&shown.operatory, Resource::Operatories, resolve_id)?,
            begin,
            end,
            recurrence,
            kind: shown.kind,
            source: kept.map_or(HourSource::Synced, |kept| kept.source),
            appointment_type_ids: Reference::resolve(&shown.appointment_types, Resource::AppointmentTypes, resolve_id)?,
            label: shown.label.clone(),
            active: shown.active,
        })
    }

    fn for_ehr<E: From<Missing>>(&self, id: ForeignId, foreign_id_of: ForeignIdOf<'_, E>) -> Result<EhrWorkingHour, E> {
        let (days, specific_date, recurrence) = match self.recurrence.clone() {
            Recurrence::Weekly(days) => (days, None, None),
            Recurrence::On(date) => (Vec::new(), Some(date.to_string()), None),
            Recurrence::Every { number, unit, reference } => {
                (Vec::new(), None, Some(EhrRecurrence { number, unit, reference: reference.to_string() }))
            }
        };
        Ok(EhrWorkingHour {
            id,
            provider: self.provider_id.for_ehr(Resource::Providers, foreign_id_of)?,
            operatory: self.operatory_id.for_ehr(Resource::Operatories, foreign_id_of)?,
            begin_time: time_of_day(self.begin),
            end_time: time_of_day(self.end),
            days,
            specific_date,
            recurrence,
            kind: self.kind,
            appointment_types: self.appointment_type_ids.for_ehr(Resource::AppointmentTypes, foreign_id_of)?,
            label: self.label.clone(),
            active: self.active,
            extra: Extra::new(),
        })
    }

    fn terms(&self) -> Vec<Term> {
        vec![Term::number(Field::Provider, self.provider_id)]
    }

    fn mark_deleted(record: &mut Record<WorkingHour>, now: Timestamp) {
        record.active = false;
        record.deleted_at.get_or_insert(now);
    }
}

/// Parses `HH:MM` as minutes after midnight, `24:00` included.
fn minutes(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = hours.checked_mul(60)?.checked_add(minutes)?;
    (minutes < 60 && total <= 1_440).then_some(total)
}

/// Formats minutes as `HH:MM`; the end of the day is `24:00`.
fn time_of_day(minutes: u16) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

fn recurrence(shown: &EhrWorkingHour) -> Option<Recurrence> {
    match (&shown.specific_date, &shown.recurrence) {
        (Some(date), None) => Some(Recurrence::On(date.parse::<Date>().ok()?)),
        (None, Some(every)) => Some(Recurrence::Every {
            number: every.number,
            unit: every.unit,
            reference: every.reference.parse::<Date>().ok()?,
        }),
        (None, None) => Some(Recurrence::Weekly(shown.days.clone())),
        (Some(_), Some(_)) => None,
    }
}
