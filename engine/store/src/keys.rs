//! The table of contents of the disk: every key space, with its builders and parsers. All keys are built
//! here. Numbers are big-endian, so that keys sort like the things they identify. A new space needs one line
//! in `spaces!`, one builder and, if its keys are read, one parser. `fixed_key!` defines both for keys of numbers and
//! digests.

use super::{Key, KeyRange};

macro_rules! spaces {
    ($($(#[$doc:meta])* $space:ident = $tag:literal $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Space { $($(#[$doc])* $space = $tag,)* }

        impl Space {
            pub const ALL: &[Space] = &[$(Space::$space,)*];

            pub fn name(self) -> &'static str {
                match self { $(Space::$space => $name,)* }
            }
        }
    };
}

// Tags are stored on disks, so they are never reused or changed.
spaces! {
    /// location, sequence number -> the record of one decision
    Journal = 0x10 "journal",
    /// location -> the state after a sequence number
    Snapshot = 0x11 "snapshot",
    /// location, kind, pass, block of ids -> the ids of the block that the pass has seen
    PullSeen = 0x12 "pull seen",
    /// location -> the number of the last journal record that the audit trail has followed; (no parts) -> empty, once
    /// the journals of an earlier version have positions
    AuditPosition = 0x13 "audit position",
    /// due time, location -> empty
    Wake = 0x20 "wake",
    /// location -> empty, while the location is in memory
    Active = 0x21 "active",
    /// location -> its wake time when it was unloaded
    Asleep = 0x22 "asleep",
    /// location -> empty, until the location knows that the store was restored from a backup, or salvaged with a loss
    Restored = 0x23 "restored",
    /// name -> the last leased id
    Counter = 0x30 "counter",
    /// name -> a secret created by the engine
    Secret = 0x31 "secret",
    /// SHA-256, number -> a chunk of an adapter's component
    AdapterPart = 0x32 "adapter part",
    /// SHA-256, name -> metadata of an adapter version, written once all its chunks are stored
    AdapterVersion = 0x33 "adapter version",
    /// location -> the adapter version rolled out to it
    LocationAdapter = 0x34 "adapter of a location",
    /// kind, scope, id -> a document
    Record = 0x40 "record",
    /// scope, kind, foreign id -> the internal id
    Link = 0x41 "link",
    /// institution, hash of a booking key -> the owner of the claim
    Claim = 0x42 "claim",
    /// institution, data source, digest of date of birth and last name -> patient ids
    PatientMatch = 0x43 "patient match",
    /// kind, scope, id -> the EHR's state of a document with local changes
    Before = 0x44 "before",
    // 0x45 to 0x47, 0x49 and 0x4F were the index of format 2.
    /// data source, number -> a change of the simulated EHR
    SandboxChange = 0x48 "sandbox change",
    /// stream, number -> changes in commit order: events to publish, and index updates
    Feed = 0x4A "feed",
    /// (no parts) -> the last number given in the feed
    FeedEnd = 0x4B "feed end",
    /// stream -> the number of the last pruned change
    FeedPruned = 0x4C "feed pruned",
    /// digest of an idempotency key -> its request and response
    Once = 0x4D "once",
    /// time, digest of an idempotency key -> empty; the time of its expiry
    OnceExpiry = 0x4E "once expiry",
    // The keys of webhooks are built in `webhooks/keys.rs`.
    /// id -> a webhook endpoint
    Endpoint = 0x50 "webhook endpoint",
    /// endpoint, id -> a subscription of the endpoint
    Subscription = 0x51 "webhook subscription",
    /// id -> one message to one endpoint; only of earlier versions
    Delivery = 0x53 "webhook delivery",
    /// endpoint, time, delivery -> the record it is about; deliveries that wait for a later attempt
    DeliveryDue = 0x54 "webhook delivery due",
    /// endpoint, institution, event -> empty; prevents duplicate subscriptions
    Subscribed = 0x55 "webhook subscribed",
    /// time, random number -> endpoint and id of each delivery that ended by then; of earlier versions: time, delivery
    /// -> its endpoint
    DeliveryFinished = 0x56 "webhook delivery finished",
    /// endpoint, delivery -> its state since the first attempt, in the order of creation; of earlier versions: empty
    DeliveryLog = 0x57 "webhook delivery log",
    /// endpoint -> number and time of events dropped because its queue was full
    Overflow = 0x58 "webhook overflow",
    /// first delivery of an event -> the event, with its recipients and its data; of earlier versions: the data
    DeliveryEvent = 0x59 "webhook delivery event",
    /// stripe, first endpoint of a block -> number of pending deliveries per endpoint, as counted by the stripe
    DeliveryCount = 0x5A "webhook delivery count",
    /// (no parts) -> number of changes of endpoints and subscriptions
    WebhookChanges = 0x5B "webhook changes",
    /// institution -> the number of the last change that affects its subscribers
    WebhookHeard = 0x5C "webhook heard",
    /// block of stripes -> the node that owns these counters
    DeliveryStripes = 0x5D "webhook delivery stripes",
    /// institution -> the position of its webhooks in the log of changes
    WebhookPosition = 0x5E "webhook position",
    /// endpoint, delivery -> the record it is about; deliveries that wait for their first attempt
    DeliveryQueued = 0x5F "webhook delivery queued",
    /// digest of a pairing code -> its location and the remaining uses
    PairingCode = 0x60 "pairing code",
    /// location, expiry, digest of a pairing code -> empty
    PairingCodeOf = 0x61 "pairing code of a location",
    /// id -> a workstation
    Workstation = 0x62 "workstation",
    /// location, id -> empty; the workstations of a location
    WorkstationAt = 0x63 "workstation at a location",
    /// location -> the last fencing token of its gate
    Lease = 0x64 "lease",
    /// digest of a location and a client's record number -> the record, and a digest of its data
    Numbered = 0x70 "numbered record",
    /// stream, segment, level, number -> packed index entries, or the first entries of such blocks
    IndexBlock = 0x71 "index block",
    /// stream -> the segments of its index
    IndexManifest = 0x72 "index manifest",
    /// data source, digest of name, date of birth and number -> the id of a subscriber who is not a patient
    Subscriber = 0x73 "subscriber",
    /// 1, name, incarnation -> a node of a cluster; 0, epoch -> the members
    Membership = 0x78 "membership",
    /// hash of an operator's token -> the approximate time of its last use
    TokenUsed = 0x79 "operator's token used",
}

impl Space {
    pub fn from_key(key: &[u8]) -> Option<Self> {
        let tag = key.first()?;
        Self::ALL.iter().copied().find(|space| *space as u8 == *tag)
    }

    /// Returns the range of all keys of the space.
    pub fn range(self) -> KeyRange {
        KeyRange::prefix(&[self as u8])
    }
}

/// Returns the name of the key's space for messages and logs. Other parts of a key may contain a foreign id.
pub fn space_name(key: &[u8]) -> &'static str {
    Space::from_key(key).map_or("store", Space::name)
}

