//! Groups of slots for several patients at once, in one pass over the free slots.

use std::{cmp::Reverse, ops::Range};

use super::query::{Slot, SlotQuery};
use crate::{Millis, OperatoryId, ProviderId, Timestamp, Zone};

/// Days of slots computed at once, so that a search ends early if it finds enough groups.
const DAYS_AT_ONCE: u16 = 7;
/// Maximum number of slots tried for one start. Only rules that refuse a slot because of other members, such as buffers
/// and daily caps, need more than one try for a member.
const TRIES_OF_START: u32 = 512;
/// Maximum number of slots tried in a search, before each start gets the fewest that one group needs.
const TRIES: u32 = 4_096;

/// The order of the visits of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// Each visit starts when the one before it ends.
    #[default]
    Consecutive,
    /// All visits start at the same time, in different operatories.
    Parallel,
}

impl Arrangement {
    pub const ALL: [Arrangement; 2] = [Arrangement::Consecutive, Arrangement::Parallel];

    /// Returns the name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Arrangement::Consecutive => "consecutive",
            Arrangement::Parallel => "parallel",
        }
    }
}

/// The number of visits of a group, and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    pub size: u8,
    pub arrangement: Arrangement,
}

impl Party {
    /// Allowed sizes of a group.
    pub const SIZES: std::ops::RangeInclusive<u8> = 2..=8;
}

/// Returns the best group of each start that has one, in order of start, at most `query.limit` groups. `slots` returns
/// the slots of a query in order of start, provider and operatory.
///
/// The best consecutive group has the fewest changes of provider. The best parallel group has the most providers.
/// `admits` decides if a slot can follow the members before it; slots that occupy each other's time are never combined.
/// The members after the first may start after the days of the query.
pub fn groups_of(
    zone: &Zone,
    query: &SlotQuery,
    party: Party,
    slots: impl Fn(&SlotQuery) -> Vec<Slot>,
    mut admits: impl FnMut(&[Slot], &Slot) -> bool,
) -> Vec<Vec<Slot>> {
    if !Party::SIZES.contains(&party.size) || !query.problems().is_empty() {
        return Vec::new();
    }
    let reach = match party.arrangement {
        Arrangement::Consecutive => query.length.saturating_mul(i64::from(party.size)),
        Arrangement::Parallel => query.length,
    };
    let mut tries = TRIES;
    let mut groups = Vec::new();
    let mut done: u16 = 0;
    while done < query.days && groups.len() < query.limit {
        let days = DAYS_AT_ONCE.min(query.days - done);
        let from = query.from.add_days(i32::from(done));
        let end = zone.day(from.add_days(i32::from(days))).start;
        // The last members may start after midnight of the last day.
        let last = zone.local_date(end.plus(reach));
        let reached = (last.days_since(from) + 1).clamp(i64::from(days), i64::from(SlotQuery::MAX_DAYS)) as u16;
        let piece = SlotQuery {
            from,
            days: if party.arrangement == Arrangement::Parallel { days } else { reached },
            overlapping_operatory_slots: true,
            appointments_per_timeslot: 1,
            limit: usize::MAX,
            ..query.clone()
        };
        let index = Index::new(slots(&piece));
        index.collect(party, end, query.limit, &mut tries, &mut admits, &mut groups);
        done += days;
    }
    groups
}

/// Slots by start.
struct Index {
    slots: Vec<Slot>,
    /// The slots of each start, in order.
    starts: Vec<Range<usize>>,
}

impl Index {
    fn new(slots: Vec<Slot>) -> Index {
        let mut starts = Vec::new();
        let mut first = 0;
        for same_start in slots.chunk_by(|a, b| a.span.start == b.span.start) {
            starts.push(first..first + same_start.len());
            first += same_start.len();
        }
        Index { slots, starts }
    }

    fn at(&self, start: usize) -> &[Slot] {
        self.starts.get(start).map(|range| &self.slots[range.clone()]).unwrap_or_default()
    }

    fn time_of(&self, start: usize) -> Option<Timestamp> {
        self.at(start).first().map(|slot| slot.span.start)
    }

