//! Pages of a long list. The cost must depend on the page and not on the list.

use records::record::Record;
use std::{
    collections::VecDeque,
    error::Error,
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use location::time::{MINUTE, Timestamp};
use processor::{
    id_pool::Pool,
    unit_of_work::{TurnContext, UnitOfWork},
};
use query::{
    index::{self, Index},
    lists::{Filter, ListQuery, Lists, Order, PageAt, PageRequest, Position, Range},
    stream::Stream,
};
use records::{
    Patient,
    demographics::{name, phone::Number},
};
use store::{Batch, Direction, Store, StoreError};

use super::{
    idle::resident,
    options::{BenchResult, Options},
    practices,
    report::{Aim, BenchReport, median},
};

const INSTITUTION: u32 = 1;
const ROWS: usize = 25;
const RUNS: usize = 101;
/// Patients per commit, and commits in flight.
const AT_ONCE: usize = 250;
const COMMITS: usize = 8;
/// Number of distinct names: a few are frequent, most are rare.
const LAST_NAMES: u32 = 40_000;
const FIRST_NAMES: u32 = 800;

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    let (count, runs) = (options.patients.max(1_000), options.repetitions_of(RUNS));
    report.section(
        "lists",
        format!(
            "{count} patients of one institution on disk; pages of {ROWS} rows that hold the condition, each begun at another place; \
             median of {runs}"
        ),
    );
    let dir = tempfile::Builder::new().prefix("bench-lists").tempdir_in(&options.dir)?;
    measure(dir.path(), count, runs, report)
}

fn measure(dir: &Path, count: u32, runs: usize, report: &mut BenchReport) -> BenchResult {
    let store = practices::store(dir)?;
    let index = Arc::new(Index::default());
    let started = Instant::now();
    actix_rt::System::new().block_on(load(&store, &index, (1..=count).map(|n| patient(n, count))))?;
    let rate = f64::from(count) / started.elapsed().as_secs_f64();
    report.number("patients written with their index and feed", rate, "/s", Aim::None);

    let loaded = resident(std::process::id())?;
    let lists = Lists { store: &*store, index: &index };
    for case in cases(count) {
        let page = |run| page(&lists, &case, probe(run, count));
        report.time(case.what, median(timed(runs, page)?), Aim::Below(Duration::from_millis(5)));
    }
    let all = ListQuery::new([INSTITUTION], Order::Id);
    let range = |run| Range { from: Some(place(probe(run, count))), direction: Direction::Forward, limit: 1_000 };
    let raw = timed(runs, |run| lists.scan_raw::<Record<Patient>>(&all, range(run)).map(|rows| rows.len()))?;
    report.time("a thousand rows as the store has them", median(raw), Aim::None);
    let request = PageRequest { at: PageAt::Start, ..PageRequest::whole(1_000) };
    let rows =
        timed(runs, |_| lists.list_rows::<Record<Patient>>(&all, &request, |_| true).map(|page| page.rows.len()))?;
    report.time("a thousand decoded rows, in memory since the first time", median(rows), Aim::None);
    let read = resident(std::process::id())?;
    report.megabytes(
        "memory these pages added, the store's cache of pages among it",
        (read - loaded).max(0.0),
        Aim::None,
    );
    for case in cases(count) {
        timed(runs, |run| page(&lists, &case, probe(runs + run, count)))?;
    }
    let grown = (resident(std::process::id())? - read).max(0.0);
    report.megabytes("memory as many other pages added", grown, Aim::BelowMegabytes(64.0));
    Ok(())
}

