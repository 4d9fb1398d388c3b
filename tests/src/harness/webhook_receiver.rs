//! A receiver that stores webhook messages.

use std::{collections::BTreeMap, io, net::TcpListener, sync::Arc};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use parking_lot::Mutex;

/// The documentation's sample code for receivers.
#[path = "../../../api/endpoints/src/resources/documentation/snippets/verify.rs"]
pub mod verify;

/// A received message. Header names are in lower case.
#[derive(Clone, Debug)]
pub struct WebhookMessage {
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl WebhookMessage {
    /// Returns whether signature and time are valid.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        verify::verify(secret, |name| self.headers.get(name).map(String::as_str), &self.body)
    }
}

#[derive(Clone)]
pub struct WebhookReceiver {
    pub url: String,
    messages: Arc<Mutex<Vec<WebhookMessage>>>,
}

impl WebhookReceiver {
    /// Listens on a free port of loopback. Must be called within an actix system.
    pub fn start() -> io::Result<WebhookReceiver> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let receiver =
            WebhookReceiver { url: format!("http://{}/hook", listener.local_addr()?), messages: Arc::default() };
        let messages = receiver.messages.clone();
        let server = HttpServer::new(move || {
            let data = web::Data::new(messages.clone());
            App::new().app_data(data).route("/hook", web::post().to(receive))
        });
        actix_web::rt::spawn(server.workers(1).disable_signals().listen(listener)?.run());
        Ok(receiver)
    }

    pub fn messages(&self) -> Vec<WebhookMessage> {
        self.messages.lock().clone()
    }
}

async fn receive(
    request: HttpRequest,
    body: web::Bytes,
    kept: web::Data<Arc<Mutex<Vec<WebhookMessage>>>>,
) -> HttpResponse {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = request.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes())));
    let message = WebhookMessage { headers: headers.collect(), body: body.to_vec() };
    kept.lock().push(message);
    HttpResponse::Ok().finish()
}