/// Describes the owner of a key for an operator, without foreign ids.
pub fn describe_owner(key: &[u8]) -> String {
    if let Some((location, seq)) = parse_journal(key) {
        return format!("location {location}, decision {seq}");
    }
    if let Some(location) = parse_snapshot(key).or_else(|| parse_active(key)).or_else(|| parse_asleep(key)) {
        return format!("location {location}");
    }
    if let Some((kind, scope, id)) = parse_record(key) {
        return format!("record {id} of kind {kind} at institution, data source or location {scope}");
    }
    if let Some((institution, _)) = parse_claim(key) {
        return format!("an idempotency key of institution {institution}");
    }
    if let Some((scope, kind, _)) = parse_link(key) {
        return format!("a foreign id of kind {kind} at data source {scope}");
    }
    if let Some((stream, number)) = parse_feed(key) {
        return format!("changes up to {number} of {}", stream_name(stream));
    }
    if let Some(stream) = parse_index_manifest(key).or_else(|| Some(parse_index_block(key)?.0)) {
        return format!("the index of {}", stream_name(stream));
    }
    "a value without an owner in its key".to_owned()
}

fn stream_name(stream: u64) -> String {
    let of = match stream >> 32 {
        1 => "data source",
        2 => "location",
        _ => "institution",
    };
    format!("{of} {}", stream & u64::from(u32::MAX))
}

