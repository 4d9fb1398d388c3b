//! Pages of records, by change or in full passes: of any size, occasionally repeated or empty.

use location::ids::LocationId;
use records::ehr::{Page, Resource};

use super::{SimEhr, SimRow};
use tests::harness::random::SeededRandom;

impl SimEhr {
    pub fn page(
        &self,
        at: LocationId,
        resource: Resource,
        cursor: Option<&str>,
        limit: u32,
        random: &mut SeededRandom,
    ) -> Page {
        let mut page = if self.whole.contains(&resource) {
            self.whole_page(at, resource, cursor.unwrap_or_default(), limit, random)
        } else {
            self.change_page(at, resource, cursor.unwrap_or_default(), limit, random)
        };
        if !self.honest && random.chance(150) && page.records.len() > 1 {
            let twice = page.records[random.below(page.records.len())].clone();
            let at = random.below(page.records.len());
            page.records.insert(at, twice);
        }
        page
    }

    fn visible_rows(&self, at: LocationId, resource: Resource) -> impl Iterator<Item = (&str, &SimRow)> {
        self.rows_for(resource).filter(move |(_, row)| row.location.is_none_or(|location| location == at))
    }

    fn size(&self, limit: u32, random: &mut SeededRandom) -> usize {
        let limit = limit as usize;
        if random.chance(300) { 1 + random.below(limit.min(5)) } else { limit }
    }

    /// Returns a page in order of ids. The cursor is the last id or, with `pages_by_offset`, the number of records so
    /// far, so that a deletion between two pages hides a record. After a pass the cursor is empty.
    fn whole_page(
        &self,
        at: LocationId,
        resource: Resource,
        after: &str,
        limit: u32,
        random: &mut SeededRandom,
    ) -> Page {
        let size = self.size(limit, random);
        let rows = self.visible_rows(at, resource).filter(|(_, row)| !row.deleted);
        let offset = if self.pages_by_offset { after.parse().unwrap_or(0) } else { 0 };
        let rows: Vec<_> = rows.filter(|(id, _)| self.pages_by_offset || *id > after).skip(offset).collect();
        let last = rows.len() <= size;
        let shown = &rows[..size.min(rows.len())];
        let cursor = match shown.last() {
            Some(_) if self.pages_by_offset && !last => (offset + shown.len()).to_string(),
            Some((id, _)) if !last => (*id).to_owned(),
            _ => String::new(),
        };
        let records = shown.iter().map(|(_, row)| row.record.clone()).collect();
        Page { records, cursor, last, whole: true, ..Page::default() }
    }

    /// Returns a page in order of changes. The cursor is the last change shown.
    fn change_page(
        &self,
        at: LocationId,
        resource: Resource,
        after: &str,
        limit: u32,
        random: &mut SeededRandom,
    ) -> Page {
        let (since, size) = (after.parse::<u64>().unwrap_or(0), self.size(limit, random));
        // A record moved to another location is deleted here.
        let left = self.rows_for(resource).filter(|(_, row)| row.location != Some(at));
        let left = left.filter_map(|(id, row)| Some((*row.left.get(&at)?, id, None)));
        let shown = self.visible_rows(at, resource).map(|(id, row)| (row.changed, id, Some(row)));
        let mut rows: Vec<_> = shown.chain(left).filter(|(changed, ..)| *changed > since).collect();
        rows.sort_unstable_by_key(|(changed, id, _)| (*changed, *id));
        let last = rows.len() <= size;
        let mut shown = rows[..size.min(rows.len())].to_vec();
        let cursor = shown.last().map_or(since, |(changed, ..)| *changed).to_string();
        if !self.honest && random.chance(200) {
            let known: Vec<_> =
                self.visible_rows(at, resource).filter(|(_, row)| row.changed <= since && !row.deleted).collect();
            shown.extend(random.pick(&known).map(|(id, row)| (row.changed, *id, Some(*row))));
        }
        let (mut records, mut deleted) = (Vec::new(), Vec::new());
        for (_, id, row) in shown {
            match row.filter(|row| !row.deleted) {
                Some(row) => records.push(row.record.clone()),
                None => deleted.push(id.to_owned()),
            }
        }
        Page { records, deleted, cursor, last, ..Page::default() }
    }
}
