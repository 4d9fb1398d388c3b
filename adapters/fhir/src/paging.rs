//! Walking the pages of a search, on servers that link to the next page and on servers that only count.
//!
//! Where a server links to the next page, the link is followed. Where it does not, but its `total` says that there is more, the next
//! page is asked for by `_offset`, one record early: unless its first record is the last one of the page before, records have come
//! or gone in between, and the walk is not steady: it may have missed some.
//!
//! Links are asked for below the base URL, which a server may write otherwise than we call it. Not every page shows how it does (the
//! later ones of HAPI have only opaque links): what one page showed goes with the walk.

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

/// Where a walk stands, and what it learnt of the server on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    pub at: At,
    /// The base URL as the server writes it in links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The most records of a page: answers with more were too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
}

impl Spot {
    /// The same walk from its beginning.
    pub fn again(self) -> Spot {
        Spot { at: At::Start, ..self }
    }

    /// How many records to ask for.
    pub fn count(&self, limit: u32) -> u32 {
        self.most.map_or(limit, |most| most.min(limit)).max(1)
    }
}

/// One page.
#[derive(Debug)]
pub struct Step {
    pub resources: Vec<Value>,
    /// None at the end.
    pub next: Option<At>,
    /// The base URL of the link.
    pub base: Option<String>,
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
pub fn step(spot: &Spot, bundle: Bundle, resource_type: &str, set_base: Option<&str>) -> Result<Step, String> {
    let (at, mut base) = (&spot.at, spot.base.clone());
    let mut next = None;
    if let Some(url) = link(&bundle, "next") {
        let bases = bases(&bundle, url, resource_type, set_base, spot.base.as_deref());
        let (found, path) = below_base(url, bases)?;
        (next, base) = (Some(At::Link(path)), Some(found));
    }
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
    Ok(Step { resources, next, base, steady, total })
}

fn id(resource: &Value) -> &str {
    resource["id"].as_str().unwrap_or_default()
}

fn link<'a>(bundle: &'a Bundle, relation: &str) -> Option<&'a str> {
    bundle.link.iter().find(|l| l.relation == relation).map(|l| l.url.as_str())
}

/// What may be the base URL of a link, the surest first: as it is set, before the search this page answers, before the records on it,
/// as an earlier page had it, and at last before the last path segment that names the type.
fn bases(
    bundle: &Bundle,
    next: &str,
    resource_type: &str,
    set: Option<&str>,
    earlier: Option<&str>,
) -> Vec<Option<String>> {
    let before = |url: &str, mark: &str| url.find(mark).map(|at| url[..at].to_owned());
    let search = format!("/{resource_type}?");
    let own = link(bundle, "self");
    let whole = || own?.strip_suffix(&search[..search.len() - 1]).map(str::to_owned);
    let of_record = bundle.entry.iter().find_map(|entry| {
        let resource = entry.resource.as_ref()?;
        let own_path = format!("/{}/{}", resource["resourceType"].as_str()?, id(resource));
        entry.full_url.as_deref()?.strip_suffix(&own_path).map(str::to_owned)
    });
    let segment = || next.rfind(&format!("/{resource_type}/")).map(|at| next[..at].to_owned());
    vec![
        set.map(str::to_owned),
        own.and_then(|own| before(own, &search)).or_else(whole),
        before(next, &search),
        of_record,
        earlier.map(str::to_owned),
        segment(),
    ]
}

