//! Location and key of the audit trail in a data directory.

use std::path::Path;

use audit::{AuditEntry, Rules, Trail};
use configuration::AuditRules;
use framework::values::secret::Secret;

const KEY: &str = "audit.key";

/// Opens the audit trail of a server.
pub fn open(rules: &AuditRules, data_dir: &Path) -> Result<Trail, String> {
    // An existing trail must have its key, without which it is unreadable.
    let begun = rules.folder.join("head").exists();
    if !begun && data_dir.join(KEY).exists() {
        let (folder, key) = (rules.folder.display(), data_dir.join(KEY));
        tracing::warn!(
            %folder, key = %key.display(),
            "a new audit trail begins although the key of an earlier one exists; was the earlier trail moved?"
        );
    }
    let key = if begun { known_key(data_dir) } else { key(data_dir) }?;
    let kept = Rules { keep_days: rules.keep_days, ..Rules::default() };
    Trail::open(&rules.folder, &key, kept).map_err(|error| format!("{}: {error}", rules.folder.display()))
}

/// Appends one entry for a command that changes the data of a stopped server.
pub fn append(rules: &AuditRules, data_dir: &Path, entry: &AuditEntry) -> Result<(), String> {
    let trail = open(rules, data_dir)?;
    let written = trail.append(entry).map(drop);
    written.and(trail.close()).map_err(|error| format!("{}: {error}", rules.folder.display()))
}

/// Returns the key of an existing trail.
pub fn known_key(data_dir: &Path) -> Result<[u8; 32], String> {
    let path = data_dir.join(KEY);
    match path.exists() {
        true => key(data_dir),
        false => Err(format!("{} is missing: the audit trail cannot be read or continued without it", path.display())),
    }
}

fn key(data_dir: &Path) -> Result<[u8; 32], String> {
    let path = data_dir.join(KEY);
    let secret = Secret::load_or_create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(secret.key("audit trail").tag(&[]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{fs, io, sync::Arc};

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl io::Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the log of a start.
    fn start(data_dir: &Path) -> String {
        let (log, rules) = (CapturedLog::default(), AuditRules { folder: data_dir.join("audit"), keep_days: None });
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(lines, || open(&rules, data_dir).unwrap().close().unwrap());
        let text = log.0.lock().clone();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_missing_trail_with_an_existing_key_is_logged_as_a_warning() {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            assert!(!start(dir.path()).contains("WARN"));
        }
        fs::remove_dir_all(dir.path().join("audit")).unwrap();
        let log = start(dir.path());
        assert!(log.contains("WARN") && log.contains("a new audit trail begins"), "{log}");
    }
}
