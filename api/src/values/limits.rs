//! Every fixed limit of the HTTP edge, with its reason. What an operator may tune is in `config`.

use std::ops::RangeInclusive;

/// Specification 8.
pub(crate) const PER_PAGE_DEFAULT: usize = 5;
pub(crate) const PER_PAGE: RangeInclusive<usize> = 1..=1000;
/// Pages of v2.2.2 are counted from the start of the list, so deep ones cost.
pub(crate) const PAGE_NUMBER: RangeInclusive<usize> = 1..=100_000;
/// Records that are passed over to reach a page by number where cursors lead on.
pub(crate) const MAX_SKIPPED: usize = 20_000;
/// Records of a list that has no pages: a catalogue, or what one patient has of something.
pub(crate) const MAX_WHOLE: usize = 1_000;
/// Changes are fetched by programs: more at a time.
pub(crate) const CHANGES_DEFAULT: usize = 100;
/// Records read for one page, whatever its filter leaves of them: some tenths of a second.
pub(crate) const READ_BUDGET: usize = if cfg!(test) { 1_000 } else { 20_000 };

/// Far deeper than any body of the API; a parser's stack must not depend on the client.
pub(crate) const MAX_DEPTH: usize = 64;
/// Parameters of one query string: a page of ids and room for the rest.
pub(crate) const MAX_PARAMETERS: usize = 1_100;
/// Values of one array, in a query or a body.
pub(crate) const MAX_VALUES: usize = 1_000;
/// The longest name an EHR may have for a record (`wit/v1/types.wit`).
pub(crate) const MAX_FOREIGN_ID: usize = 200;
/// Unknown names and values repeated in an answer.
pub(crate) const MAX_ECHOED_NAMES: usize = 20;
pub(crate) const MAX_ECHO: usize = 64;

/// Identifiers the API declares int32.
pub(crate) const INT32: RangeInclusive<i64> = 1..=i32::MAX as i64;
pub(crate) const INT64: RangeInclusive<i64> = 1..=i64::MAX;
/// Of text without a tighter limit of its own.
pub(crate) const MAX_TEXT: usize = 255;
pub(crate) const MAX_NAME: usize = 100;
pub(crate) const MAX_NOTE: usize = 4_000;
/// Of the answers to one form, as JSON. A record an EHR gives may have 65,536 bytes of JSON: what is taken here can come back.
pub(crate) const MAX_ANSWERS: usize = 60_000;
/// Records of one kind that a page of patients brings along: 100 for each patient of the largest page.
pub(crate) const MAX_RELATED_OF_PAGE: usize = 100_000;
/// Of an amount of money, before the point.
pub(crate) const MAX_AMOUNT_DIGITS: usize = 10;
pub(crate) const MAX_PHONE: usize = 40;
/// The longest address mail can be sent to.
pub(crate) const MAX_EMAIL: usize = 254;
pub(crate) const MAX_IDEMPOTENCY_KEY: usize = 255;
/// Longer than any token made here.
pub(crate) const MAX_TOKEN: usize = 1_024;
/// Longer addresses break proxies and logs.
pub(crate) const MAX_URL: usize = 2_048;
pub(crate) const MAX_REQUEST_ID: usize = 128;

/// Years the API talks about. Outside of them arithmetic with zones has no meaning.
pub(crate) const YEARS: RangeInclusive<i32> = 1900..=2199;
/// How far ahead slots are looked for: calendars are not planned further.
pub(crate) const MAX_DAYS_AHEAD: i64 = 730;
/// Days times locations of one answer: three months of one location, or a day of 93.
pub(crate) const SLOT_DAYS: RangeInclusive<i64> = 1..=93;
pub(crate) const SEARCH_DAYS: RangeInclusive<i64> = 1..=60;
pub(crate) const SEARCH_DAYS_DEFAULT: i64 = 7;
pub(crate) const SEARCH_LIMIT: RangeInclusive<i64> = 1..=100;
pub(crate) const SEARCH_LIMIT_DEFAULT: i64 = 20;
/// How far beyond the days asked for a search with times of day looks for its next date.
pub(crate) const DAYS_LOOKED_AHEAD: i32 = 60;
/// Slots of one answer: 1.5 MB. Three months of ten providers have fewer.
pub(crate) const MAX_SLOTS: usize = 10_000;
/// Slots of a week that a search with times of day looks through.
pub(crate) const MAX_SLOTS_SIFTED: usize = 20_000;
/// From one slot to the next, in minutes. No front desk plans finer.
pub(crate) const SLOT_INTERVAL: RangeInclusive<i64> = 5..=1_440;
/// What an appointment may last, in minutes: shorter is a slip, and nobody sits in a chair for longer.
pub(crate) const APPOINTMENT_MINUTES: RangeInclusive<i64> = 5..=720;
/// Of a slot, in minutes.
pub(crate) const SLOT_MINUTES: RangeInclusive<i64> = 1..=1_440;
/// What an appointment without a type lasts.
pub(crate) const DEFAULT_MINUTES: i64 = 30;
/// Records that come along with one record: claims of a charge.
pub(crate) const MAX_RELATED: usize = 1_000;
/// Lists that are shown without pages: descriptors, fees of a schedule. Practices have some hundreds.
pub(crate) const MAX_WHOLE_LIST: usize = 5_000;
