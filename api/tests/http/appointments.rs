use serde_json::{Value, json};

use crate::support::*;

/// Query parameters for the week of the seeded appointments.
fn week(world: &ApiWorld) -> String {
    let first = world.monday().add_days(21);
    format!("start={first}T00:00:00Z&end={}T00:00:00Z", first.add_days(7))
}

#[actix_web::test]
async fn appointments_are_listed_in_order_of_start() {
    let world = world().await;
    let list =
        world.get(&format!("/appointments?subdomain=acme&location_id=1&per_page=100&{}", week(&world))).ok().await;
    let expected: Vec<u64> = (1..=12).collect();
    assert_eq!(each(&list["data"], "id"), expected);
    let one = &list["data"][0];
    let start = midnight_utc(world.monday().add_days(21)).plus(location::time::HOUR);
    let zone = "America/New_York".parse().unwrap();
    assert_eq!(one["start_time"], json!(framework::values::times::utc(start)));
    assert_eq!(one["start_time_with_tz"], json!(framework::values::times::with_zone(start, zone)));
    assert_eq!(
        (&one["timezone"], &one["timezone_offset"]),
        (&json!("America/New_York"), &json!(framework::values::times::offset(start, zone)))
    );
    assert_eq!(
        (&one["provider_name"], &one["patient_id"], &one["location_id"]),
        (&json!("Anna Abel"), &json!(PAT), &json!(1))
    );
    for field in ["note", "checkin_at", "misc", "created_by_user_id", "is_guardian", "referrer"] {
        assert_eq!(one.get(field), Some(&Value::Null), "{field}");
    }
}

#[actix_web::test]
async fn a_list_without_a_location_has_all_locations() {
    let world = world().await;
    let base = format!("/appointments?subdomain=acme&{}", week(&world));
    let all = world.get(&format!("{base}&per_page=100")).ok().await;
    let starts: Vec<String> =
        each(&all["data"], "start_time").iter().map(|it| it.as_str().unwrap().to_owned()).collect();
    assert!(starts.is_sorted() && starts.len() == 13);
    let own = world.get(&format!("{base}&per_page=100")).key(MAIN_KEY).ok().await;
    assert_eq!(own["data"].as_array().unwrap().len(), 12);

    // Page by page, forwards in both orders and back, each appointment appears once.
    for sort in ["start_time", "-start_time"] {
        let mut expected = each(&all["data"], "id");
        if sort.starts_with('-') {
            expected.reverse();
        }
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = world.get(&format!("{base}&sort={sort}&per_page=5&end_cursor={cursor}")).ok().await;
            seen.extend(each(&page["data"], "id"));
            if page["page_info"]["has_next_page"] == json!(false) {
                break;
            }
            cursor = page["page_info"]["end_cursor"].as_str().unwrap().to_owned();
        }
        assert_eq!(seen, expected, "{sort}");
        let page = world.get(&format!("{base}&sort={sort}&per_page=5&end_cursor={cursor}")).ok().await;
        let cursor = page["page_info"]["start_cursor"].as_str().unwrap();
        let back = world.get(&format!("{base}&sort={sort}&per_page=5&start_cursor={cursor}")).ok().await;
        assert_eq!(each(&back["data"], "id"), expected[5..10], "{sort}");
    }
}

