//! Backups of the store while it is served: when they are due and when somebody asks for one, one at a time, the newest of them kept.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use location::{
    time::{DAY, HOUR, MINUTE, Millis, SECOND, Timestamp},
    zone::Date,
};
use runtime::clock;
use setup::{BackupRules, current::Current};
use store::{BackedUp, Store};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How often it is looked whether one is due.
const LOOK: Duration = Duration::from_secs(60);
/// After one that came to nothing.
const AGAIN: Millis = 15 * MINUTE;
const BEGINS: &str = "practice-sync-";
const ENDS: &str = ".backup";
const DRAFT: &str = ".part";
/// In the folder: whose backups these are.
pub(crate) const OWNER: &str = "practice-sync.owner";

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("the configuration has no [backup] folder")]
    NotConfigured,
    #[error("the backup {0} is being made")]
    UnderWay(String),
    #[error("the folder of backups {folder} cannot be read: {source}")]
    Folder { folder: PathBuf, source: io::Error },
}

/// One that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFile {
    pub name: String,
    pub made_at: Timestamp,
    pub bytes: u64,
}

/// How the backups of this process stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupsNow {
    /// The newest first; behind them those that say they are of the future.
    pub files: Vec<BackupFile>,
    /// The one that is being made, and the values in it so far.
    pub under_way: Option<(String, u64)>,
    /// Why the last one came to nothing, until another one is whole.
    pub failed: Option<String>,
}

/// The end of a backup, for the audit trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupEnded {
    pub at: Timestamp,
    /// Whether the file is whole.
    pub made: bool,
}

pub(crate) struct Backups {
    setup: Arc<Current>,
    store: Arc<dyn Store>,
    /// Tells the server from all others; what is made of its backup is the same one.
    owner: String,
    state: Mutex<State>,
    failures: AtomicU64,
    /// Where the ends of backups are reported.
    reports: OnceLock<UnboundedSender<BackupEnded>>,
}

#[derive(Default)]
struct State {
    under_way: Option<(String, Arc<AtomicU64>)>,
    failed: Option<(Timestamp, String)>,
    /// As of the last look into the folder.
    newest: Option<Timestamp>,
}

/// While one is made; dropped, nothing is, however it ended.
struct UnderWay(Arc<Backups>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.state().under_way = None;
    }
}

impl Backups {
    pub(crate) fn new(setup: Arc<Current>, store: Arc<dyn Store>, owner: String) -> Arc<Self> {
        Arc::new(Self {
            setup,
            store,
            owner,
            state: Mutex::default(),
            failures: AtomicU64::new(0),
            reports: OnceLock::new(),
        })
    }

    /// The ends of backups from now on. There is one receiver, the first.
    pub(crate) fn ended(&self) -> UnboundedReceiver<BackupEnded> {
        let (report, ended) = unbounded_channel();
        drop(self.reports.set(report));
        ended
    }

    fn report(&self, made: bool) {
        if let Some(reports) = self.reports.get() {
            // The receiver is gone while the server ends.
            let _ = reports.send(BackupEnded { at: clock::now(), made });
        }
    }

