//! The life of a visit over the intents (`tests/src/main_story/visit.rs`), checked in the EHR after each step.

use tests::{
    harness::process::binary,
    main_story::{OpenDentalPractice, run_visit_story},
};

#[actix::test]
async fn visit_is_confirmed_rescheduled_twice_and_cancelled_in_the_ehr() {
    run_visit_story(binary(), OpenDentalPractice::open()).await;
}
