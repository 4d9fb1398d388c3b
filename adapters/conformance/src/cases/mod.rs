//! The cases, in the order in which they run.

mod faults;
mod letters;
mod losses;
mod moving;
mod reading;
mod writing;
mod zones;

use std::{future::Future, pin::Pin, rc::Rc};

use crate::{
    ehr_under_test::EhrUnderTest,
    report::{CaseResult, skip_unless},
    subject::Subject,
    writes::KINDS,
};

pub use reading::RESOURCES;

type CaseFn<S> = fn(Rc<Subject<S>>) -> Pin<Box<dyn Future<Output = CaseResult>>>;

macro_rules! cases {
    ($($module:ident: $($name:ident)+;)+) => {
        pub const NAMES: &[&str] = &[$($(stringify!($name),)+)+];

        pub fn all<S: EhrUnderTest>() -> Vec<(&'static str, CaseFn<S>)> {
            vec![$($((stringify!($name), |subject| Box::pin($module::$name(subject))),)+)+]
        }
    };
}

cases! {
    reading: description_matches_capabilities nothing_changed_is_nothing_shown pages_keep_their_limit_and_show_each_record_once
        a_change_is_shown a_deletion_is_shown cursors_of_others_are_refused;
    writing: written_records_are_pulled_unchanged a_change_leaves_the_rest_to_staff
        a_change_of_one_line_of_an_address_leaves_the_others one_key_writes_once a_key_never_sent_is_not_found an_occupied_place_is_refused
        a_stale_version_is_refused a_refusal_has_its_reason_and_no_patient;
    letters: names_of_every_kind_of_letter_arrive_as_they_are;
    zones: appointments_keep_their_instants_where_the_clock_changes working_hours_keep_the_clock_of_the_wall_where_it_changes;
    losses: a_lost_reply_is_found_and_written_once a_lost_request_is_written_once;
    faults: invalid_credentials_are_reported too_many_requests_say_when closed_for_maintenance a_server_that_fails answers_that_are_none
        answers_that_break_off answers_that_are_late a_lookup_never_takes_a_failure_for_an_answer;
    moving: a_walk_while_records_change_misses_none churn_between_pages_hides_no_record_twice a_write_is_found_before_the_index_knows_it two_writes_have_two_receipts
        one_broken_record_leaves_the_others;
}

/// Returns the kinds of writes that the adapter describes. Skips the case if there are none.
fn kinds<S: EhrUnderTest>(subject: &Subject<S>) -> CaseResult<Vec<&'static str>> {
    let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| subject.writes(kind)).collect();
    skip_unless(!kinds.is_empty(), "the adapter describes no write")?;
    Ok(kinds)
}
