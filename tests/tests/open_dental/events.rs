//! The fake Open Dental reports changes of appointments itself, to the subscriptions of
//! `api/docs/operations/freshness.md`. The steps are in `tests/src/main_story/events.rs`.

use tests::{
    harness::process::binary,
    main_story::{OpenDentalPractice, run_event_story},
};

#[actix::test]
async fn changes_reported_by_api_events_are_read_at_once() {
    run_event_story(binary(), OpenDentalPractice::open()).await;
}