    fn rules(&self) -> Option<BackupRules> {
        self.setup.now().engine.backup.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins one on a thread of its own, and says how it is called. Why it comes to nothing is said by `now`.
    pub(crate) fn begin(self: &Arc<Self>, now: Timestamp) -> Result<String, BackupError> {
        let rules = self.rules().ok_or(BackupError::NotConfigured)?;
        let folder = rules.folder.clone();
        let (name, values) = (name_at(now), Arc::new(AtomicU64::new(0)));
        {
            let mut state = self.state();
            if let Some((name, _)) = &state.under_way {
                return Err(BackupError::UnderWay(name.clone()));
            }
            state.under_way = Some((name.clone(), values.clone()));
        }
        let (own, under_way, called) = (self.clone(), UnderWay(self.clone()), name.clone());
        let make = move || {
            own.make(&rules, &called, now, &values);
            drop(under_way);
        };
        let thread = std::thread::Builder::new().name("backup".into()).spawn(make);
        thread.map_err(|source| {
            self.failed(now, source.to_string());
            BackupError::Folder { folder, source }
        })?;
        Ok(name)
    }

    fn make(&self, rules: &BackupRules, name: &str, now: Timestamp, values: &AtomicU64) {
        let file = rules.folder.join(name);
        // One that is not there may be the mount of a disk that is away: then this one is the wrong disk.
        if !rules.folder.is_dir() {
            let why = format!("the folder {} is not there: create it, or mount its disk", rules.folder.display());
            return self.failed(now, why);
        }
        if let Err(why) = self.own(&rules.folder) {
            return self.failed(now, why);
        }
        let made = self.store.back_up(&file, &mut |more| {
            values.fetch_add(more, Ordering::Relaxed);
        });
        match made {
            Ok(BackedUp { values, bytes }) => {
                let milliseconds = clock::now().since(now);
                tracing::info!(file = %file.display(), values, bytes, milliseconds, "a backup was made");
                let mut state = self.state();
                (state.failed, state.newest) = (None, Some(now));
                drop(state);
                self.report(true);
            }
            Err(error) => return self.failed(now, error.to_string()),
        }
        if let Err(error) = forget_old(&rules.folder, rules.keep, name, clock::now()) {
            tracing::error!(folder = %rules.folder.display(), %error, "old backups were not deleted");
        }
    }

    /// Two that share a folder would delete each other's backups.
    fn own(&self, folder: &Path) -> Result<(), String> {
        let file = folder.join(OWNER);
        let unreadable = |error: io::Error| format!("{}: {error}", file.display());
        match fs::read_to_string(&file) {
            Ok(text) if text == self.owner => Ok(()),
            // One whose making was broken off is empty.
            Ok(text) if text.is_empty() => fs::write(&file, &self.owner).map_err(unreadable),
            Ok(_) => Err(format!(
                "the folder {} has the backups of another server: name a folder of its own for each, or delete {} if the other one is gone",
                folder.display(),
                file.display()
            )),
            // Not every disk that backups are written to can do more than write a file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::write(&file, &self.owner).map_err(unreadable),
            Err(error) => Err(unreadable(error)),
        }
    }

    fn failed(&self, now: Timestamp, why: String) {
        tracing::error!(why, "a backup came to nothing");
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.state().failed = Some((now, why));
        self.report(false);
    }

    /// Reads the folder, which may take as long as its disk does.
    pub(crate) fn now(&self) -> Result<BackupsNow, BackupError> {
        let rules = self.rules().ok_or(BackupError::NotConfigured)?;
        let now = clock::now();
        let files = files(&rules.folder, now);
        let files = files.map_err(|source| BackupError::Folder { folder: rules.folder.clone(), source })?;
        let mut state = self.state();
        state.newest = newest(&files, now).map(|newest| newest.made_at);
        let under_way = state.under_way.as_ref().map(|(name, values)| (name.clone(), values.load(Ordering::Relaxed)));
        Ok(BackupsNow { files, under_way, failed: state.failed.as_ref().map(|(_, why)| why.clone()) })
    }

    /// When the newest was made, as far as was looked; none at all where none are made here. Waits for no disk.
    pub(crate) fn newest(&self) -> Option<Option<Timestamp>> {
        self.rules().map(|_| self.state().newest)
    }

    /// The name of the one that is being made.
    pub(crate) fn under_way(&self) -> Option<String> {
        self.state().under_way.as_ref().map(|(name, _)| name.clone())
    }

    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.rules().map(|rules| rules.folder)
    }

