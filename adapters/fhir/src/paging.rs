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

/// The pages of a walk so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walked {
    /// Results on them.
    pub seen: u64,
    /// The results the server announced.
    pub total: Option<u64>,
    /// The id of the last result.
    pub last: String,
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
    /// The most records the server gives at once: it refuses to be asked for more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walked: Option<Walked>,
}

impl Spot {
    /// The same walk from its beginning.
    pub fn again(self) -> Spot {
        Spot { at: At::Start, walked: None, ..self }
    }

    /// How many records to ask for.
    pub fn count(&self, limit: u32) -> u32 {
        [self.most, self.allowed].into_iter().flatten().fold(limit, u32::min).max(1)
    }
}

/// One page.
#[derive(Debug, Default)]
pub struct Step {
    pub resources: Vec<Value>,
    /// None at the end.
    pub next: Option<At>,
    /// The base URL of the link.
    pub base: Option<String>,
    /// No result can have been missed so far.
    pub steady: bool,
    /// With this page.
    pub walked: Option<Walked>,
    pub total: Option<u64>,
    /// The base URLs of the server as it writes them, where it shows them.
    pub own: Vec<String>,
}

/// The path of the page at `at`. `search` is a path with a query, at most empty: `/Patient?`.
pub fn path(search: &str, at: &At, limit: u32) -> String {
    let limit = u64::from(limit).clamp(1, MAX_COUNT);
    let and = if search.ends_with('?') { "" } else { "&" };
    match at {
        At::Start => format!("{search}{and}_count={limit}"),
        At::Link(path) => path.clone(),
        At::Offset { offset, .. } => {
            // The last record once more, and a new one at least.
            format!("{search}{and}_count={}&_offset={}", limit.max(2), offset - 1)
        }
    }
}

/// Reads the page that was asked for. `Err`: the server's link leads outside what we can ask for.
pub fn step(spot: &Spot, bundle: Bundle, resource_type: &str, set_base: Option<&str>) -> Result<Step, String> {
    let (at, mut base) = (&spot.at, spot.base.clone());
    let own = own_bases(&bundle, resource_type, [set_base, spot.base.as_deref()]);
    let mut next = None;
    if let Some(url) = link(&bundle, "next") {
        let path = match relative(url, resource_type) {
            Some(path) => path,
            None => {
                let (found, path) = below_base(url, resource_type, &own)?;
                base = Some(found);
                path
            }
        };
        next = Some(At::Link(path));
    }
    let total = bundle.total;
    // Outcomes and included resources are no results.
    let results = bundle.entry.into_iter().filter_map(|e| e.resource);
    let mut resources: Vec<Value> = results.filter(|resource| resource["resourceType"] == resource_type).collect();
    let (mut steady, mut seen) = (true, 0);
    let earlier = spot.walked.as_ref().filter(|_| matches!(at, At::Link(_)));
    if let At::Offset { offset, last, total: before } = at {
        steady = resources.first().is_some_and(|first| id(first) == last) && total >= Some(*before);
        if steady {
            resources.remove(0);
        } else if resources.len() > 1 {
            // One more was asked for than the page may have; the next page begins with it.
            resources.pop();
        }
        seen = if steady { *offset } else { offset - 1 };
    }
    if let Some(earlier) = earlier {
        // An order that moves shows a record twice, and another one not at all.
        let changed = total.is_some() && earlier.total.is_some() && total != earlier.total;
        steady = !changed && !resources.iter().any(|resource| id(resource) == earlier.last);
        seen = earlier.seen;
    }
    seen += resources.len() as u64;
    let next = next.or_else(|| {
        let (last, total) = (resources.last()?, total?);
        let counts = !matches!(at, At::Link(_)) && seen < total;
        counts.then(|| At::Offset { offset: seen, last: id(last).to_owned(), total })
    });
    let announced = total.or(earlier.and_then(|earlier| earlier.total));
    // Fewer came than there are: a limit of results, a search that ended, a filter behind it.
    steady &= next.is_some() || announced.is_none_or(|announced| seen >= announced);
    let last = resources.last().map(|last| id(last).to_owned());
    let last = last.or(earlier.map(|earlier| earlier.last.clone())).unwrap_or_default();
    let walked = next.is_some().then_some(Walked { seen, total: announced, last });
    Ok(Step { resources, next, base, steady, walked, total, own })
}

fn id(resource: &Value) -> &str {
    resource["id"].as_str().unwrap_or_default()
}

fn link<'a>(bundle: &'a Bundle, relation: &str) -> Option<&'a str> {
    let link = bundle.link.iter().find(|l| l.relation.as_deref() == Some(relation))?;
    link.url.as_deref().map(str::trim).filter(|url| !url.is_empty())
}

/// The base URLs that a page shows, the surest first: as it is set, before the search this page answers, before the
/// records on it, as an earlier page had it.
fn own_bases(bundle: &Bundle, resource_type: &str, [set, earlier]: [Option<&str>; 2]) -> Vec<String> {
    let path = format!("/{resource_type}");
    let searched = link(bundle, "self").and_then(|own| match own.find(&format!("{path}?")) {
        Some(at) => Some(&own[..at]),
        None => own.strip_suffix(&path),
    });
    let of_record = bundle.entry.iter().find_map(|entry| {
        let resource = entry.resource.as_ref()?;
        let own_path = format!("/{}/{}", resource["resourceType"].as_str()?, id(resource));
        entry.full_url.as_deref()?.strip_suffix(&own_path)
    });
    [set, searched, of_record, earlier].into_iter().flatten().map(str::to_owned).collect()
}

/// The path of a link that is relative to the base URL, or to the search it continues.
fn relative(url: &str, resource_type: &str) -> Option<String> {
    let url = url.strip_prefix("./").unwrap_or(url);
    match url {
        _ if url.starts_with('/') || url.contains("://") => None,
        _ if url.starts_with('?') => Some(format!("/{resource_type}{url}")),
        _ => Some(format!("/{url}")),
    }
}

/// A link of the server as the base it is below, and the path there: one of `own` or its path, else what precedes the
/// search, or the last path segment that names the type.
fn below_base(url: &str, resource_type: &str, own: &[String]) -> Result<(String, String), String> {
    let path_of =
        |base: &String| Some(base[base.find("://")? + 3..].split_once('/').map_or("", |(_, path)| path).to_owned());
    let paths = own.iter().filter_map(path_of).filter(|path| !path.is_empty()).map(|path| format!("/{path}"));
    let before = |at: Option<usize>| at.map(|at| url[..at].to_owned());
    let search = before(url.find(&format!("/{resource_type}?")));
    let segment = before(url.rfind(&format!("/{resource_type}/")));
    let path = |base: &str| match url.strip_prefix(base)? {
        rest if rest.starts_with('/') => Some(rest.to_owned()),
        rest if rest.starts_with('?') => Some(format!("/{rest}")),
        _ => None,
    };
    let mut bases = own.iter().cloned().chain(paths).chain(search).chain(segment);
    let found = bases.find_map(|base| path(&base).map(|path| (base, path)));
    found.ok_or_else(|| "the server's link to the next page is not below the base URL: set `base_url`".into())
}
