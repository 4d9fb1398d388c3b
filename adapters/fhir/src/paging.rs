//! Walking the pages of a search, on servers that link to the next page and on servers that only count.
//!
//! Where a server links to the next page, the link is followed. Where it does not, but its `total` says that there is more, the next
//! page is asked for by `_offset`, one record early: unless its first record is the last one of the page before, records have come
//! or gone in between, and the walk is not steady: it may have missed some.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::responses::Bundle;

/// The most records asked for at once.
const MAX_COUNT: u64 = 1_000;

/// Where a walk stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum At {
    #[default]
    Start,
    /// Path and query below the base URL.
    Link(String),
    /// After so many records, the last of which had this id.
    Offset { offset: u64, last: String, total: u64 },
}

/// One page.
#[derive(Debug)]
pub struct Step {
    pub resources: Vec<Value>,
    /// None at the end.
    pub next: Option<At>,
    pub steady: bool,
    pub total: Option<u64>,
}

/// The path of the page at `at`. `search` is a path with a query, at most empty: `/Patient?`.
pub fn path(search: &str, at: &At, limit: u32) -> String {
    let limit = u64::from(limit).clamp(1, MAX_COUNT);
    let and = if search.ends_with('?') { "" } else { "&" };
    match at {
        At::Start => format!("{search}{and}_count={limit}"),
        At::Link(path) => path.clone(),
        At::Offset { offset, .. } => {
            let count = limit.min(MAX_COUNT - 1) + 1;
            format!("{search}{and}_count={count}&_offset={}", offset - 1)
        }
    }
}

/// Reads the page that was asked for. `Err`: the server's link leads outside what we can ask for.
pub fn step(at: &At, bundle: Bundle, resource_type: &str, base_url: Option<&str>) -> Result<Step, String> {
    let link = |relation: &str| bundle.link.iter().find(|l| l.relation == relation).map(|l| l.url.as_str());
    let next = match link("next") {
        Some(url) => Some(At::Link(below_base(url, link("self"), resource_type, base_url)?)),
        None => None,
    };
    let total = bundle.total;
    let mut resources: Vec<Value> = bundle.entry.into_iter().filter_map(|e| e.resource).collect();
    let mut steady = true;
    let mut seen = 0;
    if let At::Offset { offset, last, total: before } = at {
        steady = resources.first().is_some_and(|first| id(first) == last) && total >= Some(*before);
        if steady {
            resources.remove(0);
        }
        seen = if steady { *offset } else { offset - 1 };
    }
    // Outcomes and included resources are no results.
    resources.retain(|resource| resource["resourceType"] == resource_type);
    let next = next.or_else(|| {
        let (last, total) = (resources.last()?, total?);
        let offset = seen + resources.len() as u64;
        let counts = !matches!(at, At::Link(_)) && offset < total;
        counts.then(|| At::Offset { offset, last: id(last).to_owned(), total })
    });
    Ok(Step { resources, next, steady, total })
}

fn id(resource: &Value) -> &str {
    resource["id"].as_str().unwrap_or_default()
}

