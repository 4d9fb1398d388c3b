//! Page rules: how a list is requested page by page. Pages continue after an id, at an offset, or at an offset with
//! overlapping pages, which detect rows inserted or deleted between requests.

use serde_json::Value;

use crate::{Fault, Resource, pass, records::Instant};

/// A request for a page.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Resource of the rows.
    pub resource: Resource,
    /// Start of this pass, see [`Pass::started`](pass::Pass::started); `None` on the first page.
    pub started: Option<Instant>,
    /// Time before the page is read; the reference of relative dates on the first page.
    pub now: Instant,
    /// Start of the requested changes, by the EHR's clock; `None` for all rows.
    pub since: Option<Instant>,
    /// Start of the page: [`Listed::next`] of the previous page, `None` for the first.
    pub at: Option<&'a str>,
    /// Maximum number of rows.
    pub limit: u32,
}

/// A page of a list.
#[derive(Debug, Default)]
pub struct Listed {
    /// The rows of the page.
    pub rows: Vec<Value>,
    /// Start of the next page; `None` after the last page.
    pub next: Option<String>,
    /// The EHR's clock, if the response contains it.
    pub now: Option<Instant>,
    /// Total rows of a whole pass over all lists of the resource, if the EHR reports it. Only the first page's total is
    /// used.
    pub total: Option<u64>,
    /// For each row, the start of a page after it. Needed if a row may contain more records than fit into the engine's
    /// page.
    pub after: Vec<String>,
    /// Rows were inserted or deleted between the previous page and this one. Rows may have been missed, so the pass is
    /// repeated.
    pub shifted: bool,
    /// Deltas list all rows, too. If a row has disappeared, the next pass is whole.
    pub entire: bool,
}

/// The rows to request from a list with offsets, see [`Ask::overlapping`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap<'a> {
    /// Rows before the page.
    pub offset: u64,
    /// Maximum number of rows.
    pub limit: u32,
    /// The id of the expected first row; `None` on the first page.
    last: Option<&'a str>,
}

impl Ask<'_> {
    /// Returns the start of the page as a number: an offset, or the id of the previous row. 0 is the beginning.
    pub fn number(&self) -> Result<u64, Fault> {
        self.at.map_or(Ok(0), |at| at.parse().map_err(|_| pass::foreign()))
    }

    /// Returns the range of a page that repeats the last row of the previous one. If that row has moved, an earlier row
    /// was inserted or deleted. The response goes into [`Listed::overlapping`].
    pub fn overlapping(&self) -> Result<Overlap<'_>, Fault> {
        let Some(at) = self.at else { return Ok(Overlap { offset: 0, limit: self.limit, last: None }) };
        let (done, last) = at.split_once(':').ok_or_else(pass::foreign)?;
        let done: u64 = done.parse().map_err(|_| pass::foreign())?;
        let offset = done.checked_sub(1).ok_or_else(pass::foreign)?;
        Ok(Overlap { offset, limit: self.limit.saturating_add(1), last: Some(last) })
    }
}

impl Listed {
    /// A page of a list sorted by id and requested by the previous id. Concurrent insertions and deletions shift
    /// nothing.
    pub fn keyset(rows: Vec<Value>, asked: &Ask, id: &str) -> Listed {
        let full = rows.len() >= asked.limit as usize;
        let next = rows.last().filter(|_| full).and_then(|row| id_of(row, id));
        Listed { rows, next, ..Listed::default() }
    }

    /// A page of a list requested by offset. Deletions shift the following rows, so read such a list whole.
    pub fn offset(rows: Vec<Value>, asked: &Ask) -> Result<Listed, Fault> {
        let next = (rows.len() >= asked.limit as usize).then_some(asked.number()? + rows.len() as u64);
        Ok(Listed { rows, next: next.map(|next| next.to_string()), ..Listed::default() })
    }

    /// A page of a list requested with [`Ask::overlapping`]. `full`: more rows may follow.
    ///
    /// ```
    /// use adapter_sdk::{Resource, streams::{Ask, Listed}};
    /// use serde_json::json;
    ///
    /// let first = Ask { resource: Resource::Operatories, started: None, now: 0, since: None, at: None, limit: 2 };
    /// let rows = vec![json!({"id": 5}), json!({"id": 7})];
    /// let listed = Listed::overlapping(rows, &first, "id", true).expect("a first page");
    /// let next = Ask { at: listed.next.as_deref(), ..first };
    /// assert_eq!(next.overlapping().map(|asked| (asked.offset, asked.limit)), Ok((1, 3)));
    /// // Row 5 was deleted in between: 9 has moved up, and 8 may never have been shown.
    /// let listed = Listed::overlapping(vec![json!({"id": 9})], &next, "id", false).expect("a second page");
    /// assert!(listed.shifted && listed.rows.len() == 1);
    /// ```
    pub fn overlapping(mut rows: Vec<Value>, asked: &Ask, id: &str, full: bool) -> Result<Listed, Fault> {
        let Overlap { offset, last, .. } = asked.overlapping()?;
        let held = last.is_some() && rows.first().and_then(|row| id_of(row, id)).as_deref() == last;
        if held {
            rows.remove(0);
        }
        let (mut done, mut last) = (offset + u64::from(held), last.unwrap_or_default().to_owned());
        let here = format!("{done}:{last}");
        let after = rows.iter().map(|row| {
            (done, last) = (done + 1, id_of(row, id).unwrap_or_else(|| std::mem::take(&mut last)));
            format!("{done}:{last}")
        });
        let after: Vec<String> = after.collect();
        let next = full.then(|| after.last().cloned().unwrap_or(here));
        Ok(Listed { rows, next, after, shifted: asked.at.is_some() && !held, ..Listed::default() })
    }
}

/// Returns the id of a row: a text or a number.
pub(crate) fn id_of(row: &Value, field: &str) -> Option<String> {
    match &row[field] {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}