/// Writes patients of the institution to the store, with their index.
pub(super) async fn load(
    store: &Arc<dyn Store>,
    index: &Arc<Index>,
    mut patients: impl Iterator<Item = Record<Patient>>,
) -> BenchResult {
    let merging = tokio::spawn(index::run(index.clone(), store.clone()));
    let pool = Pool::default();
    let mut under_way = VecDeque::new();
    loop {
        let some: Vec<_> = patients.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        let home = TurnContext { institution: 1, source: Some(1), location: 1, now: Timestamp(0) };
        let mut docs = UnitOfWork::new(&**store, &pool, index, home);
        for patient in &some {
            docs.put(patient)?;
        }
        let mut batch = Batch::new();
        docs.into_batch(&mut batch, 1, None)?;
        under_way.push_back(store.commit(batch));
        if under_way.len() == COMMITS
            && let Some(oldest) = under_way.pop_front()
        {
            oldest.await?;
        }
    }
    for commit in under_way {
        commit.await?;
    }
    merging.abort();
    index::merge(index, store, Stream::Institution(INSTITUTION), 1, Duration::ZERO).await?;
    Ok(())
}

pub(super) fn patient(n: u32, count: u32) -> Record<Patient> {
    let body = Patient {
        first_name: first_name(n),
        last_name: last_name(n),
        date_of_birth: Some(format!("{}-{:02}-{:02}", 1930 + mixed(n) % 90, 1 + mixed(n) % 12, 1 + mixed(n) % 28)),
        cell_phone: Some(phone(n)),
        email: Some(email(n)),
        inactive: mixed(n).is_multiple_of(10),
        location_ids: vec![1 + mixed(n) % 4],
        ..Patient::default()
    };
    Record {
        source_id: Some(1),
        foreign_id: Some(format!("P-{n}")),
        ..Record::new(n, INSTITUTION, updated(n, count), body)
    }
}

type Keep = dyn Fn(&Record<Patient>) -> bool;

struct Query {
    filters: Vec<Filter>,
    /// The caller's filter.
    keep: Box<Keep>,
}

struct ListCase {
    what: &'static str,
    order: Order,
    /// Pages start at the probed patient instead of the first one.
    deep: bool,
    ask: Box<dyn Fn(u32) -> Query>,
}

fn cases(count: u32) -> Vec<ListCase> {
    let shallow = |what, ask: fn(u32) -> Query| ListCase { what, order: Order::Id, deep: false, ask: Box::new(ask) };
    let deep = |what, ask: fn(u32) -> Query| ListCase { deep: true, ..shallow(what, ask) };
    let lately = |what, one_in: u32| {
        let ask = move |_| {
            let since = Timestamp(i64::from(count - count / one_in) * MINUTE);
            Query { filters: vec![Filter::UpdatedSince(since)], keep: Box::new(move |it| it.updated_at >= since) }
        };
        ListCase { what, order: Order::Id, deep: true, ask: Box::new(ask) }
    };
    vec![
        shallow("first page", |_| all()),
        deep("a page deep in the list", |_| all()),
        deep("inactive", |_| inactive()),
        shallow("a phone number", |n| {
            let phone = phone(n);
            let filters = Number::read(&phone, "US").map(Filter::Phone).into_iter().collect();
            Query { filters, keep: Box::new(move |it| it.cell_phone.as_ref() == Some(&phone)) }
        }),
        shallow("an e-mail address", |n| {
            let email = email(n);
            let filters = vec![Filter::Email(email.clone())];
            Query { filters, keep: Box::new(move |it| it.email.as_ref() == Some(&email)) }
        }),
        shallow("first and last name", |n| named(format!("{} {}", first_name(n), last_name(n)))),
        shallow("a last name", |n| named(last_name(n))),
        shallow("a name's first four letters", |n| named(last_name(n)[..4].to_owned())),
        shallow("a name's first two letters", |n| named(last_name(n)[..2].to_owned())),
        shallow("a name's first letter", |n| named(last_name(n)[..1].to_owned())),
        shallow("a name without a patient", |_| named("qqzzqq".to_owned())),
        shallow("inactive, with a last name", |n| {
            let (flag, name) = (inactive(), named(last_name(n)));
            let filters = flag.filters.into_iter().chain(name.filters).collect();
            Query { filters, keep: Box::new(move |it| (flag.keep)(it) && (name.keep)(it)) }
        }),
        lately("changed lately, as one in a thousand", 1_000),
        lately("changed lately, as one in a hundred", 100),
        lately("changed lately, as one in ten", 10),
        ListCase { order: Order::UpdatedAt, ..shallow("by the time of change, first page", |_| all()) },
        ListCase { order: Order::UpdatedAt, ..deep("by the time of change, deep in the list", |_| all()) },
    ]
}