#[actix_web::test]
async fn filters_narrow_the_list() {
    let world = world().await;
    let ids = async |rest: &str| {
        let path = format!("/appointments?subdomain=acme&location_id=1&per_page=100&{}&{rest}", week(&world));
        each(&world.get(&path).ok().await["data"], "id")
    };
    assert_eq!(ids("cancelled=true").await, [11]);
    assert_eq!(ids("cancelled=false").await.len(), 11);
    assert_eq!(ids("unavailable=true").await, [12]);
    assert_eq!(ids("nex_only=true").await.len(), 0);
    assert_eq!(ids(&format!("patient_ids[]={PAT}")).await, [1]);
    assert_eq!(ids("provider_ids[]=12").await, Vec::<Value>::new());
    assert_eq!(ids("operatory_ids[]=1&operatory_ids[]=7").await.len(), 12);
    assert_eq!(ids("appointment_type_id=1").await, [1, 3, 5, 7, 9, 11]);
    assert_eq!(ids("foreign_id=appointment%207").await, [7]);
    assert_eq!(ids("foreign_id=x").await, Vec::<Value>::new());
    assert_eq!(ids("updated_since=2190-01-01T00:00:00Z").await, Vec::<Value>::new());
    assert_eq!(ids("created_by=1").await, Vec::<Value>::new());
    assert_eq!(ids("patient_ids[]=1&patient_ids[]=7").await, [1]);
    assert_eq!(ids("sort=-id&cancelled=true").await, [11]);
    let [first, last] = [21, 27].map(|days| world.monday().add_days(days));
    for (version, period) in
        [("v2", week(&world)), ("v3.0.0", week(&world)), ("v2", format!("start={first}&end={last}"))]
    {
        let of = async |period: &str| {
            let path = format!("/appointments?subdomain=acme&location_id=1&per_page=100&{period}");
            world.get(&path).version(version).ok().await
        };
        let named = of(&period.replace("start=", "start_date=").replace("end=", "end_date=")).await;
        assert_eq!((&named["description"], &named["data"]), (&Value::Null, &of(&period).await["data"]), "{period}");
        assert!(named["data"].as_array().unwrap().len() > 5, "{period}");
    }
    let ignored =
        world.get(&format!("/appointments?subdomain=acme&location_id=1&{}&include[]=patient", week(&world))).ok().await;
    assert_eq!(ignored["description"], json!("Note that following parameters are ignored: include."));
}

#[actix_web::test]
async fn other_orders_respect_the_time_span() {
    let world = world().await;
    let day = world.monday().add_days(21);
    let span = format!("start={day}T03:00:00Z&end={day}T07:00:00Z");
    for (sort, expected) in
        [("id", vec![3, 4, 5, 6, 13]), ("-id", vec![13, 6, 5, 4, 3]), ("updated_at", vec![3, 4, 5, 6, 13])]
    {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/appointments?subdomain=acme&{span}&sort={sort}&per_page=2&end_cursor={cursor}");
            let page = world.get(&path).ok().await;
            seen.extend(each(&page["data"], "id"));
            if page["page_info"]["has_next_page"] == json!(false) {
                break;
            }
            cursor = page["page_info"]["end_cursor"].as_str().unwrap().to_owned();
        }
        assert_eq!(seen, expected, "{sort}");
    }
    let pages = format!("/appointments?subdomain=acme&{span}&sort=id&per_page=2&page=2");
    let page = world.get(&pages).version("v2").ok().await;
    assert_eq!((&page["count"], each(&page["data"], "id")), (&json!(5), vec![json!(5), json!(6)]));
}

#[actix_web::test]
async fn an_appointment_moved_ahead_of_a_walk_is_shown_again_and_others_once() {
    let world = world().await;
    let base = format!("/appointments?subdomain=acme&location_id=1&per_page=4&{}", week(&world));
    let first = world.get(&base).ok().await;
    assert_eq!(each(&first["data"], "id"), [1, 2, 3, 4]);
    // After the first page and before the next one, within the working hours of that Monday.
    let at = format!("{}T20:00:00Z", world.monday().add_days(21));
    let moved = world.patch("/appointments/1?subdomain=acme", json!({"appt": {"start_time": at}})).ok().await;
    assert_eq!(moved["data"]["appt"]["end_time"], json!(format!("{}T20:30:00.000Z", world.monday().add_days(21))));
    let mut seen = each(&first["data"], "id");
    let mut cursor = first["page_info"]["end_cursor"].as_str().unwrap().to_owned();
    loop {
        let page = world.get(&format!("{base}&end_cursor={cursor}")).ok().await;
        seen.extend(each(&page["data"], "id"));
        if page["page_info"]["has_next_page"] == json!(false) {
            break;
        }
        cursor = page["page_info"]["end_cursor"].as_str().unwrap().to_owned();
    }
    let expected: Vec<u64> = (1..=12).chain([1]).collect();
    assert_eq!(seen, expected, "it was moved ahead of the page that was read");
    let fresh = world.get(&base.replace("per_page=4", "per_page=100")).ok().await;
    assert_eq!(each(&fresh["data"], "id").last(), Some(&json!(1)));
}

#[actix_web::test]
async fn v2_has_numbered_pages_and_bare_lists() {
    let world = world().await;
    let path = format!("/appointments?subdomain=acme&location_id=1&page=3&per_page=5&{}", week(&world));
    let page = world.get(&path).version("v2").ok().await;
    assert_eq!((&page["count"], each(&page["data"], "id")), (&json!(12), vec![json!(11), json!(12)]));
}

