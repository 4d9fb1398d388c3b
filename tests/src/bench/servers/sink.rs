//! A webhook receiver: reads the message and returns 200.

use std::io;

use actix_web::{App, HttpResponse, HttpServer, web};

use super::{WORKERS, ready};

pub async fn serve() -> io::Result<()> {
    let hook = || web::resource("/hook").route(web::post().to(receive));
    let server = HttpServer::new(move || App::new().service(hook()))
        .workers(WORKERS)
        // A client may open more connections than it uses.
        .client_request_timeout(std::time::Duration::ZERO)
        .bind(("127.0.0.1", 0))?;
    ready(server.addrs()[0]);
    server.run().await
}

async fn receive(_body: web::Bytes) -> HttpResponse {
    HttpResponse::Ok().finish()
}