    /// Adds the groups that start before `end`.
    fn collect(
        &self,
        party: Party,
        end: Timestamp,
        limit: usize,
        tries: &mut u32,
        admits: &mut dyn FnMut(&[Slot], &Slot) -> bool,
        groups: &mut Vec<Vec<Slot>>,
    ) {
        let size = usize::from(party.size);
        // The index of the start of each member, moved forward only.
        let mut cursors = vec![0; size];
        for start in 0..self.starts.len() {
            if groups.len() >= limit || self.time_of(start).is_none_or(|time| time >= end) {
                return;
            }
            let times: Vec<&[Slot]> = match party.arrangement {
                Arrangement::Parallel => vec![self.at(start)],
                Arrangement::Consecutive => match self.consecutive(start, &mut cursors) {
                    Some(times) => times,
                    None => continue,
                },
            };
            let allowed = TRIES_OF_START.min(*tries).max(2 * u32::from(party.size));
            let chosen = Vec::with_capacity(size);
            let mut search = GroupSearch { times, size, left: allowed, admits: &mut *admits, chosen };
            let found = match party.arrangement {
                Arrangement::Consecutive => search.extend(),
                Arrangement::Parallel => search.spread() || search.combine(0),
            };
            *tries = tries.saturating_sub(allowed - search.left);
            if found {
                groups.push(search.chosen);
            }
        }
    }

    /// Returns the slots of each member of a group that begins at a start, or `None` if one of them has none.
    fn consecutive(&self, start: usize, cursors: &mut [usize]) -> Option<Vec<&[Slot]>> {
        let first = self.at(start).first()?;
        let length: Millis = first.span.length();
        let mut times = Vec::with_capacity(cursors.len());
        for (member, cursor) in (0_i64..).zip(cursors) {
            let wanted = first.span.start.plus(member * length);
            while self.time_of(*cursor).is_some_and(|time| time < wanted) {
                *cursor += 1;
            }
            if self.time_of(*cursor) != Some(wanted) {
                return None;
            }
            times.push(self.at(*cursor));
        }
        Some(times)
    }
}

/// The search for the group of one start.
struct GroupSearch<'a> {
    /// The slots of each member in order of provider and operatory; one list for all members of a parallel group.
    times: Vec<&'a [Slot]>,
    size: usize,
    /// Number of slots that may still be tried.
    left: u32,
    admits: &'a mut dyn FnMut(&[Slot], &Slot) -> bool,
    chosen: Vec<Slot>,
}

