//! Keys of webhooks in the store, in the spaces that `store/keys.rs` defines. Numbers are big-endian so that keys sort
//! by value.

use std::ops::RangeInclusive;

use location::{ids::InstitutionId, time::Timestamp};
use store::{Key, KeyRange, keys::Space};
use uuid::Uuid;

use super::{
    delivery_id::{MAX_OF_ONE_EVENT, creation_time, first_of, nth_of},
    model::{EndpointId, Subscription, SubscriptionId},
};

/// Size of an endpoint and a delivery.
const FINISHED_ENTRY: usize = 20;

/// The number of endpoints whose counts share a value: few and small values for an event to many endpoints.
const COUNTED_TOGETHER: i32 = 64;

pub(crate) fn endpoint(id: EndpointId) -> Key {
    key(Space::Endpoint, &[&id.0.to_be_bytes()])
}

pub(crate) fn subscription(endpoint: EndpointId, id: SubscriptionId) -> Key {
    key(Space::Subscription, &[&endpoint.0.to_be_bytes(), &id.0.to_be_bytes()])
}

/// The uniqueness key of a subscription: endpoint, institution, event or one outcome of it, and the location, if it is
/// limited to one.
pub(crate) fn subscribed(it: &Subscription) -> Key {
    let (endpoint, institution) = (it.webhook_endpoint_id.0.to_be_bytes(), it.institution_id.0.to_be_bytes());
    let location = it.location_id.map(|location| location.0.to_be_bytes());
    let location: &[u8] = location.as_ref().map_or(&[], |bytes| bytes);
    key(Space::Subscribed, &[&endpoint, &institution, it.topic().to_string().as_bytes(), location])
}

pub(crate) fn event(delivery: Uuid) -> Key {
    key(Space::DeliveryEvent, &[first_of(delivery).as_bytes()])
}

/// Returns the id of the event's first delivery.
pub(crate) fn parse_event(key: &[u8]) -> Option<Uuid> {
    Uuid::from_slice(key.strip_prefix(&[Space::DeliveryEvent as u8])?).ok()
}

/// A delivery of an earlier version, which stored each delivery with all its fields.
pub(crate) fn earlier_delivery(id: Uuid) -> Key {
    key(Space::Delivery, &[id.as_bytes()])
}

pub(crate) fn parse_earlier_delivery(key: &[u8]) -> Option<Uuid> {
    Uuid::from_slice(key.strip_prefix(&[Space::Delivery as u8])?).ok()
}

/// All deliveries of an event of an earlier version.
pub(crate) fn earlier_deliveries(first: Uuid) -> KeyRange {
    let mut range = KeyRange::prefix(&earlier_delivery(nth_of(first, MAX_OF_ONE_EVENT - 1)));
    range.start = earlier_delivery(first);
    range
}

/// Deliveries of an endpoint that wait for their first attempt, in the order of their ids.
pub(crate) fn queued(endpoint: EndpointId, delivery: Uuid) -> Key {
    key(Space::DeliveryQueued, &[&endpoint.0.to_be_bytes(), delivery.as_bytes()])
}

/// Deliveries of an endpoint that wait for a later attempt, ordered by time. One range per endpoint, so that no backlog
/// delays another endpoint.
pub(crate) fn due(endpoint: EndpointId, at: Timestamp, delivery: Uuid) -> Key {
    key(Space::DeliveryDue, &[&endpoint.0.to_be_bytes(), &sortable(at), delivery.as_bytes()])
}

/// A pending delivery. The pending deliveries of an endpoint are sent in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub endpoint: EndpointId,
    /// The time of the next attempt. A queued delivery has the time of its creation, and is due also before, if the
    /// clock was set back.
    pub at: Timestamp,
    pub delivery: Uuid,
    /// The delivery waits for its first attempt.
    pub is_queued: bool,
}

impl Due {
    pub(crate) fn queued(endpoint: EndpointId, delivery: Uuid) -> Due {
        Due { endpoint, at: creation_time(delivery), delivery, is_queued: true }
    }