/// A link of the server as the base it is below, and the path there.
fn below_base(url: &str, bases: Vec<Option<String>>) -> Result<(String, String), String> {
    let path = |base: &str| match url.strip_prefix(base)? {
        rest if rest.starts_with('/') => Some(rest.to_owned()),
        rest if rest.starts_with('?') => Some(format!("/{rest}")),
        _ => None,
    };
    let found = bases.into_iter().flatten().find_map(|base| path(&base).map(|path| (base, path)));
    found.ok_or_else(|| "the server's link to the next page is not below the base URL: set `base_url`".into())
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

    fn spot(at: At) -> Spot {
        Spot { at, ..Spot::default() }
    }

    fn ids(step: &Step) -> Vec<&str> {
        step.resources.iter().map(id).collect()
    }

    #[test]
    fn counting_servers_are_walked_with_a_seam() {
        let first = step(&Spot::default(), bundle(&["a", "b"], Some(5), &[]), "Patient", None).unwrap();
        let second_at = first.next.unwrap();
        assert_eq!(path("/Patient?", &second_at, 2), "/Patient?_count=3&_offset=1");
        let second = step(&spot(second_at), bundle(&["b", "c", "d"], Some(5), &[]), "Patient", None).unwrap();
        assert_eq!((ids(&second), second.steady), (vec!["c", "d"], true));
        let third_at = second.next.unwrap();
        assert_eq!(path("/Patient?active=true", &third_at, 1_000), "/Patient?active=true&_count=1000&_offset=3");
        let third = step(&spot(third_at), bundle(&["d", "e"], Some(5), &[]), "Patient", None).unwrap();
        assert_eq!((ids(&third), &third.next, third.steady), (vec!["e"], &None, true));
    }

    #[test]
    fn records_that_come_or_go_meanwhile_make_a_walk_unsteady() {
        let at = At::Offset { offset: 2, last: "b".into(), total: 5 };
        // "a" was deleted: all move up, and "c" would never be seen.
        let moved = step(&spot(at.clone()), bundle(&["c", "d", "e"], Some(4), &[]), "Patient", None).unwrap();
        assert_eq!((ids(&moved), moved.steady), (vec!["c", "d", "e"], false));
        assert!(!step(&spot(at.clone()), bundle(&[], Some(1), &[]), "Patient", None).unwrap().steady);
        assert!(!step(&spot(at.clone()), bundle(&["b", "c"], None, &[]), "Patient", None).unwrap().steady);
        // New ones at the end do no harm.
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
                step(&Spot::default(), bundle(&["a"], Some(9), &[own, ("next", next)]), "Patient", None).unwrap();
            assert_eq!(page.next, Some(At::Link(expected.into())));
        }
        let end =
            step(&spot(At::Link("/Patient?page=2".into())), bundle(&["z"], Some(9), &[own]), "Patient", None).unwrap();
        assert_eq!(end.next, None);
    }

    /// The links of a page, and the address of its record where the server shows it.
    type Shown<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);

    /// Walks links from one page to the next.
    fn walked(pages: &[Shown<'_>]) -> Result<Vec<String>, String> {
        let (mut spot, mut paths) = (Spot::default(), Vec::new());
        for (links, full_url) in pages {
            let mut page = bundle(&["a"], None, links);
            page.entry[0].full_url = full_url.map(str::to_owned);
            let step = step(&spot, page, "Patient", None)?;
            let Some(At::Link(path)) = &step.next else { return Ok(paths) };
            paths.push(path.clone());
            spot = Spot { at: step.next.unwrap(), base: step.base, most: None };
            // As the engine keeps it.
            spot = serde_json::from_str(&serde_json::to_string(&spot).unwrap()).unwrap();
        }
        Ok(paths)
    }

    #[test]
    fn the_base_is_learnt_where_it_shows_and_remembered() {
        let (first, second) =
            ("https://h/fhir?_getpages=7&_getpagesoffset=2", "https://h/fhir?_getpages=7&_getpagesoffset=4");
        let expected: Vec<String> =
            ["/?_getpages=7&_getpagesoffset=2", "/?_getpages=7&_getpagesoffset=4"].map(str::to_owned).into();
        let searched = ("self", "https://h/fhir/Patient?_count=2");
        let hapi = [(&[searched, ("next", first)][..], None), (&[("self", first), ("next", second)][..], None)];
        assert_eq!(walked(&hapi).unwrap(), expected);
        let bare =
            [(&[("self", "https://h/fhir/Patient"), ("next", first)][..], None), (&[("next", second)][..], None)];
        assert_eq!(walked(&bare).unwrap(), expected);
        // No link to itself.
        let blaze = [(&[("next", first)][..], Some("https://h/fhir/Patient/a")), (&[("next", second)][..], None)];
        assert_eq!(walked(&blaze).unwrap(), expected);
        let below = [(&[("next", "https://h/Patient/fhir/Patient/__page/xyz")][..], None)];
        assert_eq!(walked(&below).unwrap(), ["/Patient/__page/xyz"]);
        assert!(walked(&[(&[("next", first)][..], None)]).is_err());
        // Another server's address is no path below.
        let other = [(&[searched, ("next", "https://h/fhirs?_getpages=7")][..], None)];
        assert!(walked(&other).is_err());
    }

    #[test]
    fn a_link_elsewhere_is_refused_unless_the_base_is_set() {
        let elsewhere = [("next", "https://other/opaque/7")];
        assert!(step(&Spot::default(), bundle(&["a"], None, &elsewhere), "Patient", None).is_err());
        let set = step(&Spot::default(), bundle(&["a"], None, &elsewhere), "Patient", Some("https://other")).unwrap();
        assert_eq!(set.next, Some(At::Link("/opaque/7".into())));
    }

    #[test]
    fn only_results_count() {
        let mut mixed = bundle(&["a"], None, &[]);
        let outcome = json!({"resource": {"resourceType": "OperationOutcome", "id": "x"}});
        mixed.entry.push(serde_json::from_value(outcome).unwrap());
        mixed.entry.push(serde_json::from_value(json!({})).unwrap());
        assert_eq!(ids(&step(&Spot::default(), mixed, "Patient", None).unwrap()), ["a"]);
    }
}