impl GroupSearch<'_> {
    /// Adds a slot if it can be booked with the members before it.
    fn try_slot(&mut self, slot: Slot) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let apart = !self.chosen.iter().any(|other| other.conflicts_with(&slot));
        let admitted = apart && (self.admits)(&self.chosen, &slot);
        if admitted {
            self.chosen.push(slot);
        }
        admitted
    }

    /// Completes a consecutive group. The provider before keeps the next visit, in the same operatory if possible;
    /// otherwise the provider with the longest unbroken time from there on takes it, which keeps the changes fewest.
    fn extend(&mut self) -> bool {
        let member = self.chosen.len();
        if member == self.size {
            return true;
        }
        let before = self.chosen.last().copied();
        let stays = before.and_then(|before| self.find(member, before.provider, before.operatory));
        if let Some(slot) = stays
            && self.advance(slot)
        {
            return true;
        }
        let slots = self.times[member];
        let mut providers: Vec<(bool, Reverse<usize>, ProviderId)> = Vec::new();
        for slots in slots.chunk_by(|a, b| a.provider == b.provider) {
            let provider = slots[0].provider;
            let run = self.run(member, |slot| slot.provider == provider, provider);
            providers.push((before.is_none_or(|before| before.provider != provider), Reverse(run), provider));
        }
        providers.sort_unstable();
        for (_, _, provider) in providers {
            let first = slots.partition_point(|slot| slot.provider < provider);
            let of_provider = slots[first..].iter().take_while(|slot| slot.provider == provider);
            let run = |slot: &Slot| self.run(member, |other| other.operatory == slot.operatory, provider);
            let mut ranked: Vec<(Reverse<usize>, Slot)> = of_provider.map(|slot| (Reverse(run(slot)), *slot)).collect();
            ranked.sort_by_key(|(run, _)| *run);
            for (_, slot) in ranked {
                if stays != Some(slot) && self.advance(slot) {
                    return true;
                }
                if self.left == 0 {
                    return false;
                }
            }
        }
        false
    }

    fn advance(&mut self, slot: Slot) -> bool {
        if !self.try_slot(slot) {
            return false;
        }
        if self.extend() {
            return true;
        }
        self.chosen.pop();
        false
    }

    fn find(&self, member: usize, provider: ProviderId, operatory: Option<OperatoryId>) -> Option<Slot> {
        let slots = self.times.get(member)?;
        let found = slots.binary_search_by_key(&(provider, operatory), |slot| (slot.provider, slot.operatory));
        found.ok().map(|index| slots[index])
    }

    /// Returns the number of members from `member` on that have a slot of the provider that fulfils the condition.
    fn run(&self, member: usize, is_wanted: impl Fn(&Slot) -> bool, provider: ProviderId) -> usize {
        let has_slot = |slots: &&&[Slot]| {
            let first = slots.partition_point(|slot| slot.provider < provider);
            slots[first..].iter().take_while(|slot| slot.provider == provider).any(&is_wanted)
        };
        self.times[member..].iter().take_while(has_slot).count()
    }

    /// Chooses a parallel group with as many providers as possible: a largest matching of providers and operatories,
    /// then further operatories. Returns `false` if the rules refuse it.
    fn spread(&mut self) -> bool {
        let slots = self.times[0];
        let mut matching = Matching { slots, columns: Vec::new() };
        let mut first = 0;
        for of_provider in slots.chunk_by(|a, b| a.provider == b.provider) {
            if matching.columns.len() == self.size {
                break;
            }
            matching.add(first..first + of_provider.len(), &mut Vec::new());
            first += of_provider.len();
        }
        let mut picked: Vec<Slot> = matching.columns.iter().map(|index| slots[*index]).collect();
        for slot in slots {
            if picked.len() == self.size {
                break;
            }
            if !picked.iter().any(|other| other.conflicts_with(slot)) {
                picked.push(*slot);
            }
        }
        picked.sort_by_key(|slot| (slot.provider, slot.operatory));
        let admitted = picked.len() == self.size && picked.into_iter().all(|slot| self.try_slot(slot));
        if !admitted {
            self.chosen.clear();
        }
        admitted
    }

    /// Completes a parallel group with the slots from `first` on, in their order.
    fn combine(&mut self, first: usize) -> bool {
        if self.chosen.len() == self.size {
            return true;
        }
        let slots = self.times[0];
        for (index, slot) in slots.iter().enumerate().skip(first) {
            if slots.len() - index < self.size - self.chosen.len() || self.left == 0 {
                return false;
            }
            if self.try_slot(*slot) {
                if self.combine(index + 1) {
                    return true;
                }
                self.chosen.pop();
            }
        }
        false
    }
}

/// A matching of providers and operatories by augmenting paths.
struct Matching<'a> {
    slots: &'a [Slot],
    /// The index of one slot for each matched provider; no two of them are in one operatory.
    columns: Vec<usize>,
}

impl Matching<'_> {
    /// Matches a provider, given by the range of its slots. Earlier providers may change their operatories. `visited`
    /// contains the slots that were tried. Returns `false` if no operatory can be freed.
    fn add(&mut self, provider: Range<usize>, visited: &mut Vec<usize>) -> bool {
        for index in provider {
            let column = self.slots[index].column();
            if visited.iter().any(|tried| self.slots[*tried].column() == column) {
                continue;
            }
            visited.push(index);
            let holder = self.columns.iter().position(|other| self.slots[*other].column() == column);
            let Some(holder) = holder else {
                self.columns.push(index);
                return true;
            };
            let holder_slot = self.columns[holder];
            let holder_provider = self.slots[holder_slot].provider;
            let from = self.slots.partition_point(|slot| slot.provider < holder_provider);
            let until = self.slots.partition_point(|slot| slot.provider <= holder_provider);
            self.columns[holder] = index;
            if self.add(from..until, visited) {
                return true;
            }
            self.columns[holder] = holder_slot;
        }
        false
    }
}