    /// Backups that came to nothing since the start.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Makes one whenever it is due, as long as the process runs.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            let own = self.clone();
            if let Err(error) = tokio::task::spawn_blocking(move || own.look(clock::now())).await {
                tracing::error!(%error, "whether a backup is due is not known");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn look(self: &Arc<Self>, now: Timestamp) {
        let Some(rules) = self.rules() else { return };
        // Of a folder that cannot be read: beginning one says why.
        let newest = self.now().ok().and_then(|_| self.state().newest);
        let failed = self.state().failed.as_ref().map(|(at, _)| *at);
        let Some(every) = rules.every else { return };
        if is_due(newest, failed, now, every)
            && let Err(error) = self.begin(now)
        {
            tracing::debug!(%error, "no backup is begun");
        }
    }
}

fn is_due(newest: Option<Timestamp>, failed: Option<Timestamp>, now: Timestamp, every: Duration) -> bool {
    let old = newest.is_none_or(|newest| u128::from(now.since(newest).max(0).unsigned_abs()) >= every.as_millis());
    old && failed.is_none_or(|failed| now.since(failed) >= AGAIN || now < failed)
}

/// Of the future are those that were made before the clock was set back.
fn newest(files: &[BackupFile], now: Timestamp) -> Option<&BackupFile> {
    files.iter().find(|file| file.made_at <= now)
}

/// `practice-sync-20261125T184700Z.backup`: names sort by time.
fn name_at(now: Timestamp) -> String {
    let date = Date(i32::try_from(now.0.div_euclid(DAY)).unwrap_or_default());
    let (year, month, day) = date.ymd();
    let of_day = now.0.rem_euclid(DAY);
    let (hour, minute, second) = (of_day / HOUR, of_day % HOUR / MINUTE, of_day % MINUTE / SECOND);
    format!("{BEGINS}{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z{ENDS}")
}

/// Backups of a folder, the newest first, and behind them those of the future. What has another name is not ours.
pub(crate) fn files(folder: &Path, now: Timestamp) -> io::Result<Vec<BackupFile>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !(name.starts_with(BEGINS) && name.ends_with(ENDS)) {
            continue;
        }
        let meta = entry.metadata()?;
        let since = meta.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let made_at = Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        found.push(BackupFile { name, made_at, bytes: meta.len() });
    }
    found.sort_by(|a, b| (a.made_at > now, &b.made_at, &b.name).cmp(&(b.made_at > now, &a.made_at, &a.name)));
    Ok(found)
}

/// Those of a folder, the newest first.
pub fn backup_files(folder: &Path) -> io::Result<Vec<BackupFile>> {
    files(folder, clock::now())
}

