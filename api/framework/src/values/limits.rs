//! Fixed limits of the HTTP edge, each with its reason. Adjustable settings are in `config`.

use std::ops::RangeInclusive;

/// Specification 8.
pub(crate) const PER_PAGE_DEFAULT: usize = 5;
pub const PER_PAGE: RangeInclusive<usize> = 1..=1000;
/// Page numbers of v2.2.2. They are counted from the start of the list, so late pages are expensive.
pub(crate) const PAGE_NUMBER: RangeInclusive<usize> = 1..=100_000;
/// Maximum number of records skipped to reach a page by number in a list with cursors.
pub(crate) const MAX_SKIPPED: usize = 20_000;
/// Maximum length of a list without pages, such as a catalogue or the records of one kind of a patient.
pub const MAX_WHOLE: usize = 1_000;
/// Default page size of the feed of changes; larger than usual, because programs read it.
pub const CHANGES_DEFAULT: usize = 100;
/// Maximum number of concurrent exports of an API key on a node: one for each of two locations. Each reads as fast as
/// its client.
pub const MAX_EXPORTS: usize = 2;
/// Maximum number of records read for one page, including those that its filter rejects: some tenths of a second.
pub(crate) const READ_BUDGET: usize = if cfg!(test) { 1_000 } else { 20_000 };

/// Maximum depth of JSON. Far deeper than any body of the API, so that the stack of the parser is bounded.
pub(crate) const MAX_DEPTH: usize = 64;
/// Maximum number of parameters in one query string: a page of ids and some others.
pub(crate) const MAX_PARAMETERS: usize = 1_100;
/// Maximum number of values in one array of a query or a body.
pub const MAX_VALUES: usize = 1_000;
/// Maximum length of a foreign id (`wit/v1/types.wit`).
pub(crate) const MAX_FOREIGN_ID: usize = 200;
/// Maximum number of unknown names repeated in a response.
pub(crate) const MAX_ECHOED_NAMES: usize = 20;
/// Maximum length of a client's text repeated in a response.
pub(crate) const MAX_ECHO: usize = 64;

/// Range of ids that the API declares int32.
pub const INT32: RangeInclusive<i64> = 1..=i32::MAX as i64;
pub(crate) const INT64: RangeInclusive<i64> = 1..=i64::MAX;
/// Maximum length of a text without a tighter limit.
pub const MAX_TEXT: usize = 255;
pub const MAX_NAME: usize = 100;
pub(crate) const MAX_NOTE: usize = 4_000;
/// Maximum bytes of the answers to one form, as JSON. Accepted answers can be read back, because a record of an EHR may
/// have 65,536 bytes of JSON.
pub const MAX_ANSWERS: usize = 60_000;
/// Maximum number of related records of one kind for a page of patients: 100 for each patient of the largest page.
pub const MAX_RELATED_OF_PAGE: usize = 100_000;
/// Maximum number of digits of an amount before the decimal point.
pub(crate) const MAX_AMOUNT_DIGITS: usize = 10;
pub(crate) const MAX_PHONE: usize = 40;
/// The longest valid email address.
pub const MAX_EMAIL: usize = 254;
pub const MAX_IDEMPOTENCY_KEY: usize = 255;
/// Maximum length of a token; longer than any token issued by the server.
pub(crate) const MAX_TOKEN: usize = 1_024;
/// Maximum length of a URL. Longer ones break proxies and logs.
pub const MAX_URL: usize = 2_048;
pub const MAX_REQUEST_ID: usize = 128;

/// Years accepted by the API. Outside of them arithmetic with zones has no meaning.
pub(crate) const YEARS: RangeInclusive<i32> = 1900..=2199;
/// Maximum days from today to a slot; practices plan no further.
pub const MAX_DAYS_AHEAD: i64 = 730;
/// Days times locations of one response: three months of one location, or one day of 93.
pub const SLOT_DAYS: RangeInclusive<i64> = 1..=93;
pub const SEARCH_DAYS: RangeInclusive<i64> = 1..=60;
pub const SEARCH_DAYS_DEFAULT: i64 = 7;
/// Allowed numbers of patients of a group.
pub const PARTY_SIZES: RangeInclusive<i64> = 2..=8;
pub const SEARCH_LIMIT: RangeInclusive<i64> = 1..=100;
pub const SEARCH_LIMIT_DEFAULT: i64 = 20;
/// Maximum of `fresh_within`, in seconds: a day.
pub const MAX_FRESH_WITHIN: i64 = 86_400;
/// Days beyond the requested ones in which a search with times of day looks for the next date.
pub const DAYS_LOOKED_AHEAD: i32 = 60;
/// Maximum number of slots in one response: 1.5 MB. Three months of ten providers have fewer.
pub const MAX_SLOTS: usize = 10_000;
/// Maximum number of slots of a week that a search with times of day examines.
pub const MAX_SLOTS_SIFTED: usize = 20_000;
/// Minutes between the starts of two slots. No practice plans with less than five.
pub const SLOT_INTERVAL: RangeInclusive<i64> = 5..=1_440;
/// Minutes of an appointment. Shorter or longer ones are probably typing errors.
pub const APPOINTMENT_MINUTES: RangeInclusive<i64> = 5..=720;
/// Minutes of a slot.
pub const SLOT_MINUTES: RangeInclusive<i64> = 1..=1_440;
/// Minutes of an appointment without a type.
pub const DEFAULT_MINUTES: i64 = 30;
/// Maximum number of related records of one record, such as claims of a charge.
pub const MAX_RELATED: usize = 1_000;
/// Maximum number of descriptors, or fees of a schedule, in a list without pages. Practices have some hundreds.
pub const MAX_WHOLE_LIST: usize = 5_000;
