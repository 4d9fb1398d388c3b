//! The minimum cost of a booking over HTTP: a server that parses the same bodies and sends them back.

use std::io;

use actix_web::{
    App, HttpServer,
    web::{self, Json},
};

use super::{WORKERS, ready};
use crate::bench::bodies::BookingBody;

pub async fn serve() -> io::Result<()> {
    let book = || web::resource("/intent/booking/book").route(web::post().to(echo));
    let server = HttpServer::new(move || App::new().service(book())).workers(WORKERS).bind(("127.0.0.1", 0))?;
    ready(server.addrs()[0]);
    server.run().await
}

async fn echo(booking: Json<BookingBody>) -> Json<BookingBody> {
    booking
}
