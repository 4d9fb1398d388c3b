//! Paging through search results, for servers that link to the next page and for servers that only return a total.
//!
//! A link to the next page is followed. Without a link, if `total` is larger, the next page is requested with
//! `_offset`, overlapping by one record. If its first record is not the last one of the previous page, records were
//! inserted or deleted and the walk is not steady: it may have missed some.
//!
//! Links are requested below the base URL, which a server may spell differently. Not every page reveals this spelling
//! (later pages of HAPI have only opaque links), so the spelling found on one page is kept for the walk.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::responses::Bundle;

/// Maximum page size.
const MAX_COUNT: u64 = 1_000;

/// The position of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum At {
    #[default]
    Start,
    /// Path and query below the base URL.
    Link(String),
    /// After `offset` records, the last of which had the id `last`.
    Offset { offset: u64, last: String, total: u64 },
}

/// The pages of a walk so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walked {
    /// Number of results so far.
    pub seen: u64,
    /// The total reported by the server.
    pub total: Option<u64>,
    /// The id of the last result.
    pub last: String,
}

/// The position of a walk and the learnt properties of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkPosition {
    pub at: At,
    /// The base URL as spelled in the server's links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Page size limit: larger responses were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// Page size limit of the server, which refuses larger values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walked: Option<Walked>,
}

impl WalkPosition {
    /// Restarts the walk.
    pub fn again(self) -> WalkPosition {
        WalkPosition { at: At::Start, walked: None, ..self }
    }

    /// Returns the page size to request.
    pub fn count(&self, limit: u32) -> u32 {
        [self.most, self.allowed].into_iter().flatten().fold(limit, u32::min).max(1)
    }
}

#[derive(Debug, Default)]
pub struct Step {
    pub resources: Vec<Value>,
    /// `None` at the end.
    pub next: Option<At>,
    /// The base URL of the link.
    pub base: Option<String>,
    /// No result can have been missed so far.
    pub steady: bool,
    /// Including this page.
    pub walked: Option<Walked>,
    pub total: Option<u64>,
    /// The spellings of the server's base URLs, as far as known.
    pub own: Vec<String>,
}

/// Returns the path of the page at `at`. `search` is a path with a query, which may be empty: `/Patient?`.
pub fn path(search: &str, at: &At, limit: u32) -> String {
    let limit = u64::from(limit).clamp(1, MAX_COUNT);
    let and = if search.ends_with('?') { "" } else { "&" };
    match at {
        At::Start => format!("{search}{and}_count={limit}"),
        At::Link(path) => path.clone(),
        At::Offset { offset, .. } => {
            // The last record again, and at least one new record.
            format!("{search}{and}_count={}&_offset={}", limit.max(2), offset - 1)
        }
    }
}

/// Evaluates a page. Returns an error if the server's link is outside the base URL.
pub fn step(spot: &WalkPosition, bundle: Bundle, resource_type: &str, set_base: Option<&str>) -> Result<Step, String> {
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
    // Outcomes and included resources are not results.
    let results = bundle.entry.into_iter().filter_map(|e| e.resource);
    let mut resources: Vec<Value> = results.filter(|resource| resource["resourceType"] == resource_type).collect();
    let (mut steady, mut seen) = (true, 0);
    let earlier = spot.walked.as_ref().filter(|_| matches!(at, At::Link(_)));
    if let At::Offset { offset, last, total: before } = at {
        steady = resources.first().is_some_and(|first| id(first) == last) && total >= Some(*before);
        if steady {
            resources.remove(0);
        } else if resources.len() > 1 {
            // One record more than the page may have was requested; the next page begins with it.
            resources.pop();
        }
        seen = if steady { *offset } else { offset - 1 };
    }
    if let Some(earlier) = earlier {
        // If the order changes, one record is repeated and another one missed.
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
    // Fewer results than announced: a limit of results, an aborted search, or a filter after the search.
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

/// Returns the known base URLs, most reliable first: the setting, the search link of this page, the records on this
/// page, an earlier page.
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

/// Returns the path of a link relative to the base URL or to the search.
fn relative(url: &str, resource_type: &str) -> Option<String> {
    let url = url.strip_prefix("./").unwrap_or(url);
    match url {
        _ if url.starts_with('/') || url.contains("://") => None,
        _ if url.starts_with('?') => Some(format!("/{resource_type}{url}")),
        _ => Some(format!("/{url}")),
    }
}

/// Splits a link into base and path. The base is one of `own` or its path, else the part before the search or before
/// the last path segment that names the type.
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
