//! A local webhook receiver, with which the demo shows the messages it receives.

use std::{io, net::TcpListener};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub(super) struct ReceivedMessage {
    pub timestamp: String,
    pub signature: String,
    pub body: Vec<u8>,
}

pub(super) struct Sink {
    pub url: String,
    pub messages: UnboundedReceiver<ReceivedMessage>,
}

/// Starts the receiver on its previous port if that is free, or else on any free port.
pub(super) fn start(port: Option<u16>) -> io::Result<Sink> {
    let before = port.and_then(|port| TcpListener::bind(("127.0.0.1", port)).ok());
    let listener = before.map_or_else(|| TcpListener::bind(("127.0.0.1", 0)), Ok)?;
    let url = format!("http://{}/webhooks", listener.local_addr()?);
    let (sender, messages) = unbounded_channel();
    let server = HttpServer::new(move || {
        App::new().app_data(web::Data::new(sender.clone())).route("/webhooks", web::post().to(receive))
    });
    actix_web::rt::spawn(server.workers(1).disable_signals().listen(listener)?.run());
    Ok(Sink { url, messages })
}

async fn receive(
    request: HttpRequest,
    body: web::Bytes,
    messages: web::Data<UnboundedSender<ReceivedMessage>>,
) -> HttpResponse {
    let header = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let message =
        ReceivedMessage { timestamp: header("timestamp"), signature: header("signature"), body: body.to_vec() };
    // After the walkthrough the channel is closed; the message still counts as received.
    let _ = messages.send(message);
    HttpResponse::NoContent().finish()
}
