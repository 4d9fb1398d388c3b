//! Backups of the store while it is served: scheduled or on request, one at a time, with retention of the newest.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use location::{DAY, Date, HOUR, MINUTE, Millis, SECOND, Timestamp};
use parking_lot::Mutex;
use runtime::clock;
use setup::{BackupRules, Current};
use store::{BackedUp, Store};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Interval of the check whether a backup is due.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Pause after a failed backup.
const AGAIN: Millis = 15 * MINUTE;
const BEGINS: &str = "practice-sync-";
const ENDS: &str = ".backup";
const DRAFT: &str = ".part";
/// File in the folder that identifies the owner of its backups.
pub(crate) const OWNER: &str = "practice-sync.owner";

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("the configuration has no [backup] folder")]
    NotConfigured,
    #[error("the backup {0} is being made")]
    InProgress(String),
    #[error("the folder of backups {folder} cannot be read: {source}")]
    Folder { folder: PathBuf, source: io::Error },
}

/// A complete backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFile {
    pub name: String,
    pub made_at: Timestamp,
    pub bytes: u64,
}

/// The state of this process's backups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupsNow {
    /// Newest first, followed by those dated in the future.
    pub files: Vec<BackupFile>,
    /// The backup in progress, and the number of values written so far.
    pub running: Option<(String, u64)>,
    /// The reason why the last backup failed, until another one is complete.
    pub failed: Option<String>,
}

/// The end of a backup, for the audit trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupEnded {
    pub at: Timestamp,
    /// The file is complete.
    pub made: bool,
}

pub(crate) struct Backups {
    setup: Arc<Current>,
    store: Arc<dyn Store>,
    /// Identifies the server. A server restored from one of its backups is the same one.
    owner: String,
    state: Mutex<BackupsState>,
    failures: AtomicU64,
    reports: OnceLock<UnboundedSender<BackupEnded>>,
}

#[derive(Default)]
struct BackupsState {
    running: Option<(String, Arc<AtomicU64>)>,
    failed: Option<(Timestamp, String)>,
    /// The time of the newest backup at the last read of the folder.
    newest: Option<Timestamp>,
}

