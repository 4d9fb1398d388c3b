//! Fixtures of this crate's tests: the dependencies of a processor, and its turns.
#![allow(clippy::unwrap_used)]

use std::{cell::Cell, sync::Arc};

use location::{Call, DecisionContext, Timestamp};
use setup::{Current, Setup};
use store::{Store, counters::Ids, secrets::Secrets};

use crate::{Deps, Pool, Processor, Reject, Request, change_counter::ChangeCounter, long_work::LongWork};

thread_local! {
    /// Numbers of documents that turns on this thread have decoded and encoded.
    pub(crate) static DOCUMENTS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Adds to the numbers of decoded and encoded documents.
pub(crate) fn count_documents(decoded: u64, encoded: u64) {
    let (before, written) = DOCUMENTS.get();
    DOCUMENTS.set((before + decoded, written + encoded));
}

/// Returns the dependencies of a processor.
pub(crate) fn deps(store: Arc<dyn Store>, setup: Arc<Setup>) -> Arc<Deps> {
    Arc::new(Deps {
        is_local: None,
        image_permits: None,
        change_counter: ChangeCounter::new(&setup),
        change_doorbell: Arc::default(),
        call_queue: Arc::default(),
        setup: Arc::new(Current::new(setup)),
        ids: Arc::new(Ids::new(store.clone())),
        store,
        pool: Pool::default(),
        secrets: Secrets::from_seed([7; 32]),
        index: Arc::default(),
        long_work: LongWork::default(),
    })
}

/// Commits a request as one turn, a millisecond later, and again if ids have to be reserved first. Returns the reply,
/// the calls to make, and the number of values written.
pub(crate) async fn turn<R: Request>(
    deps: &Deps,
    processor: &mut Processor,
    now: &mut Timestamp,
    request: &R,
) -> (R::Reply, Vec<Call>, usize) {
    loop {
        *now = now.plus(1);
        let (mut turn, reply) = match processor.prepare(DecisionContext { now: *now, random: 77 }, None, request) {
            Ok(turn) => turn,
            Err(Reject::NeedIds(resource)) => {
                deps.pool.fill(&deps.ids, resource).await.unwrap();
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let values = turn.batch.writes().len() + turn.batch.appends().len();
        if !turn.is_free() {
            deps.store.commit(std::mem::take(&mut turn.batch)).await.unwrap();
        }
        return (reply, processor.finish(turn), values);
    }
}
