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
    Error, HttpMessage, Route,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    middleware::{Next, from_fn},
    web::{Data, ServiceConfig, get, post, route, scope},
};

use framework::http::{context::RequestContext, endpoint::method_name};

type PathRoute = (&'static str, fn() -> Route);

/// The routes of the pages. Their path patterns are labels in logs and metrics.
const ROUTES: [PathRoute; 21] = [
    ("/console", || get().to(fleet::show)),
    ("/console/sign-in", || get().to(sign_in::form)),
    ("/console/sign-in", || post().to(sign_in::sign_in)),
    ("/console/sign-out", || post().to(sign_in::sign_out)),
    ("/console/style.css", || get().to(assets::style)),
    ("/console/script.js", || get().to(assets::script)),
    ("/console/events", || get().to(events::stream)),
    ("/console/search", || get().to(search::show)),
    ("/console/locations/{id}", || get().to(location_page::show)),
    ("/console/locations/{id}/rules", || get().to(location_page::rules::show)),
    ("/console/webhooks", || get().to(webhooks::list)),
    ("/console/writes/{id}", || get().to(write_page::show)),
    ("/console/webhooks/{id}", || get().to(webhooks::show)),
    ("/console/webhooks/{id}/deliveries/{delivery}", || get().to(webhooks::delivery)),
    ("/console/system", || get().to(system::show)),
    ("/console/docs/{name}", || get().to(system::document)),
    ("/console/adapters", || get().to(adapters::list)),
    ("/console/audit", || get().to(audit::show)),
    ("/console/actions/{action}", || get().to(actions::confirm)),
    ("/console/actions/{action}", || post().to(actions::act)),
    ("/console/{other:.*}", || route().to(page::unknown_page)),
];

/// Configures the app of the operators' listener, which has one worker.
pub fn serve(app: &mut ServiceConfig) {
    app.app_data(Data::new(events::Streams::default()));
    let scope = ROUTES
        .iter()
        .fold(scope("/console"), |scope, (path, route)| scope.route(path.trim_start_matches("/console"), route()));
    app.service(scope.wrap(from_fn(named)));
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
    let path = ROUTES.iter().map(|(path, _)| *path).find(|path| pattern.as_deref() == Some(*path));
    if let Some((context, path)) = context.zip(path) {
        context.endpoint.set(Some(framework::http::context::EndpointLabel { method, path }));
    }
    Ok(answer)
}