/// Defines the builder of a key of numbers, followed by bytes of fixed size where their size is given, and the parser
/// that returns these parts.
macro_rules! fixed_key {
    ($space:ident: $build:ident($($part:ident: $type:ident),*)) => {
        pub fn $build($($part: $type),*) -> Key {
            Build::new(Space::$space)$(.$type($part))*.key()
        }
    };
    ($space:ident: $build:ident($part:ident: $type:ident), $parse:ident) => {
        fixed_key!($space: $build($part: $type));

        pub fn $parse(key: &[u8]) -> Option<$type> {
            Parts::parse(Space::$space, key, Parts::$type)
        }
    };
    ($space:ident: $build:ident($($part:ident: $type:ident),*), $parse:ident) => {
        fixed_key!($space: $build($($part: $type),*));

        pub fn $parse(key: &[u8]) -> Option<($($type),*)> {
            Parts::parse(Space::$space, key, |parts| Some(($(parts.$type()?),*)))
        }
    };
    ($space:ident: $build:ident($($part:ident: $type:ident),*; $last:ident: $size:tt)) => {
        pub fn $build($($part: $type,)* $last: &[u8; $size]) -> Key {
            Build::new(Space::$space)$(.$type($part))*.bytes($last)
        }
    };
    ($space:ident: $build:ident($($part:ident: $type:ident),*; $last:ident: $size:tt), $parse:ident) => {
        fixed_key!($space: $build($($part: $type),*; $last: $size));

        pub fn $parse(key: &[u8]) -> Option<($($type,)* [u8; $size])> {
            let mut parts = Parts::new(Space::$space, key)?;
            Some(($(parts.$type()?,)* parts.rest().try_into().ok()?))
        }
    };
}

fixed_key!(Journal: journal(location: u32, seq: u64), parse_journal);
fixed_key!(Snapshot: snapshot(location: u32), parse_snapshot);
fixed_key!(LocationAdapter: location_adapter(location: u32));
fixed_key!(PullSeen: pull_seen(location: u32, kind: u8, pass: u64, block: u64));
fixed_key!(AuditPosition: audit_position(location: u32), parse_audit_position);
fixed_key!(AuditPosition: audit_positions_set());
fixed_key!(Wake: wake(due: i64, location: u32), parse_wake);
fixed_key!(Active: active(location: u32), parse_active);
fixed_key!(Asleep: asleep(location: u32), parse_asleep);
fixed_key!(IndexManifest: index_manifest(stream: u64), parse_index_manifest);
fixed_key!(IndexBlock: index_block(stream: u64, segment: u64, level: u8, number: u32), parse_index_block);
fixed_key!(Feed: feed(stream: u64, number: u64), parse_feed);
fixed_key!(FeedEnd: feed_end());
fixed_key!(FeedPruned: feed_pruned(stream: u64));
fixed_key!(SandboxChange: sandbox_change(source: u32, number: u64));
fixed_key!(Restored: restored(location: u32));
fixed_key!(Record: record(kind: u8, scope: u32, id: u64), parse_record);
fixed_key!(Before: before(kind: u8, scope: u32, id: u64));
fixed_key!(Lease: lease(location: u32));
fixed_key!(PatientMatch: patient_match(institution: u32, source: u32; digest: 32));
fixed_key!(Once: once(; digest: 32));
fixed_key!(OnceExpiry: once_expiry(expires: i64; digest: 32), parse_once_expiry);
fixed_key!(Numbered: numbered(; digest: 32));
fixed_key!(Subscriber: subscriber(source: u32; digest: 32));
fixed_key!(Claim: claim(institution: u32; hash: 32), parse_claim);
fixed_key!(PairingCode: pairing_code(; digest: 32));
fixed_key!(PairingCodeOf: pairing_code_of(location: u32, expires: i64; digest: 32), parse_pairing_code_of);
fixed_key!(Workstation: workstation(; id: 16));
fixed_key!(WorkstationAt: workstation_at(location: u32; id: 16), parse_workstation_at);
fixed_key!(TokenUsed: token_used(; hash: 32));

pub fn adapter_part(sha256: &[u8; 32], number: u32) -> Key {
    Build::new(Space::AdapterPart).raw(sha256).u32(number).key()
}

/// Returns the range of all chunks of one component.
pub fn adapter_parts(sha256: &[u8; 32]) -> KeyRange {
    KeyRange::prefix(&Build::new(Space::AdapterPart).raw(sha256).key())
}

pub fn adapter_version(sha256: &[u8; 32], name: &str) -> Key {
    Build::new(Space::AdapterVersion).raw(sha256).bytes(name.as_bytes())
}

