//! Page requests. The page after one that has arrived is requested ahead, as by the actor. The turn that applies the
//! arrived page may wait behind other turns. It takes over the page that was requested ahead, or that page is dropped.

use std::collections::BTreeMap;

use location::{
    command::{Command, Outcome},
    ids::LocationId,
    pull::Resource,
    time::{SECOND, Timestamp},
};
use processor::{
    actor::prefetch::{PageRequest, Prefetch},
    ingest::IngestPage,
};
use records::ehr::Page;

use super::{
    agenda::{Question, SimEvent},
    sim::Sim,
    sim_request::SimRequest,
};

/// The page requests of a location in memory.
#[derive(Default)]
pub struct Pages {
    ahead: Prefetch<PageAhead>,
    /// The calls that await a page, by the number of the request.
    awaited: BTreeMap<u64, (Resource, u64)>,
}

/// A page requested ahead.
struct PageAhead {
    number: u64,
    /// The answer, if it arrived before a turn took the page over.
    answer: Option<Outcome<Box<Page>>>,
}

impl Pages {
    /// Drops the page requested ahead, because the location is loaded again.
    pub fn abort(&mut self) {
        self.ahead.abort();
    }
}

/// Counts of a run.
#[derive(Default)]
pub struct PageCounts {
    requests: u64,
    /// Pages requested ahead that a turn took over.
    pub taken: u64,
    /// Pages requested ahead that were dropped.
    pub dropped: u64,
}

impl Sim {
    /// Requests the page of a call, or takes over the page requested ahead if the turn asks for it.
    pub fn pull(
        &mut self,
        id: LocationId,
        (resource, call): (Resource, u64),
        (cursor, until): (Option<String>, Timestamp),
        asks_for_prefetched: bool,
    ) {
        let Some(host) = self.process.hosts.get_mut(&id) else { return };
        let (incarnation, ahead) = (host.incarnation, &mut host.pages.ahead);
        let taken = if asks_for_prefetched { ahead.take(resource, cursor.as_deref()) } else { None };
        ahead.abort();
        let Some(PageRequest { page: PageAhead { number, answer }, .. }) = taken else {
            assert!(!asks_for_prefetched, "prefetch: location {id} asks for a page that was not requested ahead");
            let number = self.request_page(id, resource, cursor, until);
            return self.await_page(id, number, (resource, call));
        };
        self.await_page(id, number, (resource, call));
        self.page_counts.taken += 1;
        self.log_line(|| format!("location {id} takes over the page requested ahead"));
        if let Some(outcome) = answer {
            self.agenda.plan(self.now, SimEvent::PageArrived { location: id, incarnation, number, outcome });
        }
    }

    /// Requests a page. Returns the number of the request.
    fn request_page(&mut self, id: LocationId, resource: Resource, cursor: Option<String>, until: Timestamp) -> u64 {
        self.page_counts.requests += 1;
        let number = self.page_counts.requests;
        let limit = self.process.hosts.get(&id).map_or(0, |host| host.processor.settings().pull.page);
        self.send(id, Question::Pull { number, resource, cursor, limit }, until);
        number
    }

    fn await_page(&mut self, id: LocationId, number: u64, call: (Resource, u64)) {
        if let Some(host) = self.process.hosts.get_mut(&id) {
            host.pages.awaited.insert(number, call);
        }
    }

    /// Handles the answer to a page request.
    pub fn page_arrived(&mut self, location: LocationId, incarnation: u64, number: u64, outcome: Outcome<Box<Page>>) {
        let host = self.process.hosts.get_mut(&location).filter(|host| host.incarnation == incarnation);
        let Some(host) = host else { return };
        let Some((resource, call)) = host.pages.awaited.remove(&number) else {
            if let Some(page) = host.pages.ahead.page_mut().filter(|page| page.number == number) {
                page.answer = Some(outcome);
            }
            return;
        };
        if let Ok(page) = &outcome {
            self.prefetch_next(location, (resource, call), page);
        }
        let request = SimRequest::Page(IngestPage { resource, call, outcome });
        if !self.without_faults && self.random.chance(200) {
            let at = self.now.plus(self.random.between(1..=5 * SECOND));
            return self.agenda.plan(at, SimEvent::Answer { location, incarnation, request });
        }
        self.deliver(location, incarnation, &request);
    }

    /// Requests the page after one that has arrived, if the location may ask for it.
    fn prefetch_next(&mut self, id: LocationId, (resource, call): (Resource, u64), page: &Page) {
        // The actor requests no page ahead while large pages require pauses.
        if page.last || !self.random.chance(800) {
            return;
        }
        let Some(host) = self.process.hosts.get_mut(&id) else { return };
        if !host.pages.ahead.wants(&page.cursor) {
            return;
        }
        let Some(until) = host.processor.machine.prefetch(self.now, resource, call, 0) else { return };
        let cursor = Some(page.cursor.clone());
        let number = self.request_page(id, resource, cursor.clone(), until);
        if let Some(host) = self.process.hosts.get_mut(&id) {
            host.pages.ahead.set(PageRequest { resource, cursor, page: PageAhead { number, answer: None } });
        }
    }

    /// Drops the page requested ahead, unless the turn of the page before took it over. Its request counts towards the
    /// quota.
    pub fn drop_prefetched(&mut self, id: LocationId) {
        let Some(host) = self.process.hosts.get_mut(&id) else { return };
        if host.pages.ahead.take_uncounted() {
            self.page_counts.dropped += 1;
            self.log_line(|| format!("location {id} drops the page requested ahead"));
            self.run_internal(id, &SimRequest::Command(Command::RequestsSent { requests: 1 }));
        }
        if let Some(host) = self.process.hosts.get_mut(&id) {
            host.processor.machine.drop_prefetched();
            self.set_timer(id);
        }
    }
}