    pub(crate) fn key(&self) -> Key {
        match self.is_queued {
            true => queued(self.endpoint, self.delivery),
            false => due(self.endpoint, self.at, self.delivery),
        }
    }

    pub(crate) fn parse(key: &[u8]) -> Option<Due> {
        let (space, rest) = key.split_first()?;
        let (endpoint, rest) = rest.split_first_chunk()?;
        let endpoint = EndpointId(i32::from_be_bytes(*endpoint));
        if *space == Space::DeliveryQueued as u8 {
            return Some(Due::queued(endpoint, Uuid::from_slice(rest).ok()?));
        }
        let (at, delivery) = rest.split_first_chunk().filter(|_| *space == Space::DeliveryDue as u8)?;
        Some(Due { endpoint, at: instant(*at), delivery: Uuid::from_slice(delivery).ok()?, is_queued: false })
    }
}

pub(crate) fn queued_of(endpoint: EndpointId) -> KeyRange {
    KeyRange::prefix(&key(Space::DeliveryQueued, &[&endpoint.0.to_be_bytes()]))
}

pub(crate) fn due_of(endpoint: EndpointId) -> KeyRange {
    KeyRange::prefix(&key(Space::DeliveryDue, &[&endpoint.0.to_be_bytes()]))
}

/// Deliveries that ended together, the last one at the given time. `unique` distinguishes them from others of that
/// time.
pub(crate) fn finished(at: Timestamp, unique: Uuid) -> Key {
    key(Space::DeliveryFinished, &[&sortable(at), unique.as_bytes()])
}

pub(crate) fn finished_before(at: Timestamp) -> KeyRange {
    KeyRange::new(vec![Space::DeliveryFinished as u8], key(Space::DeliveryFinished, &[&sortable(at)]))
}

/// The part of a `finished` value for one delivery.
pub(crate) fn finished_entry(endpoint: EndpointId, delivery: Uuid) -> [u8; FINISHED_ENTRY] {
    let mut entry = [0; FINISHED_ENTRY];
    entry[..4].copy_from_slice(&endpoint.0.to_be_bytes());
    entry[4..].copy_from_slice(delivery.as_bytes());
    entry
}

/// Returns the deliveries of a `finished` entry. Earlier versions stored one delivery, with its id in the key and its
/// endpoint in the value.
pub(crate) fn parse_finished(key: &[u8], value: &[u8]) -> Vec<(EndpointId, Uuid)> {
    let entry = |entry: &[u8]| {
        let (endpoint, delivery) = entry.split_first_chunk()?;
        Some((EndpointId(i32::from_be_bytes(*endpoint)), Uuid::from_slice(delivery).ok()?))
    };
    match key.get(9..).filter(|_| value.len() == 4) {
        Some(delivery) => entry(&[value, delivery].concat()).into_iter().collect(),
        None => value.chunks_exact(FINISHED_ENTRY).filter_map(entry).collect(),
    }
}

/// Delivery ids increase over time, and so do the entries of an endpoint's log.
pub(crate) fn logged(endpoint: EndpointId, delivery: Uuid) -> Key {
    key(Space::DeliveryLog, &[&endpoint.0.to_be_bytes(), delivery.as_bytes()])
}

pub(crate) fn parse_logged(key: &[u8]) -> Option<(EndpointId, Uuid)> {
    let (endpoint, delivery) = key.strip_prefix(&[Space::DeliveryLog as u8])?.split_first_chunk()?;
    Some((EndpointId(i32::from_be_bytes(*endpoint)), Uuid::from_slice(delivery).ok()?))
}

pub(crate) fn log_of(endpoint: EndpointId) -> KeyRange {
    KeyRange::prefix(&key(Space::DeliveryLog, &[&endpoint.0.to_be_bytes()]))
}

pub(crate) fn overflow(endpoint: EndpointId) -> Key {
    key(Space::Overflow, &[&endpoint.0.to_be_bytes()])
}

