//! Passes and their cursors.

use adapter_sdk::pass;
use fhir_adapter::{cursor::Cursor, paging::At};

const NOW: i64 = 1_000_000;

fn first(now: i64) -> Cursor {
    Cursor::parse(None, now, true, 60).unwrap()
}

fn parse(cursor: &Cursor, now: i64, delta: bool) -> Cursor {
    Cursor::parse(Some(&cursor.to_string()), now, delta, 60).unwrap()
}

#[test]
fn a_whole_pass_is_followed_by_deltas_that_overlap() {
    let first = Cursor::parse(None, NOW, true, 60).unwrap();
    let middle = first.after(Some(At::Link("/p".into())), true, NOW + 5);
    assert!(middle.is_whole() && parse(&middle, NOW + 9, true) == middle);
    let done = middle.after(None, true, NOW + 60);
    // The first page's time counts, so changes made while the pass ran are listed again.
    assert_eq!((done.since, done.started), (Some(NOW + 5 - 300), None));
    assert_eq!(parse(&done, NOW + 3_599, true), done);
    assert!(parse(&done, NOW + 3_600, true).is_whole());
    assert!(parse(&done, NOW + 1, false).is_whole());
}

#[test]
fn a_delta_in_progress_does_not_turn_whole() {
    let cursor = Cursor { since: Some(5), started: Some(NOW), ..first(0) };
    assert_eq!(parse(&cursor, NOW, true), cursor);
}

#[test]
fn an_unsteady_pass_is_repeated() {
    let whole = Cursor::parse(None, NOW, true, 60).unwrap().after(Some(At::Link("/p".into())), false, NOW);
    assert!(parse(&whole.after(None, true, NOW), NOW, true).is_whole());
    let delta = Cursor { since: Some(7), started: Some(NOW), ..first(NOW) };
    assert_eq!(delta.after(None, false, NOW).since, Some(7));
}

#[test]
fn other_text_is_rejected_as_a_cursor() {
    for bad in ["", "{}", "delta:5", "null", "[1]"] {
        assert_eq!(Cursor::parse(Some(bad), NOW, true, 60), Err(pass::foreign()), "{bad}");
    }
}
