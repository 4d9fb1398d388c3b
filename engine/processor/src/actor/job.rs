//! A request and the channel for its reply, as far as the actor needs to know them.

use location::DecisionContext;
use runtime::Origin;
use tokio::sync::oneshot;

use crate::{EngineError, Processor, Reject, Request, turn::PendingCommit};

pub type Reply<T> = oneshot::Sender<Result<T, EngineError>>;

pub trait Job: Send {
    /// Prepares the commit, and keeps the reply until the commit is durable.
    fn prepare(&mut self, processor: &Processor, cx: DecisionContext) -> Result<PendingCommit, Reject>;
    /// Returns the id of the request that caused the job.
    fn origin(&self) -> Option<&str>;
    /// Sends the reply or the error to the caller.
    fn finish(&mut self, outcome: Result<(), EngineError>);
    /// Returns `true` if the written bytes count towards the disk share of reading.
    fn reads(&self) -> bool;
    /// Returns `true` if preparing may take long.
    fn is_long(&self) -> bool;
    fn describes(&self) -> bool;
    fn ends_with_memory(&self) -> bool;
}

pub struct RequestJob<R: Request> {
    request: R,
    reply: Option<R::Reply>,
    /// Reply channel. `None` for internal requests. A caller that went away misses the reply only.
    to: Option<Reply<R::Reply>>,
    origin: Option<Origin>,
}

impl<R: Request> RequestJob<R> {
    pub fn by(request: R, to: Reply<R::Reply>, origin: Option<Origin>) -> Box<dyn Job> {
        Box::new(RequestJob { request, reply: None, to: Some(to), origin })
    }

    /// Returns a job of the location itself.
    pub fn internal(request: R) -> Box<dyn Job> {
        RequestJob::internal_for(request, None)
    }

    /// Returns a job of the location itself that continues the work of a request.
    pub(super) fn internal_for(request: R, origin: Option<Origin>) -> Box<dyn Job> {
        Box::new(RequestJob { request, reply: None, to: None, origin })
    }
}

impl<R: Request> Job for RequestJob<R> {
    fn prepare(&mut self, processor: &Processor, cx: DecisionContext) -> Result<PendingCommit, Reject> {
        let (commit, reply) = processor.prepare(cx, self.origin.as_ref(), &self.request)?;
        self.reply = Some(reply);
        Ok(commit)
    }

    fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    fn finish(&mut self, outcome: Result<(), EngineError>) {
        let Some(to) = self.to.take() else { return };
        let reply = outcome.and_then(|()| self.reply.take().ok_or(EngineError::Internal));
        drop(to.send(reply));
    }

    fn reads(&self) -> bool {
        self.request.reads()
    }

    fn is_long(&self) -> bool {
        self.request.is_long()
    }

    fn describes(&self) -> bool {
        self.request.describes()
    }

    fn ends_with_memory(&self) -> bool {
        self.request.ends_with_memory()
    }
}