pub(crate) fn parse_overflow(key: &[u8]) -> Option<EndpointId> {
    let endpoint = key.strip_prefix(&[Space::Overflow as u8])?.try_into().ok()?;
    Some(EndpointId(i32::from_be_bytes(endpoint)))
}

/// Returns the endpoints whose counts share a value.
pub(crate) fn counted_together(endpoint: EndpointId) -> RangeInclusive<EndpointId> {
    let first = endpoint.0 - endpoint.0 % COUNTED_TOGETHER;
    EndpointId(first)..=EndpointId(first.saturating_add(COUNTED_TOGETHER - 1))
}

/// `first` is the first of the endpoints whose counts share the value.
pub(crate) fn count(stripe: u32, first: EndpointId) -> Key {
    key(Space::DeliveryCount, &[&stripe.to_be_bytes(), &first.0.to_be_bytes()])
}

/// Returns the stripe.
pub(crate) fn parse_count(key: &[u8]) -> Option<u32> {
    let (stripe, _first) = key.strip_prefix(&[Space::DeliveryCount as u8])?.split_first_chunk()?;
    Some(u32::from_be_bytes(*stripe))
}

pub(crate) fn stripes(block: u16) -> Key {
    key(Space::DeliveryStripes, &[&block.to_be_bytes()])
}

/// Returns the first stripe of a block. The upper half of a stripe's number is its block.
pub(crate) fn first_stripe(block: u16) -> u32 {
    u32::from(block) << 16
}

pub(crate) fn block_of(stripe: u32) -> u16 {
    (stripe >> 16) as u16
}

pub(crate) fn changes() -> Key {
    key(Space::WebhookChanges, &[])
}

pub(crate) fn changes_of(institution: InstitutionId) -> Key {
    key(Space::WebhookHeard, &[&institution.0.to_be_bytes()])
}

pub(crate) fn position(institution: InstitutionId) -> Key {
    key(Space::WebhookPosition, &[&institution.0.to_be_bytes()])
}