#[actix_web::test]
async fn times_without_offset_are_read_in_the_requested_zone() {
    let world = world().await;
    let day = world.monday().add_days(21);
    // The institution has locations in several zones, so the default is UTC.
    let ids = async |query: &str| {
        each(&world.get(&format!("/appointments?subdomain=acme&per_page=100&{query}")).ok().await["data"], "id")
    };
    assert_eq!(ids(&format!("start={day}T01:00:00&end={day}T02:00:00")).await, [1]);
    assert_eq!(ids(&format!("start={day}T02:00:00&end={day}T03:00:00&timezone=Africa/Lagos")).await, [1]);
    assert_eq!(ids(&format!("start={day}T02:00:00+01:00&end={day}T03:00:00+01:00")).await, [1]);
}

#[actix_web::test]
async fn wrong_values_are_named_all_at_once() {
    let world = world().await;
    assert_eq!(world.get("/appointments?subdomain=acme").fails(400).await, ["start is missing.", "end is missing."]);
    let errors = world.get("/appointments?subdomain=acme&start=2026-12-02&end=2026-12-01").fails(400).await;
    assert_eq!(errors, ["end must be after start."]);
    let query = "start=0000-01-01&end=9999-12-31T00:00:00Z&sort=patient&cancelled=2&timezone=Mars&patient_ids[]=x&page=2&per_page=5000";
    let expected = [
        "timezone must be an IANA time zone such as America/New_York, not \"Mars\".",
        "start must be between the years 1900 and 2199.",
        "end must be between the years 1900 and 2199.",
        "sort must be one of start_time, -start_time, id, -id, updated_at, -updated_at.",
        "cancelled must be true or false.",
        "patient_ids[] must be an integer.",
        "per_page must be between 1 and 1000.",
    ];
    assert_eq!(world.get(&format!("/appointments?subdomain=acme&{query}")).fails(400).await, expected);
}

#[actix_web::test]
async fn an_appointment_includes_requested_records() {
    let world = world().await;
    let plain = world.get("/appointments/1?subdomain=acme").ok().await;
    assert_eq!(plain["data"]["id"], json!(1));
    assert_eq!(plain["data"]["patient"]["name"], json!("Pat Present"), "included unless something else is asked for");
    assert_eq!(plain["data"]["patient"]["bio"]["date_of_birth"], json!("1980-05-06"));
    assert_eq!(plain["data"].get("operatory"), None);
    let more = world.get("/appointments/1?subdomain=acme&include[]=operatory&include[]=appointment_type").ok().await;
    assert_eq!(more["data"].get("patient"), None);
    assert_eq!(
        (&more["data"]["operatory"]["id"], &more["data"]["appointment_type"]["id"]),
        (&json!(CHAIR_1), &json!(CLEANING))
    );
    let none = world.get("/appointments/2?subdomain=acme&include[]=patient&include[]=appointment_type").ok().await;
    assert_eq!((&none["data"]["patient"], &none["data"]["appointment_type"]), (&Value::Null, &Value::Null));
    let all: String =
        ["guarantor", "descriptors", "booking_details", "procedures"].map(|it| format!("&include[]={it}")).concat();
    let all = world.get(&format!("/appointments/1?subdomain=acme&location_id=1{all}")).ok().await;
    assert_eq!(all["description"], json!("Note that following parameters are ignored: location_id."));
    assert_eq!(
        (&all["data"]["patient"]["name"], &all["data"]["patient"]["guarantor"]),
        (&json!("Pat Present"), &Value::Null)
    );
    assert_eq!((&all["data"]["descriptors"], &all["data"]["procedures"][0]["code"]), (&json!([]), &json!("D1110")));
    assert_eq!(all["data"].get("booking_details"), Some(&Value::Null));
}

#[actix_web::test]
async fn an_unknown_appointment_is_not_found() {
    let world = world().await;
    assert_eq!(world.get("/appointments/4711?subdomain=acme").fails(404).await, ["Appointment with id 4711 not found"]);
    assert_eq!(
        world.get(&format!("/appointments/{SECONDS_APPOINTMENT}?subdomain=acme")).key(MAIN_KEY).fails(404).await,
        [format!("Appointment with id {SECONDS_APPOINTMENT} not found")]
    );
    assert_eq!(world.get("/appointments/x?subdomain=acme").fails(400).await, ["id must be an integer."]);
    let include = world.get("/appointments/1?subdomain=acme&include[]=everything").fails(400).await;
    assert!(include[0].starts_with("include[] must be one of patient, operatory"));
}