fn all() -> Query {
    Query { filters: Vec::new(), keep: Box::new(|_| true) }
}

fn inactive() -> Query {
    Query { filters: vec![Filter::Inactive(true)], keep: Box::new(|it| it.inactive) }
}

fn named(name: String) -> Query {
    let filters = vec![Filter::Name(name.clone())];
    Query { filters, keep: Box::new(move |it| name::is_found(&it.name(), &name)) }
}

/// Reads one page like the API: reads on until the caller's filter has kept enough.
fn page(lists: &Lists<'_>, case: &ListCase, n: u32) -> Result<usize, StoreError> {
    let Query { filters, keep } = (case.ask)(n);
    let query = ListQuery::new([INSTITUTION], case.order).filtered(filters);
    let mut from = match (case.deep, case.order) {
        (false, _) => None,
        (true, Order::Id) => Some(place(n)),
        (true, _) => Some(Position { at: Timestamp(i64::from(n) * MINUTE), id: 0 }),
    };
    let (mut kept, mut ahead) = (0, 0);
    while kept <= ROWS {
        let limit = ahead.max(ROWS + 1 - kept);
        let range = Range { from, direction: Direction::Forward, limit };
        let rows = lists.scan::<Record<Patient>>(&query, range)?;
        let Some((last, _)) = rows.last() else { break };
        from = Some(*last);
        kept += rows.iter().filter(|(_, patient)| keep(patient)).count();
        ahead = 2 * limit;
    }
    Ok(kept)
}

fn place(n: u32) -> Position {
    Position::id(u64::from(n))
}

/// Returns the patient of a run: a different one each time, none near the end.
fn probe(run: usize, count: u32) -> u32 {
    1 + mixed(run as u32 + 1) % (count * 9 / 10)
}

fn timed<E: Into<Box<dyn Error>>>(
    runs: usize,
    mut work: impl FnMut(usize) -> Result<usize, E>,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut times = Vec::with_capacity(runs);
    for run in 0..runs {
        let start = Instant::now();
        black_box(work(run).map_err(Into::<Box<dyn Error>>::into)?);
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Scatters numbers, so that neighbours in one order are not neighbours in another.
fn mixed(n: u32) -> u32 {
    n.wrapping_mul(2_654_435_761) >> 4
}

fn updated(n: u32, count: u32) -> Timestamp {
    let place = u64::from(n) * 7_919 % u64::from(count);
    Timestamp(place as i64 * MINUTE)
}

fn phone(n: u32) -> String {
    format!("+1 {:010}", 2_000_000_000 + u64::from(n))
}

fn email(n: u32) -> String {
    format!("patient{n}@example.org")
}

fn last_name(n: u32) -> String {
    let share = f64::from(mixed(n) % 10_000) / 10_000.0;
    name((share.powi(3) * f64::from(LAST_NAMES)) as u32 + n % 7, 7)
}

fn first_name(n: u32) -> String {
    name(mixed(n ^ 0x5555) % FIRST_NAMES, 5)
}

/// Returns a distinct word for each number. Many words share a prefix.
fn name(number: u32, letters: usize) -> String {
    let letter = |at: u32| char::from(b'a' + (number / 20u32.pow(at) % 20) as u8);
    (0..letters as u32).rev().map(|at| letter(at % 4)).collect()
}
