//! Booking rules: values, inheritance of single keys, and contradictions.

use location::{
    ids::{AppointmentTypeId, LocationId},
    rules::{Closure, Instead, RuleSet},
    time::{HOUR, MINUTE},
};

use super::{PRACTICE, parse, problems, problems_of_keys};

/// Returns a configuration with keys in the tables of rules: the defaults, the institution and the location.
fn levels(defaults: &str, institution: &str, location: &str) -> String {
    let table = |path: &str, keys: &str| {
        if keys.is_empty() { String::new() } else { format!("[{path}.booking.rules]\n{keys}\n") }
    };
    let head = PRACTICE.replace(
        "[[institutions.locations]]",
        &format!("{}[[institutions.locations]]", table("institutions", institution)),
    );
    format!("{}{head}{}", table("defaults", defaults), table("institutions.locations", location))
}

fn rules(defaults: &str, institution: &str, location: &str) -> RuleSet {
    let text = levels(defaults, institution, location);
    let config = parse(&text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
    config.setup.locations[&LocationId(1)].settings.booking.rules.clone()
}

#[test]
fn every_rule_has_a_notation() {
    let rules = rules(
        "minimum_notice = \"4h\"\nminimum_notice_days = 1\ncutoff = \"16:00\"\nhorizon = 60\nbuffer_before = 5\n\
         buffer_after = 10\ndaily_visits = 20\ndaily_minutes = 600\ndaily_visits_per_provider = 10\n\
         daily_minutes_per_provider = 300\n\
         closures = [\"2026-12-24\", \"2026-12-27..2027-01-02\", \"2026-12-31T12:00..2027-01-01T12:00\"]\n\
         align = 15\nnew_patients = \"refused\"\nknown_patients = \"allowed\"\nage_min = 18\nage_max = 65\n\
         cancel_notice = \"24h\"\nreschedule_notice = \"2h\"\ninstead = \"type:7\"",
        "",
        "",
    );
    let plain = &rules.plain;
    assert_eq!((plain.minimum_notice, plain.minimum_notice_days, plain.cutoff), (4 * HOUR, 1, Some(960)));
    assert_eq!((plain.horizon_days, plain.buffer_before, plain.buffer_after), (60, 5 * MINUTE, 10 * MINUTE));
    assert_eq!((plain.daily_visits, plain.daily_minutes), (Some(20), Some(600)));
    assert_eq!((plain.daily_visits_per_provider, plain.daily_minutes_per_provider), (Some(10), Some(300)));
    let closures: Vec<String> = plain.closures.iter().map(Closure::to_string).collect();
    assert_eq!(closures, ["2026-12-24", "2026-12-27..2027-01-02", "2026-12-31T12:00..2027-01-01T12:00"]);
    assert_eq!((plain.align, plain.new_patients, plain.known_patients), (Some(15), false, true));
    assert_eq!((plain.age_min, plain.age_max), (Some(18), Some(65)));
    assert_eq!((plain.cancel_notice, plain.reschedule_notice), (24 * HOUR, 2 * HOUR));
    assert_eq!(plain.instead, Some(Instead::Type(AppointmentTypeId(7))));
}

#[test]
fn rules_are_neutral_by_default() {
    assert!(rules("", "", "").is_neutral());
    assert!(rules("cutoff = \"none\"\nclosures = []\nhorizon = 730", "", "").is_neutral());
}

#[test]
fn each_level_changes_only_the_keys_that_it_names() {
    let rules = rules(
        "minimum_notice = \"1h\"\nhorizon = 60\ncutoff = \"16:00\"\nclosures = [\"2026-12-24\"]\ndaily_visits = 9",
        "horizon = 30\ncutoff = \"none\"",
        "minimum_notice = \"2h\"\nclosures = []",
    );
    let plain = &rules.plain;
    assert_eq!((plain.minimum_notice, plain.horizon_days, plain.cutoff), (2 * HOUR, 30, None));
    assert_eq!((plain.closures.len(), plain.daily_visits), (0, Some(9)));
}

#[test]
fn overrides_are_inherited_key_by_key() {
    let rules = rules(
        "[defaults.booking.rules.types.5]\nminimum_notice = \"1h\"\ndaily_visits = 2\n\
         [defaults.booking.rules.channels.voice]\nhorizon = 14",
        "[institutions.booking.rules.types.5]\ndaily_visits = 3\n[institutions.booking.rules.types.6]\nage_min = 18",
        "[institutions.locations.booking.rules.types.5]\ndaily_visits = \"none\"\nnew_patients = \"refused\"",
    );
    let of_type = &rules.types[&AppointmentTypeId(5)];
    assert_eq!(
        (of_type.minimum_notice, of_type.daily_visits, of_type.new_patients),
        (Some(HOUR), Some(None), Some(false))
    );
    assert_eq!((of_type.horizon_days, of_type.known_patients), (None, None));
    assert_eq!(rules.types[&AppointmentTypeId(6)].age_min, Some(Some(18)));
    assert_eq!(rules.channels["voice"].horizon_days, Some(14));
    assert_eq!(rules.effective(None, Some("voice")).horizon_days, 14);
}

#[test]
fn rules_of_one_location_leave_the_others_alone() {
    let second = "[[institutions.locations]]\nid = 2\nname = \"Second\"\nzone = \"UTC\"\n";
    let text = levels("", "horizon = 30", "horizon = 10") + second;
    let config = parse(&text).unwrap();
    let horizon = |id| config.setup.locations[&LocationId(id)].settings.booking.rules.plain.horizon_days;
    assert_eq!((horizon(1), horizon(2)), (10, 30));
}

/// Returns the problems of rules under `[defaults]`, without their lines.
fn found(keys: &str) -> Vec<String> {
    let without_line = |it: String| it.split_once(": ").map_or(it.clone(), |(_, text)| text.to_owned());
    problems(&levels(keys, "", "")).into_iter().map(without_line).collect()
}

#[test]
fn contradictions_are_named() {
    for (keys, problem) in [
        ("minimum_notice_days = 9\nhorizon = 8", "`horizon` is shorter than `minimum_notice_days`"),
        ("minimum_notice = \"3d\"\nhorizon = 2", "`horizon` is shorter than `minimum_notice`"),
        ("age_min = 18\nage_max = 17", "`age_min` is above `age_max`"),
        ("new_patients = \"refused\"\nknown_patients = \"refused\"", "both refused"),
        (
            "daily_visits = 0\ndaily_minutes = 60",
            "`daily_visits = 0` refuses every visit, so `daily_minutes` has no effect",
        ),
        ("[defaults.booking.rules.types.5]\ninstead = \"type:5\"", "names the appointment type itself"),
        (
            "known_patients = \"refused\"\n[defaults.booking.rules.types.5]\nnew_patients = \"refused\"",
            "(in `types.5`)",
        ),
        ("horizon = 3\n[defaults.booking.rules.channels.voice]\nminimum_notice_days = 4", "(in `channels.voice`)"),
    ] {
        let found = found(keys);
        assert_eq!(found.len(), 1, "{keys}: {found:?}");
        assert!(found[0].contains(problem), "{keys}: {found:?}");
    }
    for fine in
        ["horizon = 0", "minimum_notice = \"4h\"\nhorizon = 0", "age_min = 18\nage_max = 18", "daily_visits = 0"]
    {
        assert_eq!(found(fine), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn a_contradiction_is_reported_once_where_its_last_key_is_set() {
    let text = levels("horizon = 3", "", "minimum_notice_days = 4");
    let line = 1 + text.lines().position(|line| line == "minimum_notice_days = 4").unwrap();
    let found = problems(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(&format!("line {line}: ")), "{found:?}");
    // A location that shortens the horizon contradicts the inherited rules of a type.
    let text = levels("[defaults.booking.rules.types.5]\nminimum_notice_days = 4", "", "horizon = 3");
    let line = 1 + text.lines().position(|line| line == "horizon = 3").unwrap();
    let found = problems(&text);
    assert!(found.len() == 1 && found[0].starts_with(&format!("line {line}: ")), "{found:?}");
}

#[test]
fn wrong_values_name_the_key_and_the_fix() {
    for (keys, problem) in [
        ("cutoff = \"25:00\"", "`cutoff` must be a local time from 00:00 to 23:59, such as 16:00, or \"none\""),
        ("cutoff = 16", "`cutoff` must be a string, or \"none\""),
        ("align = 25", "`align` must be one of 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, or \"none\""),
        ("buffer_after = 1441", "`buffer_after` must be between 0 and 1440"),
        ("daily_visits = -1", "`daily_visits` must be between 0 and 100000, or \"none\""),
        ("closures = [\"2026-12-26..2026-12-24\"]", "`closures` must end after it begins: 2026-12-26..2026-12-24"),
        ("closures = [\"24.12.2026\"]", "`closures` must be dates such as 2026-12-24"),
        ("closures = \"2026-12-24\"", "`closures` must be an array of strings"),
        ("new_patients = false", "`new_patients`"),
        ("instead = \"type:x\"", "`instead` must be `call`, `request`, or `type:`"),
        ("no_such_rule = 1", "unknown key `no_such_rule` in [rules]"),
        ("types = 5", "`types` must be a table"),
        ("[defaults.booking.rules.types.x]\nhorizon = 1", "`types.x`: the name must be the id of an appointment type"),
        ("[defaults.booking.rules.channels.\"The Voice\"]\nhorizon = 1", "must have 1 to 63 lower case letters"),
        ("[defaults.booking.rules.types.5]\nno_such_rule = 1", "unknown key `no_such_rule` in [5]"),
    ] {
        let found = found(keys);
        assert!(found.iter().any(|it| it.contains(problem)), "{keys}: {found:?}");
    }
}

#[test]
fn changed_rules_are_reported_for_a_reload() {
    let before =
        parse(&levels("", "", "horizon = 30\n[institutions.locations.booking.rules.types.5]\nage_min = 3")).unwrap();
    let after =
        parse(&levels("", "", "horizon = 60\n[institutions.locations.booking.rules.types.5]\nage_min = 4")).unwrap();
    let changes = before.values.changes(&after.values);
    let expected = ["~ location 1 booking.rules.horizon 30 -> 60", "~ location 1 booking.rules.types.5.age_min 3 -> 4"];
    assert_eq!(changes.lines, expected);
    assert_eq!(changes.at_start, Vec::<String>::new());
}

#[test]
fn a_key_may_name_a_channel() {
    let key = |channel: &str| {
        format!(
            "[[keys]]\nname = \"bot\"\nsha256 = \"{}\"\nenvironment = \"sandbox\"\ninstitutions = [\"acme\"]\n{channel}",
            "11".repeat(32)
        )
    };
    assert_eq!(problems_of_keys(PRACTICE, &key("channel = \"voice\"")), Vec::<String>::new());
    assert_eq!(problems_of_keys(PRACTICE, &key("")), Vec::<String>::new());
    let found = problems_of_keys(PRACTICE, &key("channel = \"The Voice\""));
    assert!(found.len() == 1 && found[0].contains("`channel` must have 1 to 63 lower case letters"), "{found:?}");
}
