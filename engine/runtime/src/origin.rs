//! For which request something is done: the id its client gave it, or it was given here. Logs and what is stored name it, and nothing
//! else asks for it; so it travels beside the arguments of whoever handles the request, up to the door of the engine. From there on it is
//! handed on like anything else.

use std::{future::Future, sync::Arc};

/// The id of a request.
pub type Origin = Arc<str>;

tokio::task_local! {
    static ORIGIN: Option<Origin>;
}

/// Does work for a request.
pub async fn on_behalf_of<F: Future>(origin: Option<Origin>, work: F) -> F::Output {
    ORIGIN.scope(origin, work).await
}

/// The request whose work this is. None: it is nobody's.
pub fn current() -> Option<Origin> {
    ORIGIN.try_with(Clone::clone).ok().flatten()
}
