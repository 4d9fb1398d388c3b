//! Paging on servers that link to the next page, and on servers that only return a total.

use fhir_adapter::{
    paging::{At, Step, WalkPosition, path, step},
    responses::Bundle,
};
use serde_json::{Value, json};

fn bundle(ids: &[&str], total: Option<u64>, links: &[(&str, &str)]) -> Bundle {
    let link: Vec<Value> = links.iter().map(|(r, u)| json!({"relation": r, "url": u})).collect();
    let entry: Vec<Value> = ids.iter().map(|id| json!({"resource": {"resourceType": "Patient", "id": id}})).collect();
    serde_json::from_value(json!({"resourceType": "Bundle", "total": total, "link": link, "entry": entry})).unwrap()
}

fn spot(at: At) -> WalkPosition {
    WalkPosition { at, ..WalkPosition::default() }
}

fn id(resource: &Value) -> &str {
    resource["id"].as_str().unwrap()
}

fn ids(step: &Step) -> Vec<&str> {
    step.resources.iter().map(id).collect()
}

#[test]
fn pages_by_offset_overlap_by_one_record() {
    let first = step(&WalkPosition::default(), bundle(&["a", "b"], Some(5), &[]), "Patient", None).unwrap();
    let second_at = first.next.unwrap();
    assert_eq!(path("/Patient?", &second_at, 2), "/Patient?_count=2&_offset=1");
    let second = step(&spot(second_at), bundle(&["b", "c", "d"], Some(5), &[]), "Patient", None).unwrap();
    assert_eq!((ids(&second), second.steady), (vec!["c", "d"], true));
    let third_at = second.next.unwrap();
    assert_eq!(path("/Patient?active=true", &third_at, 1_000), "/Patient?active=true&_count=1000&_offset=3");
    let third = step(&spot(third_at), bundle(&["d", "e"], Some(5), &[]), "Patient", None).unwrap();
    assert_eq!((ids(&third), &third.next, third.steady), (vec!["e"], &None, true));
}

#[test]
fn insertions_and_deletions_make_a_walk_unsteady() {
    let at = At::Offset { offset: 2, last: "b".into(), total: 5 };
    // "a" was deleted: all move up, and "c" would never be listed.
    let moved = step(&spot(at.clone()), bundle(&["c", "d", "e"], Some(4), &[]), "Patient", None).unwrap();
    assert_eq!((ids(&moved), moved.steady), (vec!["c", "d"], false), "no more than were asked for");
    assert!(!step(&spot(at.clone()), bundle(&[], Some(1), &[]), "Patient", None).unwrap().steady);
    assert!(!step(&spot(at.clone()), bundle(&["b", "c"], None, &[]), "Patient", None).unwrap().steady);
    // New records at the end have no effect.
    assert!(step(&spot(at.clone()), bundle(&["b", "c", "d"], Some(6), &[]), "Patient", None).unwrap().steady);
}

#[test]
fn links_are_followed_and_end_the_walk() {
    let own = ("self", "https://h/fhir/R4/Patient?_count=2");
    for (next, expected) in [
        ("https://h/fhir/R4/Patient?_count=2&page=2", "/Patient?_count=2&page=2"),
        ("https://h/fhir/R4?_getpages=7&_getpagesoffset=2", "/?_getpages=7&_getpagesoffset=2"),
        ("/Patient?page=2", "/Patient?page=2"),
    ] {
        let page =
            step(&WalkPosition::default(), bundle(&["a"], Some(9), &[own, ("next", next)]), "Patient", None).unwrap();
        assert_eq!(page.next, Some(At::Link(expected.into())));
    }
    let end =
        step(&spot(At::Link("/Patient?page=2".into())), bundle(&["z"], Some(9), &[own]), "Patient", None).unwrap();
    assert_eq!(end.next, None);
}

#[test]
fn a_walk_by_links_that_misses_or_repeats_results_is_not_steady() {
    let next = ("next", "https://h/fhir/Patient?page");
    let walk = |pages: &[(&[&str], Option<u64>)]| {
        let (mut spot, mut steady) = (WalkPosition::default(), true);
        for (nth, (ids, total)) in pages.iter().enumerate() {
            let links = if nth + 1 < pages.len() { vec![next] } else { Vec::new() };
            let step = step(&spot, bundle(ids, *total, &links), "Patient", Some("https://h/fhir")).unwrap();
            steady &= step.steady;
            spot = WalkPosition { at: step.next.unwrap_or_default(), walked: step.walked, ..WalkPosition::default() };
            spot = serde_json::from_str(&serde_json::to_string(&spot).unwrap()).unwrap();
        }
        steady
    };
    assert!(walk(&[(&["a", "b"], Some(3)), (&["c"], Some(3))]));
    assert!(walk(&[(&["a", "b"], Some(3)), (&["c"], None)]), "a total on the first page alone");
    assert!(walk(&[(&["a", "b"], None), (&["c"], None)]));
    assert!(!walk(&[(&["a", "b"], Some(5)), (&["c"], Some(5))]), "it ends early");
    assert!(!walk(&[(&["a", "b"], Some(5)), (&["c"], None)]), "it ends early");
    assert!(!walk(&[(&["a", "b"], Some(4)), (&["c"], Some(3))]), "one was deleted");
    assert!(!walk(&[(&["a", "b"], None), (&["b", "c"], None)]), "pages overlap");
    assert!(!walk(&[(&[], Some(2))]), "nothing came of two");
}