/// A link of the server as a path below the base URL.
fn below_base(url: &str, own: Option<&str>, resource_type: &str, base_url: Option<&str>) -> Result<String, String> {
    let before = |url: &str| url.find(&format!("/{resource_type}?")).map(|at| url[..at].to_owned());
    let bases = [base_url.map(str::to_owned), own.and_then(before), before(url)];
    let rest = bases.iter().flatten().find_map(|base| url.strip_prefix(base.as_str()));
    match rest {
        Some(rest) if rest.starts_with('/') => Ok(rest.to_owned()),
        Some(rest) if rest.starts_with('?') => Ok(format!("/{rest}")),
        _ => Err("the server's link to the next page is not below the base URL: set `base_url`".into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn bundle(ids: &[&str], total: Option<u64>, links: &[(&str, &str)]) -> Bundle {
        let link: Vec<Value> = links.iter().map(|(r, u)| json!({"relation": r, "url": u})).collect();
        let entry: Vec<Value> =
            ids.iter().map(|id| json!({"resource": {"resourceType": "Patient", "id": id}})).collect();
        serde_json::from_value(json!({"resourceType": "Bundle", "total": total, "link": link, "entry": entry})).unwrap()
    }

    fn ids(step: &Step) -> Vec<&str> {
        step.resources.iter().map(id).collect()
    }

    #[test]
    fn counting_servers_are_walked_with_a_seam() {
        let first = step(&At::Start, bundle(&["a", "b"], Some(5), &[]), "Patient", None).unwrap();
        let second_at = first.next.unwrap();
        assert_eq!(path("/Patient?", &second_at, 2), "/Patient?_count=3&_offset=1");
        let second = step(&second_at, bundle(&["b", "c", "d"], Some(5), &[]), "Patient", None).unwrap();
        assert_eq!((ids(&second), second.steady), (vec!["c", "d"], true));
        let third_at = second.next.unwrap();
        assert_eq!(path("/Patient?active=true", &third_at, 1_000), "/Patient?active=true&_count=1000&_offset=3");
        let third = step(&third_at, bundle(&["d", "e"], Some(5), &[]), "Patient", None).unwrap();
        assert_eq!((ids(&third), &third.next, third.steady), (vec!["e"], &None, true));
    }

    #[test]
    fn records_that_come_or_go_meanwhile_make_a_walk_unsteady() {
        let at = At::Offset { offset: 2, last: "b".into(), total: 5 };
        // "a" was deleted: all move up, and "c" would never be seen.
        let moved = step(&at, bundle(&["c", "d", "e"], Some(4), &[]), "Patient", None).unwrap();
        assert_eq!((ids(&moved), moved.steady), (vec!["c", "d", "e"], false));
        assert!(!step(&at, bundle(&[], Some(1), &[]), "Patient", None).unwrap().steady);
        assert!(!step(&at, bundle(&["b", "c"], None, &[]), "Patient", None).unwrap().steady);
        // New ones at the end do no harm.
        assert!(step(&at, bundle(&["b", "c", "d"], Some(6), &[]), "Patient", None).unwrap().steady);
    }

    #[test]
    fn links_are_followed_and_end_the_walk() {
        let own = ("self", "https://h/fhir/R4/Patient?_count=2");
        for (next, expected) in [
            ("https://h/fhir/R4/Patient?_count=2&page=2", "/Patient?_count=2&page=2"),
            ("https://h/fhir/R4?_getpages=7&_getpagesoffset=2", "/?_getpages=7&_getpagesoffset=2"),
            ("/Patient?page=2", "/Patient?page=2"),
        ] {
            let page = step(&At::Start, bundle(&["a"], Some(9), &[own, ("next", next)]), "Patient", None).unwrap();
            assert_eq!(page.next, Some(At::Link(expected.into())));
        }
        let end = step(&At::Link("/Patient?page=2".into()), bundle(&["z"], Some(9), &[own]), "Patient", None).unwrap();
        assert_eq!(end.next, None);
    }

    #[test]
    fn a_link_elsewhere_is_refused_unless_the_base_is_set() {
        let elsewhere = [("next", "https://other/opaque/7")];
        assert!(step(&At::Start, bundle(&["a"], None, &elsewhere), "Patient", None).is_err());
        let set = step(&At::Start, bundle(&["a"], None, &elsewhere), "Patient", Some("https://other")).unwrap();
        assert_eq!(set.next, Some(At::Link("/opaque/7".into())));
    }

    #[test]
    fn only_results_count() {
        let mut mixed = bundle(&["a"], None, &[]);
        let outcome = json!({"resource": {"resourceType": "OperationOutcome", "id": "x"}});
        mixed.entry.push(serde_json::from_value(outcome).unwrap());
        mixed.entry.push(serde_json::from_value(json!({})).unwrap());
        assert_eq!(ids(&step(&At::Start, mixed, "Patient", None).unwrap()), ["a"]);
    }
}
