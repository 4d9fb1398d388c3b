//! A gate without a workstation: sends requests in a session of the demo cloud EHR from this process.

use std::{sync::Arc, time::Duration};

use adapter_host::{
    Gate, GateError, GateFuture, GateRequest, HttpRequest, HttpTransport, Transport, TransportError, Url,
};

pub struct SessionGate {
    transport: HttpTransport,
    base: String,
    cookie: String,
}

impl SessionGate {
    /// `base`: the application's address, such as `http://127.0.0.1:8090/app`. `cookie`: the session's.
    pub fn new(base: &str, cookie: &str) -> Arc<SessionGate> {
        let transport = HttpTransport::new().expect("a client for HTTP");
        Arc::new(SessionGate { transport, base: base.to_owned(), cookie: cookie.to_owned() })
    }

    fn addressed(&self, request: GateRequest) -> Result<HttpRequest, GateError> {
        let GateRequest { method, path, mut headers, body, max_response_body, write: _ } = request;
        let url = Url::parse(&format!("{}{path}", self.base)).map_err(|e| GateError::Refused(e.to_string()))?;
        headers.push(("cookie".into(), self.cookie.clone()));
        Ok(HttpRequest { method, url, headers, body, max_response_body })
    }
}

impl Gate for SessionGate {
    fn is_open(&self) -> bool {
        true
    }

    fn send(&self, request: GateRequest, deadline: Duration) -> GateFuture<'_> {
        Box::pin(async move {
            let request = self.addressed(request)?;
            self.transport.send(request, deadline).await.map_err(|error| match error {
                TransportError::NotSent(why) => GateError::NotSent(why),
                TransportError::NoAnswer(why) => GateError::NoAnswer(why),
            })
        })
    }
}
