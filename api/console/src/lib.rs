//! The operators' console: server-rendered pages on the operators' listener. The pages work without JavaScript; the
//! script only refreshes changed parts. The templates in `api/console/templates` escape all external data.
//!
//! ```text
//!  words ◄── page ◄── visit ◄─┬─ fleet, location_page/, write_page, webhooks, adapters, audit, search, system   pages
//!                             ├─ actions       actions, each with a confirmation page
//!                             ├─ events        events that report changed pages
//!                             └─ sign_in, assets
//! ```
//!
//! A page reads the engine like the operators' endpoints, and shows patient data only if the operator's role permits
//! it. Each such access is recorded in the audit trail.

#![warn(unreachable_pub)]

mod actions;
mod adapters;
mod assets;
mod audit;
mod events;
mod fleet;
pub mod location_page;
mod page;
mod prelude;
mod search;
pub mod sign_in;
mod system;
mod visit;
mod webhooks;
pub mod words;
mod write_page;

use std::rc::Rc;

use actix_web::{
    Error, HttpMessage,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    middleware::{Next, from_fn},
    web::{self, Data, ServiceConfig},
};

use framework::http::{context::RequestContext, endpoint::method_name};

/// The path patterns of the pages, used as labels in logs and metrics.
const PATHS: [&str; 19] = [
    "/console",
    "/console/sign-in",
    "/console/sign-out",
    "/console/style.css",
    "/console/script.js",
    "/console/events",
    "/console/search",
    "/console/locations/{id}",
    "/console/locations/{id}/rules",
    "/console/webhooks",
    "/console/writes/{id}",
    "/console/webhooks/{id}",
    "/console/webhooks/{id}/deliveries/{delivery}",
    "/console/system",
    "/console/docs/{name}",
    "/console/adapters",
    "/console/audit",
    "/console/actions/{action}",
    "/console/{other:.*}",
];

/// Configures the app of the operators' listener, which has one worker.
pub fn serve(app: &mut ServiceConfig) {
    app.app_data(Data::new(events::Streams::default()));
    app.service(
        web::scope("/console")
            .wrap(from_fn(named))
            .route("", web::get().to(fleet::show))
            .route("/sign-in", web::get().to(sign_in::form))
            .route("/sign-in", web::post().to(sign_in::sign_in))
            .route("/sign-out", web::post().to(sign_in::sign_out))
            .route("/style.css", web::get().to(assets::style))
            .route("/script.js", web::get().to(assets::script))
            .route("/events", web::get().to(events::stream))
            .route("/search", web::get().to(search::show))
            .route("/locations/{id}", web::get().to(location_page::show))
            .route("/locations/{id}/rules", web::get().to(location_page::rules::show))
            .route("/webhooks", web::get().to(webhooks::list))
            .route("/writes/{id}", web::get().to(write_page::show))
            .route("/webhooks/{id}", web::get().to(webhooks::show))
            .route("/webhooks/{id}/deliveries/{delivery}", web::get().to(webhooks::delivery))
            .route("/system", web::get().to(system::show))
            .route("/docs/{name}", web::get().to(system::document))
            .route("/adapters", web::get().to(adapters::list))
            .route("/audit", web::get().to(audit::show))
            .route("/actions/{action}", web::get().to(actions::ask))
            .route("/actions/{action}", web::post().to(actions::act))
            .route("/{other:.*}", web::route().to(page::unknown_page)),
    );
}

/// Reports the path pattern of the page, never its parameters, to logs and metrics.
async fn named(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let context = request.extensions().get::<Rc<RequestContext>>().cloned();
    let method = method_name(request.method());
    let answer = next.call(request).await?;
    let pattern = answer.request().match_pattern();
    let path = PATHS.into_iter().find(|path| pattern.as_deref() == Some(path));
    if let Some((context, path)) = context.zip(path) {
        context.endpoint.set(Some(framework::http::context::EndpointLabel { method, path }));
    }
    Ok(answer)
}
