//! The same faults without a proxy, injected by a wrapper of a transport. Also works for an EHR behind TLS and under
//! its own name.

use std::{sync::Arc, time::Duration};

use adapter_host::{HttpRequest, HttpResponse, Transport, TransportError, TransportFuture};
use setup::secret::Secret;

use crate::fault_injector::{FaultInjector, InjectedFault};

pub struct FlakyTransport {
    inner: Arc<dyn Transport>,
    injector: FaultInjector,
}

impl FlakyTransport {
    pub fn around(inner: Arc<dyn Transport>, injector: FaultInjector) -> FlakyTransport {
        FlakyTransport { inner, injector }
    }
}

fn none(why: &str) -> TransportError {
    TransportError::NoAnswer(why.to_owned())
}

impl Transport for FlakyTransport {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        Box::pin(async move {
            match self.injector.next() {
                None => self.inner.send(request, deadline).await,
                // The adapter cannot know whether the request arrived.
                Some(InjectedFault::LoseRequest) => Err(none("the connection was cut")),
                Some(InjectedFault::LoseReply) => {
                    self.inner.send(request, deadline).await?;
                    Err(none("the connection was cut"))
                }
                Some(InjectedFault::Half) => {
                    self.inner.send(request, deadline).await?;
                    Err(none("the answer broke off"))
                }
                Some(InjectedFault::Slow(pause)) => {
                    let answer = self.inner.send(request, deadline).await?;
                    if pause >= deadline {
                        tokio::time::sleep(deadline).await;
                        return Err(none("no answer before the deadline"));
                    }
                    tokio::time::sleep(pause).await;
                    Ok(answer)
                }
                Some(InjectedFault::Answer(status, headers, body)) => {
                    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                    Ok(HttpResponse { status, headers: headers.collect(), body: body.as_bytes().to_vec() })
                }
            }
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        self.inner.secrets()
    }
}