/// Returns the range of one component under all its names.
pub fn adapter_versions(sha256: &[u8; 32]) -> KeyRange {
    KeyRange::prefix(&Build::new(Space::AdapterVersion).raw(sha256).key())
}

pub fn parse_adapter_version(key: &[u8]) -> Option<([u8; 32], &str)> {
    let mut parts = Parts::new(Space::AdapterVersion, key)?;
    Some((parts.take()?, std::str::from_utf8(parts.0).ok()?))
}

/// Returns the range of ids seen by earlier passes.
pub fn pull_seen_before(location: u32, kind: u8, pass: u64) -> KeyRange {
    KeyRange::new(pull_seen(location, kind, 0, 0), pull_seen(location, kind, pass, 0))
}

pub fn secret(name: &str) -> Key {
    Build::new(Space::Secret).bytes(name.as_bytes())
}

/// Returns the range of all blocks of a segment.
pub fn index_segment(stream: u64, segment: u64) -> KeyRange {
    KeyRange::prefix(&Build::new(Space::IndexBlock).u64(stream).u64(segment).key())
}

pub fn feed_after(stream: u64, number: u64) -> KeyRange {
    KeyRange::prefix(&Build::new(Space::Feed).u64(stream).key()).after(&feed(stream, number))
}

/// Returns the range of keys that expire at `now` or earlier.
pub fn once_expired(now: i64) -> KeyRange {
    KeyRange::new(once_expiry(i64::MIN, &[0; 32]), after_time(Space::OnceExpiry, now))
}

pub fn sandbox_changes(source: u32) -> KeyRange {
    KeyRange::prefix(&Build::new(Space::SandboxChange).u32(source).key())
}

pub fn counter(name: &str) -> Key {
    Build::new(Space::Counter).bytes(name.as_bytes())
}

pub fn parse_counter(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(Parts::new(Space::Counter, key)?.rest()).ok()
}

/// Returns the range of all records of a kind in a scope, in the order of their ids.
pub fn records(kind: u8, scope: u32) -> KeyRange {
    KeyRange::prefix(&Build::new(Space::Record).u8(kind).u32(scope).key())
}

pub fn link(scope: u32, kind: u8, foreign_id: &[u8]) -> Key {
    Build::new(Space::Link).u32(scope).u8(kind).bytes(foreign_id)
}

pub fn parse_link(key: &[u8]) -> Option<(u32, u8, &[u8])> {
    let mut parts = Parts::new(Space::Link, key)?;
    Some((parts.u32()?, parts.u8()?, parts.rest()))
}

pub fn links(scope: u32, kind: u8) -> KeyRange {
    KeyRange::prefix(&link(scope, kind, &[]))
}

/// Returns the range of a location's codes, in the order of their expiry.
pub fn pairing_codes_of(location: u32) -> KeyRange {
    KeyRange::prefix(&Build::new(Space::PairingCodeOf).u32(location).key())
}

pub fn workstations_at(location: u32) -> KeyRange {
    KeyRange::prefix(&Build::new(Space::WorkstationAt).u32(location).key())
}

/// Returns the range of wake times at `now` or earlier.
pub fn wakes_due(now: i64) -> KeyRange {
    KeyRange::new(wake(i64::MIN, 0), after_time(Space::Wake, now))
}

fn after_time(space: Space, time: i64) -> Key {
    super::range::prefix_end(&Build::new(space).i64(time).key())
}

/// Mask of the sign bit. Signed numbers sort by value once the bit is flipped.
const SIGN: u64 = 1 << 63;

struct Build(Key);

impl Build {
    fn new(space: Space) -> Self {
        let mut key = Vec::with_capacity(24);
        key.push(space as u8);
        Self(key)
    }

    fn u8(self, part: u8) -> Self {
        self.raw(&[part])
    }

    fn u32(self, part: u32) -> Self {
        self.raw(&part.to_be_bytes())
    }

    fn u64(self, part: u64) -> Self {
        self.raw(&part.to_be_bytes())
    }

    fn i64(self, part: i64) -> Self {
        self.u64(part.cast_unsigned() ^ SIGN)
    }

    /// Appends the last part, which may have any length.
    fn bytes(self, part: &[u8]) -> Key {
        self.raw(part).key()
    }

    fn raw(mut self, part: &[u8]) -> Self {
        self.0.extend_from_slice(part);
        self
    }