fn key(space: Space, parts: &[&[u8]]) -> Key {
    let mut key = vec![space as u8];
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

/// Signed numbers sort by value once their sign bit is flipped. Ids need no flip: they are never negative.
fn sortable(at: Timestamp) -> [u8; 8] {
    (at.0 ^ i64::MIN).to_be_bytes()
}

fn instant(bytes: [u8; 8]) -> Timestamp {
    Timestamp(i64::from_be_bytes(bytes) ^ i64::MIN)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::ids::LocationId;

    use super::*;
    use crate::catalogue::Event;

    /// Stores contain keys of all earlier versions.
    #[test]
    fn key_bytes_never_change() {
        let (id, at) = (Uuid::from_bytes(*b"01234567\0\0\0\0\0\0\0\0"), Timestamp(-1));
        let (to, institution) = (EndpointId(1), InstitutionId(7));
        let before = |bytes: &[u8]| [bytes, id.as_bytes().as_slice()].concat();
        assert_eq!(endpoint(to), b"\x50\0\0\0\x01");
        assert_eq!(subscription(to, SubscriptionId(2)), b"\x51\0\0\0\x01\0\0\0\x02");
        assert_eq!(earlier_delivery(id), before(b"\x53"));
        assert_eq!(due(to, at, id), before(b"\x54\0\0\0\x01\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));
        assert_eq!(finished(at, id), before(b"\x56\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));
        assert_eq!(logged(to, id), before(b"\x57\0\0\0\x01"));
        assert_eq!(overflow(to), b"\x58\0\0\0\x01");
        assert_eq!(event(id), before(b"\x59"));
        assert_eq!(count(2, to), b"\x5A\0\0\0\x02\0\0\0\x01");
        assert_eq!(changes(), b"\x5B");
        assert_eq!(changes_of(institution), b"\x5C\0\0\0\x07");
        assert_eq!(stripes(3), b"\x5D\0\x03");
        assert_eq!(position(institution), b"\x5E\0\0\0\x07");
        assert_eq!(queued(to, id), before(b"\x5F\0\0\0\x01"));
        let unique = Subscription {
            id: SubscriptionId(2),
            webhook_endpoint_id: to,
            institution_id: institution,
            event: Event::PatientCreated,
            outcome: None,
            location_id: Some(LocationId(9)),
            payload: None,
            active: true,
            api_version: String::new(),
            starts_after: 0,
            created_at: at,
            updated_at: at,
        };
        assert_eq!(subscribed(&unique), b"\x55\0\0\0\x01\0\0\0\x07patient_created\0\0\0\x09");
    }

    #[test]
    fn due_keys_sort_by_endpoint_then_time() {
        let id = Uuid::from_u128(7);
        let sorted = [(1, i64::MIN), (1, -5), (1, 0), (1, 9), (1, i64::MAX), (2, -9), (i32::MAX, 0)];
        let keys: Vec<Key> = sorted.iter().map(|(e, at)| due(EndpointId(*e), Timestamp(*at), id)).collect();
        assert!(keys.is_sorted());
        for (key, (endpoint, at)) in keys.iter().zip(sorted) {
            let due = Due { endpoint: EndpointId(endpoint), at: Timestamp(at), delivery: id, is_queued: false };
            assert_eq!((Due::parse(key), &due.key()), (Some(due), key));
            let range = due_of(EndpointId(endpoint));
            assert!(range.start <= *key && *key < range.end);
            assert_eq!(
                keys.iter().filter(|k| range.start <= **k && **k < range.end).count(),
                sorted.iter().filter(|s| s.0 == endpoint).count()
            );
        }
        assert_eq!(Due::parse(&keys[0][1..]), None);
    }

    #[test]
    fn queued_keys_sort_by_endpoint_then_id() {
        let sorted = [(1, 2), (1, 3), (2, 1)].map(|(endpoint, id)| (EndpointId(endpoint), Uuid::from_u128(id)));
        let keys = sorted.map(|(endpoint, id)| queued(endpoint, id));
        assert!(keys.is_sorted());
        for (key, (endpoint, id)) in keys.iter().zip(sorted) {
            let due = Due::queued(endpoint, id);
            assert_eq!((Due::parse(key), &due.key()), (Some(due), key));
        }
    }

    #[test]
    fn finished_keys_sort_by_time() {
        let (a, b) = (finished(Timestamp(-1), Uuid::max()), finished(Timestamp(0), Uuid::nil()));
        assert!(a < b);
        let before = finished_before(Timestamp(0));
        assert!(before.start <= a && a < before.end && b >= before.end);
    }

    #[test]
    fn finished_deliveries_of_all_versions_are_read() {
        let (one, two) = ((EndpointId(3), Uuid::from_u128(7)), (EndpointId(4), Uuid::max()));
        let group = [finished_entry(one.0, one.1), finished_entry(two.0, two.1)].concat();
        assert_eq!(parse_finished(&finished(Timestamp(5), Uuid::nil()), &group), [one, two]);
        assert_eq!(parse_finished(&finished(Timestamp(5), one.1), &one.0.0.to_be_bytes()), [one]);
    }

    #[test]
    fn the_log_of_an_endpoint_is_in_the_order_of_its_ids() {
        let (endpoint, id) = (EndpointId(3), Uuid::from_u128);
        let keys = [2, 3, 9].map(|n| logged(endpoint, id(n)));
        assert!(keys.is_sorted());
        assert_eq!(parse_logged(&keys[2]), Some((endpoint, id(9))));
        let whole = log_of(endpoint);
        assert!(logged(endpoint, Uuid::max()) < whole.end && logged(EndpointId(4), Uuid::nil()) >= whole.end);
        assert!(whole.start <= logged(endpoint, Uuid::nil()));
        assert_eq!(parse_overflow(&overflow(endpoint)), Some(endpoint));
    }
}
