//! The console's page of booking rules.

use std::sync::Arc;

use location::{
    ids::{AppointmentTypeId, LocationId},
    rules::{Closure, DailyCaps, Instead, RuleOverrides, RuleSet, VisitRules},
    time::{HOUR, MINUTE},
};
use operator_console::location_page::rules::rows;

use crate::{
    console::{ConsoleBrowser, watched},
    support::*,
};

const PAGE: &str = "/console/locations/1/rules";

async fn world_with_rules() -> ApiWorld {
    let few = RuleOverrides { daily_visits: Some(Some(3)), ..RuleOverrides::default() };
    let voice = RuleOverrides { minimum_notice_days: Some(60), ..RuleOverrides::default() };
    let rules = RuleSet {
        plain: VisitRules { minimum_notice: 4 * HOUR, ..VisitRules::default() },
        types: [(AppointmentTypeId(CLEANING), few)].into(),
        channels: [("voice".to_owned(), voice)].into(),
    };
    let mut setup = setup();
    let main = setup.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap();
    main.settings_mut().booking.rules = rules;
    world_set_up(setup, free_rates()).await
}

#[actix_web::test]
async fn rules_in_force_are_shown_by_type_and_channel() {
    let (world, _folder) = watched(world_with_rules().await);
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    assert!(viewer.page("/console/locations/1").await.contains("href=\"/console/locations/1/rules\""));
    let page = viewer.page(PAGE).await;
    assert!(page.contains("<th scope=\"row\">minimum_notice</th><td data-name=\"Value\">4 h</td>"), "{page}");
    assert!(page.contains("Appointment type 1, ") && page.contains("daily_visits of the type"), "{page}");
    assert!(page.contains("channel voice") && page.contains("60 d"), "{page}");
    assert!(!page.contains("Explain a time"), "{page}");
    assert_eq!(viewer.get(&format!("{PAGE}?day={}", world.monday())).await.status, 403);
    let bare = viewer.page(&format!("/console/locations/{BARE}/rules")).await;
    assert!(bare.contains("All visits: no rules."), "{bare}");
    for path in ["/console/locations/4711/rules", "/console/locations/x/rules"] {
        assert_eq!(viewer.get(path).await.status, 404, "{path}");
    }
    let nobody = ConsoleBrowser::new(&world);
    assert_eq!(nobody.get(PAGE).await.status, 303);
}

#[actix_web::test]
async fn operators_explain_the_times_of_a_day_and_one_time() {
    let (world, _folder) = watched(world_with_rules().await);
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let explain = async |fields: &str| operator.page(&format!("{PAGE}?day={}{fields}", world.monday())).await;
    let day = explain("").await;
    assert!(day.contains(">offered<") && day.contains("class=\"number\">32<"), "{day}");
    let voice = explain("&channel=voice&type=2&provider=1").await;
    assert!(voice.contains(">too_soon<") && voice.contains("class=\"number\">16<"), "{voice}");
    assert!(voice.contains("Appointments must be booked at least 60 days ahead"), "{voice}");
    assert!(voice.contains("<option selected>voice</option>"), "{voice}");
    let early = explain("&time=08:00&operatory=2").await;
    assert!(early.contains(">outside_hours<") && early.contains("Ben Brand (2)"), "{early}");
    for (fields, status) in [("&time=8", 400), ("&time=24:00", 400), ("&provider=x", 400), ("&type=78", 404)] {
        let seen = operator.get(&format!("{PAGE}?day={}{fields}", world.monday())).await;
        assert_eq!(seen.status, status, "{fields}: {}", seen.text);
    }
    for day in ["someday", "2020-01-01"] {
        assert_eq!(operator.get(&format!("{PAGE}?day={day}")).await.status, 400, "{day}");
    }
}

#[test]
fn rows_have_every_value_that_is_not_neutral() {
    assert_eq!(rows(&VisitRules::default()), []);
    let caps =
        DailyCaps { visits: Some(1), minutes: Some(2), visits_per_provider: Some(3), minutes_per_provider: Some(4) };
    let rules = VisitRules {
        minimum_notice: HOUR,
        minimum_notice_days: 1,
        cutoff: Some(16 * 60 + 5),
        horizon_days: 60,
        buffer_before: 5 * MINUTE,
        buffer_after: 10 * MINUTE,
        daily_visits: Some(20),
        daily_minutes: Some(600),
        daily_visits_per_provider: Some(8),
        daily_minutes_per_provider: Some(240),
        closures: vec!["2026-12-24".parse::<Closure>().unwrap(), "2026-12-27..2027-01-02".parse().unwrap()],
        align: Some(15),
        new_patients: false,
        known_patients: false,
        age_min: Some(6),
        age_max: Some(17),
        cancel_notice: 24 * HOUR,
        reschedule_notice: 48 * HOUR,
        instead: Some(Instead::Call),
        type_caps: caps,
    };
    let shown: Vec<(&str, String)> = rows(&rules).into_iter().map(|row| (row.key, row.value)).collect();
    assert_eq!(shown.len(), 23);
    for (key, value) in [
        ("minimum_notice", "60 min"),
        ("cutoff", "16:05"),
        ("horizon", "60 d"),
        ("buffer_after", "10 min"),
        ("daily_minutes_per_provider of the type", "4"),
        ("closures", "2026-12-24, 2026-12-27..2027-01-02"),
        ("new_patients", "refused"),
        ("age_max", "17 years"),
        ("instead", "call"),
    ] {
        assert!(shown.contains(&(key, value.to_owned())), "{key}: {shown:?}");
    }
}