/// And what a process left behind that ended while it made one. The one just made stays, whatever the clock says.
fn forget_old(folder: &Path, keep: usize, made: &str, now: Timestamp) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(BEGINS) && name.ends_with(DRAFT) {
            fs::remove_file(&path)?;
        }
    }
    let others = files(folder, now)?.into_iter().filter(|file| file.name != made);
    for old in others.skip(keep.saturating_sub(1)) {
        fs::remove_file(folder.join(&old.name))?;
        tracing::info!(file = old.name, "an old backup was deleted");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use setup::{EngineRules, Setup};
    use store::{Batch, EmbeddedStore, MemoryStore, StoreConfig, StoreKey, keys};

    use super::*;

    fn with(backup: Option<BackupRules>, store: Arc<dyn Store>) -> Arc<Backups> {
        let engine = EngineRules { backup, ..EngineRules::default() };
        Backups::new(Current::new(Setup { engine, ..Setup::default() }), store, "one".into())
    }

    fn backups(folder: &Path, store: Arc<dyn Store>, keep: usize) -> Arc<Backups> {
        with(Some(BackupRules { folder: folder.to_path_buf(), every: None, keep }), store)
    }

    async fn store(dir: &Path) -> Arc<EmbeddedStore> {
        let config = StoreConfig { floor_bytes: 0, ..StoreConfig::new(dir.join("store"), StoreKey::new([7; 32])) };
        let store = Arc::new(EmbeddedStore::open(config).unwrap());
        let mut batch = Batch::new();
        batch.put(keys::record(1, 1, 1), vec![1]);
        store.commit(batch).await.unwrap();
        store
    }

    fn ended(backups: &Backups) -> BackupsNow {
        while backups.state().under_way.is_some() {
            std::thread::sleep(Duration::from_millis(5));
        }
        backups.now().unwrap()
    }

    #[tokio::test]
    async fn the_newest_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("backups");
        let backups = backups(&folder, store(dir.path()).await, 2);
        fs::create_dir(&folder).unwrap();
        assert_eq!(backups.now().unwrap(), BackupsNow::default());
        fs::write(folder.join("practice-sync-20200101T000000Z.part"), "half").unwrap();
        for second in 0..3 {
            let name = backups.begin(Timestamp(1_795_632_420_000 + second * SECOND)).unwrap();
            assert_eq!(name, format!("practice-sync-20261125T18470{second}Z.backup"));
            assert_eq!(ended(&backups).failed, None);
        }
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        let names: Vec<String> = backups.now().unwrap().files.into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["practice-sync-20261125T184702Z.backup", "practice-sync-20261125T184701Z.backup"]);
        let notes_and_owner = 2;
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2 + notes_and_owner);
        // Its backups stay, whatever another server wants to keep.
        let rules = BackupRules { folder: folder.clone(), every: None, keep: 1 };
        let engine = EngineRules { backup: Some(rules), ..EngineRules::default() };
        let setup = Current::new(Setup { engine, ..Setup::default() });
        let other = Backups::new(setup, backups.store.clone(), "other".into());
        other.begin(Timestamp(1_795_632_430_000)).unwrap();
        let refused = ended(&other).failed.unwrap();
        assert!(refused.contains("another server") && refused.contains(OWNER), "{refused}");
        assert_eq!(backups.now().unwrap().files.len(), 2);
        fs::remove_file(folder.join(OWNER)).unwrap();
        other.begin(Timestamp(1_795_632_440_000)).unwrap();
        assert_eq!(ended(&other).failed, None);
    }

    /// A clock that was wrong must not cost the backups that are right.
    #[test]
    fn those_of_the_future_go_first_and_the_one_just_made_stays() {
        let dir = tempfile::tempdir().unwrap();
        let made = |name: &str, at: u64| {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(at)).unwrap();
        };
        made("practice-sync-a.backup", 1_000);
        made("practice-sync-b.backup", 2_000);
        made("practice-sync-z.backup", 9_000);
        let now = Timestamp(3_000 * SECOND);
        let names = || files(dir.path(), now).unwrap().into_iter().map(|file| file.name).collect::<Vec<_>>();
        assert_eq!(names(), ["practice-sync-b.backup", "practice-sync-a.backup", "practice-sync-z.backup"]);
        assert_eq!(newest(&files(dir.path(), now).unwrap(), now).unwrap().name, "practice-sync-b.backup");
        forget_old(dir.path(), 2, "practice-sync-a.backup", now).unwrap();
        assert_eq!(names(), ["practice-sync-b.backup", "practice-sync-a.backup"]);
        forget_old(dir.path(), 1, "practice-sync-a.backup", now).unwrap();
        assert_eq!(names(), ["practice-sync-a.backup"]);
    }

    #[test]
    fn one_that_fails_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let none = with(None, Arc::new(MemoryStore::new()));
        assert!(matches!(none.begin(Timestamp(0)), Err(BackupError::NotConfigured)));
        assert_eq!(none.newest(), None);
        let in_memory = backups(dir.path(), Arc::new(MemoryStore::new()), 2);
        in_memory.begin(Timestamp(0)).unwrap();
        let failed = ended(&in_memory).failed.unwrap();
        assert!(failed.contains("in a database or in memory") && in_memory.failures() == 1, "{failed}");
        let no_folder = backups(&dir.path().join("none"), Arc::new(MemoryStore::new()), 2);
        no_folder.begin(Timestamp(0)).unwrap();
        while no_folder.state().under_way.is_some() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let failed = no_folder.state().failed.clone().unwrap().1;
        assert!(failed.contains("mount its disk") && !dir.path().join("none").exists(), "{failed}");
        assert_eq!((no_folder.failures(), no_folder.newest()), (1, Some(None)));
        assert!(matches!(no_folder.now(), Err(BackupError::Folder { .. })));
    }

    #[test]
    fn one_is_due_when_the_newest_is_old_and_no_other_has_just_failed() {
        let hour = Duration::from_secs(3_600);
        let due = |newest: Option<i64>, failed: Option<i64>| {
            is_due(newest.map(Timestamp), failed.map(Timestamp), Timestamp(10 * HOUR), hour)
        };
        assert!(due(None, None) && due(Some(9 * HOUR), None) && !due(Some(9 * HOUR + 1), None));
        assert!(!due(None, Some(10 * HOUR - MINUTE)) && due(None, Some(9 * HOUR)));
        assert!(due(None, Some(12 * HOUR)), "the clock was set back");
    }
}
