//! The choice among several names, addresses, contacts and identifiers. Ended ones are used only if there is no other.

use crate::responses::{Address, Communication, ContactPoint, HumanName, Identifier, Period};

/// Returns the index of the item with the smallest key; items without a key are ignored.
fn least<T, K: Ord>(items: &[T], key: impl Fn(&T) -> Option<K>) -> Option<usize> {
    let keyed = items.iter().enumerate().filter_map(|(at, item)| Some((key(item)?, at)));
    keyed.min().map(|(_, at)| at)
}

fn has_ended(usage: Option<&str>, period: &Period) -> bool {
    usage == Some("old") || !period.is_current()
}

/// Returns the index of the official name.
pub fn main_name(names: &[HumanName]) -> Option<usize> {
    least(names, |name| {
        let usage = name.usage.as_deref();
        let rank = match usage {
            Some("official") => 0,
            Some("usual") => 1,
            None => 2,
            Some("nickname" | "anonymous" | "temp") => 3,
            Some(_) => 4,
        };
        let is_given = name.family.is_some() || name.text.is_some() || !name.given.is_empty();
        is_given.then(|| (has_ended(usage, &name.period), rank))
    })
}

/// Returns the index of the contact with a system and one of the uses. Without uses, any use except `old` matches.
pub fn point(points: &[ContactPoint], system: &str, usage: &[&str]) -> Option<usize> {
    let counts = |p: &ContactPoint| p.value.is_some() && p.usage.as_deref() != Some("old");
    let is_kin = |p: &ContactPoint| match system {
        "phone" | "sms" => matches!(p.system.as_deref(), Some("phone" | "sms")),
        _ => p.system.as_deref() == Some(system),
    };
    let any_current = points.iter().any(|p| is_kin(p) && counts(p) && p.period.is_current());
    least(points, |p| {
        let of_use = usage.is_empty() || p.usage.as_deref().is_some_and(|of| usage.contains(&of));
        let fits = p.system.as_deref() == Some(system) && counts(p) && of_use;
        let ended = !fits || !p.period.is_current();
        // The standard prefers lower ranks, and any rank to none.
        (fits && !(ended && any_current)).then(|| (ended, p.rank.as_u64().unwrap_or(u64::MAX)))
    })
}

/// Returns the index of the mobile number, or else of a number for text messages.
pub fn cell(points: &[ContactPoint]) -> Option<usize> {
    point(points, "phone", &["mobile"]).or_else(|| point(points, "sms", &[]))
}

/// Returns the index of the home address, never of an old one.
pub fn main_address(addresses: &[Address]) -> Option<usize> {
    least(addresses, |address| {
        let rank = match address.usage.as_deref() {
            Some("home") => 0,
            None => 1,
            Some("old") => return None,
            Some(_) => 2,
        };
        let parts = [&address.city, &address.state, &address.postal_code, &address.country];
        let is_given = !address.line.is_empty() || parts.into_iter().any(Option::is_some);
        is_given.then(|| (!address.period.is_current(), rank))
    })
}

/// Returns the index of the preferred identifier among those that `fits` accepts.
pub fn identifier(identifiers: &[Identifier], fits: impl Fn(&Identifier) -> bool) -> Option<usize> {
    least(identifiers, |identifier| {
        let usage = identifier.usage.as_deref();
        let rank = match usage {
            Some("usual") => 0,
            Some("official") => 1,
            None => 2,
            Some(_) => 3,
        };
        (identifier.value.is_some() && fits(identifier)).then(|| (has_ended(usage, &identifier.period), rank))
    })
}

/// Returns the index of the preferred language, else of the first.
pub fn language(languages: &[Communication]) -> Option<usize> {
    least(languages, |language| language.language.main_code().map(|_| !language.preferred))
}
