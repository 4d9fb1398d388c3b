//! Messages that are created after more later changes than the follower reads.

use super::*;

/// The log has 250 commits. The first batch follows 99 of them and reads 99 more, so it cannot know the last ones.
#[tokio::test]
async fn message_beyond_the_look_ahead_is_marked_and_never_older_than_its_change() {
    let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(1));
    subscribe(store.clone()).await;
    let log = LogWriter::new(store.clone());
    for number in 1..=250 {
        let (id, change) = match number {
            120 => (2, ChangeKind::Updated),
            240 => (1, ChangeKind::Updated),
            _ => (number, ChangeKind::Created),
        };
        log.write(1, &[Write::new(Resource::Charges, id, change)]);
    }
    let sizes = Sizes { window: 1, look_ahead: 1, ..Sizes::default() };
    let follower = start(store.clone(), &setup, sizes);
    follow(&follower, &store);

    let (sent, expected) = (sent(&store), log.expected());
    let of = |id| sent[&(Resource::Charges, id)].clone();
    let message = |event: &str, version, previous, is_newer| Sent { event: event.into(), version, previous, is_newer };
    let changed_late = [message("charge_created", 240, None, true), message("charge_updated", 240, Some(1), false)];
    assert_eq!(of(1), changed_late, "the state after the change at 240, which the first batch does not read");
    let changed_soon = [message("charge_created", 2, None, false), message("charge_updated", 120, Some(2), false)];
    assert_eq!(of(2), changed_soon, "the change at 120 is read ahead");
    assert_eq!(of(3), [message("charge_created", 3, None, true)], "it may have changed");

    assert_eq!(sent.len(), expected.len());
    for (record, messages) in &sent {
        assert_eq!(messages.len(), expected[record].len(), "{record:?}");
        for (sent, expected) in messages.iter().zip(&expected[record]) {
            assert_eq!(sent.event, expected.event, "{record:?}");
            assert!(sent.version >= expected.version, "{record:?}: {sent:?}");
            assert!(sent.is_newer || sent == expected, "{record:?}: {sent:?}");
        }
    }
    let first = deliveries(&store).into_iter().next().unwrap();
    let body = first.body(&first.data(&*store).unwrap());
    assert!(String::from_utf8(body).unwrap().contains(r#""is_newer":true"#), "receivers see the marker");
}