    fn key(self) -> Key {
        self.0
    }
}

struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn new(space: Space, key: &'a [u8]) -> Option<Self> {
        key.strip_prefix(&[space as u8]).map(Self)
    }

    /// Parses a key of fixed parts. Returns `None` if bytes follow them.
    fn parse<T>(space: Space, key: &'a [u8], read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut parts = Self::new(space, key)?;
        let parsed = read(&mut parts)?;
        parts.0.is_empty().then_some(parsed)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (part, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*part)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.u64().map(|part| (part ^ SIGN).cast_signed())
    }

    fn rest(self) -> &'a [u8] {
        self.0
    }
}

pub fn member_node(name: &str, incarnation: &[u8; 16]) -> Key {
    let mut key = Build::new(Space::Membership).u8(1).bytes(name.as_bytes());
    key.extend_from_slice(incarnation);
    key
}

pub fn member_view(epoch: u64) -> Key {
    Build::new(Space::Membership).u8(0).u64(epoch).key()
}

pub fn parse_member_view(key: &[u8]) -> Option<u64> {
    let (tag, epoch) = Parts::parse(Space::Membership, key, |parts| Some((parts.u8()?, parts.u64()?)))?;
    (tag == 0).then_some(epoch)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{super::FIRST_RESERVED, *};

    #[test]
    fn no_two_spaces_collide() {
        let tags: BTreeSet<u8> = Space::ALL.iter().map(|space| *space as u8).collect();
        let names: BTreeSet<&str> = Space::ALL.iter().map(|space| space.name()).collect();
        assert_eq!(tags.len(), Space::ALL.len());
        assert_eq!(names.len(), Space::ALL.len());
        assert!(tags.iter().all(|tag| *tag < FIRST_RESERVED));
        for pair in Space::ALL.windows(2) {
            assert!(pair[0].range().end <= pair[1].range().start, "{pair:?} overlap");
        }
    }

    #[test]
    fn every_builder_stays_in_its_space() {
        let keys = [
            (Space::Journal, journal(1, 2)),
            (Space::Snapshot, snapshot(1)),
            (Space::PullSeen, pull_seen(1, 2, 3, 4)),
            (Space::AuditPosition, audit_position(1)),
            (Space::Wake, wake(-5, 1)),
            (Space::Active, active(1)),
            (Space::Asleep, asleep(1)),
            (Space::Restored, restored(1)),
            (Space::Secret, secret("seed")),
            (Space::AdapterPart, adapter_part(&[7; 32], 1)),
            (Space::AdapterVersion, adapter_version(&[7; 32], "fhir")),
            (Space::LocationAdapter, location_adapter(1)),
            (Space::PatientMatch, patient_match(1, 2, &[7; 32])),
            (Space::Before, before(1, 2, 3)),
            (Space::Feed, feed(1, 2)),
            (Space::FeedEnd, feed_end()),
            (Space::FeedPruned, feed_pruned(1)),
            (Space::Once, once(&[7; 32])),
            (Space::OnceExpiry, once_expiry(-1, &[7; 32])),
            (Space::Numbered, numbered(&[7; 32])),
            (Space::IndexBlock, index_block(1, 2, 3, 4)),
            (Space::IndexManifest, index_manifest(1)),
            (Space::Membership, member_view(1)),
            (Space::TokenUsed, token_used(&[7; 32])),
            (Space::Subscriber, subscriber(1, &[7; 32])),
            (Space::SandboxChange, sandbox_change(1, 2)),
            (Space::PairingCode, pairing_code(&[7; 32])),
            (Space::PairingCodeOf, pairing_code_of(1, -2, &[7; 32])),
            (Space::Workstation, workstation(&[7; 16])),
            (Space::WorkstationAt, workstation_at(1, &[7; 16])),
            (Space::Lease, lease(1)),
            (Space::Counter, counter("patient")),
            (Space::Record, record(1, 2, 3)),
            (Space::Link, link(1, 2, b"EHR-7")),
            (Space::Claim, claim(1, &[7; 32])),
        ];
        let webhooks = 15;
        assert_eq!(keys.len() + webhooks, Space::ALL.len());
        for (space, key) in keys {
            assert_eq!(Space::from_key(&key), Some(space));
            assert!(space.range().start <= key && key < space.range().end);
        }
    }

    #[test]
    fn parsers_take_their_own_keys_only() {
        assert_eq!(parse_counter(&counter("patient")), Some("patient"));
        assert_eq!(parse_link(&link(7, 2, b"EHR-7")), Some((7, 2, b"EHR-7".as_slice())));
        assert_eq!(parse_claim(&claim(7, &[9; 32])), Some((7, [9; 32])));
        assert_eq!(parse_snapshot(&snapshot(u32::MAX)), Some(u32::MAX));
        assert_eq!(parse_audit_position(&audit_position(7)), Some(7));
        assert_eq!(parse_audit_position(&audit_positions_set()), None);
        assert_eq!(parse_journal(&snapshot(1)), None);
        assert_eq!(parse_journal(&journal(1, 2)[..12]), None);
        assert_eq!(parse_snapshot(&[snapshot(1), vec![0]].concat()), None);
        assert_eq!(parse_journal(&[]), None);
        assert_eq!(parse_feed(&feed(7, 8)), Some((7, 8)));
        assert_eq!(parse_once_expiry(&once_expiry(-7, &[8; 32])), Some((-7, [8; 32])));
        assert_eq!(parse_index_manifest(&index_manifest(7)), Some(7));
        assert_eq!(parse_adapter_version(&adapter_version(&[8; 32], "fhir")), Some(([8; 32], "fhir")));
        assert_eq!(parse_adapter_version(&adapter_part(&[8; 32], 7)), None);
        assert_eq!(Space::from_key(&[0xFF, 1]), None);
    }

    /// Stores contain keys of all earlier versions.
    #[test]
    fn key_bytes_never_change() {
        assert_eq!(&journal(1, 2)[1..], b"\0\0\0\x01\0\0\0\0\0\0\0\x02");
        assert_eq!(&wake(-1, 2)[1..], b"\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0\0\x02");
        assert_eq!(&record(1, 2, 3)[1..], b"\x01\0\0\0\x02\0\0\0\0\0\0\0\x03");
        assert_eq!(&index_block(1, 2, 3, 4)[1..], b"\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\x03\0\0\0\x04");
        assert_eq!(&workstation_at(1, b"0123456789abcdef")[1..], b"\0\0\0\x010123456789abcdef");
        assert_eq!(&token_used(&[b'x'; 32])[1..], &[b'x'; 32]);
        assert_eq!(feed_end(), [Space::FeedEnd as u8]);
    }

    #[test]
    fn due_ranges_include_now_and_nothing_later() {
        for now in [i64::MIN, -1, 0, 1_700_000_000, i64::MAX - 1] {
            let range = wakes_due(now);
            assert!(range.start <= wake(now, u32::MAX) && wake(now, u32::MAX) < range.end);
            assert!(wake(now + 1, 0) >= range.end);
        }
        assert!(wake(i64::MAX, u32::MAX) < wakes_due(i64::MAX).end);
        assert!(wakes_due(i64::MAX).end <= Space::Wake.range().end);
    }

    proptest! {
        #[test]
        fn keys_sort_like_their_parts(a: (u32, u64), b: (u32, u64), c: (i64, u32), d: (i64, u32), e: (u8, u32, u64), f: (u8, u32, u64)) {
            prop_assert_eq!(journal(a.0, a.1).cmp(&journal(b.0, b.1)), a.cmp(&b));
            prop_assert_eq!(wake(c.0, c.1).cmp(&wake(d.0, d.1)), c.cmp(&d));
            prop_assert_eq!(record(e.0, e.1, e.2).cmp(&record(f.0, f.1, f.2)), e.cmp(&f));
            prop_assert_eq!(parse_journal(&journal(a.0, a.1)), Some(a));
            prop_assert_eq!(parse_wake(&wake(c.0, c.1)), Some(c));
            prop_assert_eq!(parse_record(&record(e.0, e.1, e.2)), Some(e));
            prop_assert_eq!(feed(a.0.into(), a.1).cmp(&feed(b.0.into(), b.1)), a.cmp(&b));
            let (block, other) = ((a.1, e.2, e.0, a.0), (b.1, f.2, f.0, b.0));
            prop_assert_eq!(parse_index_block(&index_block(a.1, e.2, e.0, a.0)), Some(block));
            prop_assert_eq!(index_block(a.1, e.2, e.0, a.0).cmp(&index_block(b.1, f.2, f.0, b.0)), block.cmp(&other));
        }
    }
}
