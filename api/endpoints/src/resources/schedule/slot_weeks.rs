//! Searches for free slots week by week, so that the actor can serve other requests between the weeks.

use engine::{FreeGroups, FreeSlots};
use location::slots::Party;

use crate::prelude::*;

/// Days per query. The grid of slots restarts with each query, which is visible only if working hours never pause.
const DAYS: u16 = 7;

/// The slots of some whole days.
pub struct Week {
    pub slots: Vec<Slot>,
    /// The date to continue with: the following day, the day beyond the limit, or the next one with a slot. `None` if
    /// none exists within the search limit.
    pub next: Option<Date>,
    /// `next` is a day beyond the limit.
    pub cut: bool,
    /// The first day alone exceeds the limit; its other slots are missing.
    pub crowded: bool,
    pub any_hours: bool,
}

/// Returns up to `most` slots from the query's first day on, before `end`. Booking rules bind intents only.
pub async fn week(
    call: &mut ApiCall,
    location: &OpenLocation,
    query: &SlotQuery,
    end: Date,
    most: usize,
    is_intent: bool,
) -> Result<Week, ApiError> {
    let days = end.days_since(query.from).clamp(1, i64::from(DAYS)) as u16;
    let piece = SlotQuery { days, limit: most + 1, ..query.clone() };
    let (engine, id) = (&call.api.engine, location.setup.id);
    let FreeSlots { mut slots, next_available_date, any_hours, old_read } = match is_intent {
        true => engine.offered_slots(id, piece, call.key.channel.clone()).await?,
        false => engine.free_slots(id, piece).await?,
    };
    if let Some(at) = old_read {
        warn_once(call, &long_ago(location, at));
    }
    let after = query.from.add_days(days.into());
    let Some(first_beyond) = slots.get(most).copied() else {
        let next = if slots.is_empty() { next_available_date } else { Some(after) };
        return Ok(Week { slots, next, cut: false, crowded: false, any_hours });
    };
    let date = |slot: &Slot| times::local(slot.span.start, location.setup.zone).0;
    let beyond = date(&first_beyond);
    if beyond > query.from {
        slots.retain(|slot| date(slot) < beyond);
        return Ok(Week { slots, next: Some(beyond), cut: true, crowded: false, any_hours });
    }
    slots.truncate(most);
    Ok(Week { slots, next: Some(query.from.add_days(1)), cut: true, crowded: true, any_hours })
}

/// Groups that start on some whole days.
pub struct GroupWeek {
    pub groups: Vec<Vec<Slot>>,
    /// The date to continue with. `None` if no later date within the search limit has slots.
    pub next: Option<Date>,
}

/// Returns up to `most` groups that the booking rules offer, from the query's first day on, before `end`.
pub async fn group_week(
    call: &mut ApiCall,
    location: &OpenLocation,
    query: &SlotQuery,
    party: Party,
    end: Date,
    most: usize,
) -> Result<GroupWeek, ApiError> {
    let days = end.days_since(query.from).clamp(1, i64::from(DAYS)) as u16;
    let piece = SlotQuery { days, limit: most, ..query.clone() };
    let FreeGroups { groups, next_possible_date, old_read } =
        call.api.engine.offered_groups(location.setup.id, piece, party, call.key.channel.clone()).await?;
    if let Some(at) = old_read {
        warn_once(call, &long_ago(location, at));
    }
    let next = if groups.is_empty() { next_possible_date } else { Some(query.from.add_days(days.into())) };
    Ok(GroupWeek { groups, next })
}

fn long_ago(location: &OpenLocation, at: Timestamp) -> String {
    let (name, at) = (&location.setup.name, times::for_people(at, location.setup.zone));
    format!("The system of {name} was last read on {at}: later bookings there are not known yet.")
}

/// Returns the first day of the search: the requested one, but not before today.
pub fn begin(call: &mut ApiCall, location: &OpenLocation, asked: Date) -> Date {
    let today = times::local(call.api.engine.now(), location.setup.zone).0;
    if asked < today {
        warn_once(call, &format!("start_date {asked} is in the past: the search begins today, {today}."));
    }
    asked.max(today)
}

fn warn_once(call: &mut ApiCall, text: &str) {
    if !call.description().is_some_and(|description| description.contains(text)) {
        call.warn(text);
    }
}