/// Drop guard of a backup in progress: marks it as ended, however it ends.
struct InProgress(Arc<Backups>);

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.state.lock().running = None;
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

    /// Returns a receiver for the ends of backups from now on. Only the first receiver gets them.
    pub(crate) fn ended(&self) -> UnboundedReceiver<BackupEnded> {
        let (report, ended) = unbounded_channel();
        drop(self.reports.set(report));
        ended
    }

    fn report(&self, made: bool) {
        if let Some(reports) = self.reports.get() {
            // The receiver is dropped while the server stops.
            let _ = reports.send(BackupEnded { at: clock::now(), made });
        }
    }

    fn rules(&self) -> Option<BackupRules> {
        self.setup.load_full().engine.backup.clone()
    }

    /// Begins a backup on a separate thread, and returns its name. `now` reports the reason if the backup fails.
    pub(crate) fn begin(self: &Arc<Self>, now: Timestamp) -> Result<String, BackupError> {
        let rules = self.rules().ok_or(BackupError::NotConfigured)?;
        let folder = rules.folder.clone();
        let (name, values) = (name_at(now), Arc::new(AtomicU64::new(0)));
        {
            let mut state = self.state.lock();
            if let Some((name, _)) = &state.running {
                return Err(BackupError::InProgress(name.clone()));
            }
            state.running = Some((name.clone(), values.clone()));
        }
        let (own, running, called) = (self.clone(), InProgress(self.clone()), name.clone());
        let make = move || {
            own.make(&rules, &called, now, &values);
            drop(running);
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
        // A missing folder may be the mount point of an absent disk, so creating it could use the wrong disk.
        if !rules.folder.is_dir() {
            let why = format!("the folder {} is not there: create it, or mount its disk", rules.folder.display());
            return self.failed(now, why);
        }
        if let Err(why) = self.claim_folder(&rules.folder) {
            return self.failed(now, why);
        }
        let made = self.store.back_up(&file, &mut |more| {
            values.fetch_add(more, Ordering::Relaxed);
        });
        match made {
            Ok(BackedUp { values, bytes }) => {
                let milliseconds = clock::now().since(now);
                tracing::info!(file = %file.display(), values, bytes, milliseconds, "a backup was made");
                let mut state = self.state.lock();
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

    /// Claims the folder. Two servers that share a folder would delete each other's backups.
    fn claim_folder(&self, folder: &Path) -> Result<(), String> {
        let file = folder.join(OWNER);
        let unreadable = |error: io::Error| format!("{}: {error}", file.display());
        match fs::read_to_string(&file) {
            Ok(text) if text == self.owner => Ok(()),
            // An interrupted creation leaves an empty file.
            Ok(text) if text.is_empty() => fs::write(&file, &self.owner).map_err(unreadable),
            Ok(_) => Err(format!(
                "the folder {} has the backups of another server: name a separate folder for each, or delete {} if the other one is gone",
                folder.display(),
                file.display()
            )),
            // Plain write: some disks used for backups support nothing else.
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::write(&file, &self.owner).map_err(unreadable),
            Err(error) => Err(unreadable(error)),
        }
    }

    fn failed(&self, now: Timestamp, why: String) {
        tracing::error!(why, "a backup failed");
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.state.lock().failed = Some((now, why));
        self.report(false);
    }

    /// Reads the folder, which may be slow.
    pub(crate) fn now(&self) -> Result<BackupsNow, BackupError> {
        let rules = self.rules().ok_or(BackupError::NotConfigured)?;
        let now = clock::now();
        let files = files(&rules.folder, now);
        let files = files.map_err(|source| BackupError::Folder { folder: rules.folder.clone(), source })?;
        let mut state = self.state.lock();
        state.newest = newest(&files, now).map(|newest| newest.made_at);
        let running = state.running.as_ref().map(|(name, values)| (name.clone(), values.load(Ordering::Relaxed)));
        Ok(BackupsNow { files, running, failed: state.failed.as_ref().map(|(_, why)| why.clone()) })
    }

    /// Returns the time of the newest backup at the last read of the folder. The outer `None` means that backups are
    /// not configured. Waits for no disk.
    pub(crate) fn newest(&self) -> Option<Option<Timestamp>> {
        self.rules().map(|_| self.state.lock().newest)
    }

    /// Returns the name of the backup in progress.
    pub(crate) fn running(&self) -> Option<String> {
        self.state.lock().running.as_ref().map(|(name, _)| name.clone())
    }

    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.rules().map(|rules| rules.folder)
    }

    /// Returns the number of failed backups since the start.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Makes a backup whenever one is due, as long as the process runs.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            let own = self.clone();
            if let Err(error) = tokio::task::spawn_blocking(move || own.begin_if_due(clock::now())).await {
                tracing::error!(%error, "the check for due backups failed");
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    fn begin_if_due(self: &Arc<Self>, now: Timestamp) {
        let Some(rules) = self.rules() else { return };
        // If the folder cannot be read, the attempt to begin a backup reports the reason.
        let newest = self.now().ok().and_then(|_| self.state.lock().newest);
        let failed = self.state.lock().failed.as_ref().map(|(at, _)| *at);
        let Some(every) = rules.every else { return };
        if is_due(newest, failed, now, every)
            && let Err(error) = self.begin(now)
        {
            tracing::debug!(%error, "no backup was started");
        }
    }
}

fn is_due(newest: Option<Timestamp>, failed: Option<Timestamp>, now: Timestamp, every: Duration) -> bool {
    let old = newest.is_none_or(|newest| u128::from(now.since(newest).max(0).unsigned_abs()) >= every.as_millis());
    old && failed.is_none_or(|failed| now.since(failed) >= AGAIN || now < failed)
}

/// Returns the newest backup, except those in the future, which were made before the clock was set back.
fn newest(files: &[BackupFile], now: Timestamp) -> Option<&BackupFile> {
    files.iter().find(|file| file.made_at <= now)
}

/// Returns a name like `practice-sync-20261125T184700Z.backup`. Names sort by time.
fn name_at(now: Timestamp) -> String {
    let date = Date(i32::try_from(now.0.div_euclid(DAY)).unwrap_or_default());
    let (year, month, day) = date.ymd();
    let of_day = now.0.rem_euclid(DAY);
    let (hour, minute, second) = (of_day / HOUR, of_day % HOUR / MINUTE, of_day % MINUTE / SECOND);
    format!("{BEGINS}{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z{ENDS}")
}

/// Returns the backups in a folder, newest first, followed by those dated in the future. Other names are ignored.
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

/// Returns the backups in a folder, newest first.
pub fn backup_files(folder: &Path) -> io::Result<Vec<BackupFile>> {
    files(folder, clock::now())
}

/// Deletes old backups and incomplete files of ended processes. The backup just made is kept, whatever the clock shows.
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
        Backups::new(Arc::new(Current::from_pointee(Setup { engine, ..Setup::default() })), store, "one".into())
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
        while backups.state.lock().running.is_some() {
            std::thread::sleep(Duration::from_millis(5));
        }
        backups.now().unwrap()
    }

    #[tokio::test]
    async fn newest_backups_are_kept() {
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
        // Another server does not delete the backups, whatever its retention.
        let rules = BackupRules { folder: folder.clone(), every: None, keep: 1 };
        let engine = EngineRules { backup: Some(rules), ..EngineRules::default() };
        let setup = Arc::new(Current::from_pointee(Setup { engine, ..Setup::default() }));
        let other = Backups::new(setup, backups.store.clone(), "other".into());
        other.begin(Timestamp(1_795_632_430_000)).unwrap();
        let refused = ended(&other).failed.unwrap();
        assert!(refused.contains("another server") && refused.contains(OWNER), "{refused}");
        assert_eq!(backups.now().unwrap().files.len(), 2);
        fs::remove_file(folder.join(OWNER)).unwrap();
        other.begin(Timestamp(1_795_632_440_000)).unwrap();
        assert_eq!(ended(&other).failed, None);
    }

    /// A wrong clock must not cause the loss of correct backups.
    #[test]
    fn future_backups_are_deleted_first_and_the_new_one_is_kept() {
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
    fn failed_backup_reports_the_reason() {
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
        while no_folder.state.lock().running.is_some() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let failed = no_folder.state.lock().failed.clone().unwrap().1;
        assert!(failed.contains("mount its disk") && !dir.path().join("none").exists(), "{failed}");
        assert_eq!((no_folder.failures(), no_folder.newest()), (1, Some(None)));
        assert!(matches!(no_folder.now(), Err(BackupError::Folder { .. })));
    }

    #[test]
    fn backup_is_due_when_the_newest_is_old_and_none_has_just_failed() {
        let hour = Duration::from_secs(3_600);
        let due = |newest: Option<i64>, failed: Option<i64>| {
            is_due(newest.map(Timestamp), failed.map(Timestamp), Timestamp(10 * HOUR), hour)
        };
        assert!(due(None, None) && due(Some(9 * HOUR), None) && !due(Some(9 * HOUR + 1), None));
        assert!(!due(None, Some(10 * HOUR - MINUTE)) && due(None, Some(9 * HOUR)));
        assert!(due(None, Some(12 * HOUR)), "the clock was set back");
    }
}
