//! Explanations of times for clients and operators.

use actix::{ActorFutureExt, fut::LocalBoxActorFuture};
use location::explain::{ExplainQuery, Explanation};
use runtime::clock;

use super::{LocationActor, Reply};
use crate::{EngineError, Processor};

impl LocationActor {
    /// Explains times. A search runs as long work, because it may have thousands of candidates.
    pub(super) fn explain(
        &mut self,
        query: Box<ExplainQuery>,
        reply: Reply<Explanation>,
    ) -> LocalBoxActorFuture<Self, ()> {
        if query.is_search()
            && let Some(processor) = self.processor.take()
        {
            let explained = self.run_blocking(processor, move |processor| explain(processor, &query));
            return Box::pin(explained.map(move |explained, _, _| drop(reply.send(explained))));
        }
        let explained = self.in_memory().and_then(|processor| explain(processor, &query));
        drop(reply.send(explained));
        self.done()
    }
}

fn explain(processor: &Processor, query: &ExplainQuery) -> Result<Explanation, EngineError> {
    let closed = processor.closed_to_patients(query.appointment_type()).map_err(|error| {
        tracing::error!(location = %processor.setup.id, %error, "types and operatories could not be read");
        EngineError::Internal
    })?;
    Ok(processor.machine.explain(clock::now(), query, &closed))
}
