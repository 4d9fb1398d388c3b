//! The minimum cost of a list over HTTP: a server that sends its bytes.

use std::{io, path::Path};

use actix_web::{
    App, HttpResponse, HttpServer,
    http::header::ContentType,
    web::{self, Bytes, Data},
};

use super::{WORKERS, ready};

pub async fn serve(file: &Path) -> io::Result<()> {
    let bytes = Data::new(Bytes::from(std::fs::read(file)?));
    let server = HttpServer::new(move || App::new().app_data(bytes.clone()).default_service(web::to(send)))
        .workers(WORKERS)
        .bind(("127.0.0.1", 0))?;
    ready(server.addrs()[0]);
    server.run().await
}

async fn send(bytes: Data<Bytes>) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(bytes.as_ref().clone())
}
