//! Every route of the API.

use actix_web::{
    HttpResponse, Resource,
    web::{self, ServiceConfig, delete, get, post},
};

use crate::{
    errors::ApiError,
    resources::{
        appointment_types, appointments, authenticates, available_slots, booking, locations, operations, operatories,
        providers, sync_status, webhook_endpoints, webhook_subscriptions,
    },
};

/// For the operator's machines: without version, token and User-Agent rule.
pub const OPERATIONS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

pub fn routes(app: &mut ServiceConfig) {
    app.service(at("/healthz", "GET").route(get().to(operations::healthz)))
        .service(at("/readyz", "GET").route(get().to(operations::readyz)))
        .service(at("/metrics", "GET").route(get().to(operations::metrics)))
        // Access
        .service(at("/authenticates", "POST").route(post().to(authenticates::create)))
        // Practice
        .service(at("/locations", "GET").route(get().to(locations::list)))
        .service(at("/locations/{id}", "GET").route(get().to(locations::show)))
        .service(at("/operatories", "GET").route(get().to(operatories::list)))
        .service(at("/providers", "GET").route(get().to(providers::list)))
        .service(at("/appointment_types", "GET").route(get().to(appointment_types::list)))
        .service(at("/sync_status", "GET").route(get().to(sync_status::list)))
        // Schedule
        .service(at("/available_slots", "GET").route(get().to(available_slots::list)))
        .service(at("/appointment_slots", "GET").route(get().to(available_slots::list)))
        .service(at("/appointments", "GET").route(get().to(appointments::list)))
        .service(at("/appointments/{id}", "GET").route(get().to(appointments::show)))
        // Booking intent
        .service(at("/intent/booking/search", "POST").route(post().to(booking::search::create)))
        .service(
            at("/intent/booking/hold", "POST, DELETE")
                .route(post().to(booking::hold::create))
                .route(delete().to(booking::hold::delete)),
        )
        .service(at("/intent/booking/book", "POST").route(post().to(booking::book::create)))
        .service(at("/intent/booking/status", "GET").route(get().to(booking::status::show)))
        .service(at("/intent/booking/cancel", "POST").route(post().to(booking::cancel::create)))
        // Webhooks
        .service(
            at("/webhook_endpoints", "GET, POST")
                .route(get().to(webhook_endpoints::list))
                .route(post().to(webhook_endpoints::create)),
        )
        .service(
            at("/webhook_endpoints/{id}/webhook_subscriptions", "GET, POST")
                .route(get().to(webhook_subscriptions::list))
                .route(post().to(webhook_subscriptions::create)),
        );
}

/// A path; methods that no route takes are answered in the envelope too.
fn at(path: &str, allowed: &'static str) -> Resource {
    web::resource(path)
        .default_service(web::to(move || async move { Err::<HttpResponse, _>(ApiError::Method { allowed }) }))
}

pub async fn no_such_route() -> Result<HttpResponse, ApiError> {
    Err(ApiError::NoSuchRoute)
}
