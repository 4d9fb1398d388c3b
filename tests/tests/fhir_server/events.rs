//! SEKMET reports changes of appointments itself, to the subscriptions of `api/docs/operations/freshness.md`. The steps
//! are in `tests/src/main_story/events.rs`.

use tests::{
    harness::process::binary,
    main_story::{FhirEvents, FhirPractice, run_event_story},
};

#[actix::test]
async fn changes_reported_by_a_rest_hook_are_read_at_once() {
    let Some(practice) = FhirPractice::with_events(FhirEvents::RestHook).await else { return };
    run_event_story(binary(), practice).await;
}

/// The server activates the subscription after the product has accepted its handshake.
#[actix::test]
async fn booking_reported_by_a_topic_subscription_is_read_at_once() {
    let Some(practice) = FhirPractice::with_events(FhirEvents::Topic).await else { return };
    run_event_story(binary(), practice).await;
}