#[test]
fn an_outcome_before_the_results_of_a_page_is_not_compared() {
    let mut page = bundle(&["b", "c"], Some(3), &[]);
    let outcome = json!({"resource": {"resourceType": "OperationOutcome", "id": "x"}});
    page.entry.insert(0, serde_json::from_value(outcome).unwrap());
    let at = At::Offset { offset: 2, last: "b".into(), total: 3 };
    let last = step(&spot(at), page, "Patient", None).unwrap();
    assert_eq!((ids(&last), last.steady), (vec!["c"], true));
}

/// The links of a page, and the address of its record if the server returns it.
type PageLinks<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);

/// Follows links from page to page.
fn walked(pages: &[PageLinks<'_>]) -> Result<Vec<String>, String> {
    let (mut spot, mut paths) = (WalkPosition::default(), Vec::new());
    for (links, full_url) in pages {
        let mut page = bundle(&["a"], None, links);
        page.entry[0].full_url = full_url.map(str::to_owned);
        let step = step(&spot, page, "Patient", None)?;
        let Some(At::Link(path)) = &step.next else { return Ok(paths) };
        paths.push(path.clone());
        spot = WalkPosition { at: step.next.unwrap(), base: step.base, ..WalkPosition::default() };
        // As the engine stores it.
        spot = serde_json::from_str(&serde_json::to_string(&spot).unwrap()).unwrap();
    }
    Ok(paths)
}

#[test]
fn the_base_url_is_learnt_from_a_page_and_kept() {
    let (first, second) =
        ("https://h/fhir?_getpages=7&_getpagesoffset=2", "https://h/fhir?_getpages=7&_getpagesoffset=4");
    let expected: Vec<String> =
        ["/?_getpages=7&_getpagesoffset=2", "/?_getpages=7&_getpagesoffset=4"].map(str::to_owned).into();
    let searched = ("self", "https://h/fhir/Patient?_count=2");
    let hapi = [(&[searched, ("next", first)][..], None), (&[("self", first), ("next", second)][..], None)];
    assert_eq!(walked(&hapi).unwrap(), expected);
    let bare = [(&[("self", "https://h/fhir/Patient"), ("next", first)][..], None), (&[("next", second)][..], None)];
    assert_eq!(walked(&bare).unwrap(), expected);
    // Without a self link.
    let blaze = [(&[("next", first)][..], Some("https://h/fhir/Patient/a")), (&[("next", second)][..], None)];
    assert_eq!(walked(&blaze).unwrap(), expected);
    let below = [(&[("next", "https://h/Patient/fhir/Patient/__page/xyz")][..], None)];
    assert_eq!(walked(&below).unwrap(), ["/Patient/__page/xyz"]);
    assert!(walked(&[(&[("next", first)][..], None)]).is_err());
    // The address of another server is not below the base URL.
    let other = [(&[searched, ("next", "https://h/fhirs?_getpages=7")][..], None)];
    assert!(walked(&other).is_err());
}

#[test]
fn a_link_elsewhere_is_refused_unless_the_base_is_set() {
    let elsewhere = [("next", "https://other/opaque/7")];
    assert!(step(&WalkPosition::default(), bundle(&["a"], None, &elsewhere), "Patient", None).is_err());
    let set =
        step(&WalkPosition::default(), bundle(&["a"], None, &elsewhere), "Patient", Some("https://other")).unwrap();
    assert_eq!(set.next, Some(At::Link("/opaque/7".into())));
}

#[test]
fn only_results_count() {
    let mut mixed = bundle(&["a"], None, &[]);
    let outcome = json!({"resource": {"resourceType": "OperationOutcome", "id": "x"}});
    mixed.entry.push(serde_json::from_value(outcome).unwrap());
    mixed.entry.push(serde_json::from_value(json!({})).unwrap());
    assert_eq!(ids(&step(&WalkPosition::default(), mixed, "Patient", None).unwrap()), ["a"]);
}

#[test]
fn nulls_and_empty_links_in_a_bundle_are_absent() {
    let read = |bundle: Value| {
        step(&WalkPosition::default(), serde_json::from_value(bundle).unwrap(), "Patient", None).unwrap()
    };
    let patient = json!({"resourceType": "Patient", "id": "a"});
    let nulls = json!({"resourceType": "Bundle", "total": null, "link": null, "entry": null});
    assert!(ids(&read(nulls)).is_empty());
    let page = read(
        json!({"resourceType": "Bundle", "total": 1, "entry": [null, {"resource": null}, {"resource": patient}],
        "link": [null, {"relation": null, "url": "https://h/fhir"}, {"relation": "next", "url": ""}, {"relation": "next"}]}),
    );
    assert_eq!((ids(&page), &page.next, page.steady), (vec!["a"], &None, true));
}

#[test]
fn links_relative_to_the_base_need_no_base() {
    let base = ("self", "https://h/fhir/R4/Patient?_count=2");
    for (next, expected) in [
        ("Patient?_count=2&_offset=2", "/Patient?_count=2&_offset=2"),
        ("./Patient?page=2", "/Patient?page=2"),
        ("?page=2", "/Patient?page=2"),
        ("Patient/_search?page=2", "/Patient/_search?page=2"),
        ("/fhir/R4/Patient?page=2", "/Patient?page=2"),
        ("/fhir/R4?_getpages=7", "/?_getpages=7"),
    ] {
        let page =
            step(&WalkPosition::default(), bundle(&["a"], None, &[base, ("next", next)]), "Patient", None).unwrap();
        assert_eq!(page.next, Some(At::Link(expected.into())), "{next}");
    }
    let bare =
        step(&WalkPosition::default(), bundle(&["a"], None, &[("next", "Patient?page=2")]), "Patient", None).unwrap();
    assert_eq!((bare.next, bare.base), (Some(At::Link("/Patient?page=2".into())), None));
}
