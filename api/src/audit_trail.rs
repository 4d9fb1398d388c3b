//! Where the audit trail of a data directory is, and its key.

use std::path::Path;

use audit::{Rules, Trail};

use crate::{config::AuditRules, values::secret::Secret};

const KEY: &str = "audit.key";

/// For whoever serves.
pub(crate) fn open(rules: &AuditRules, data_dir: &Path) -> Result<Trail, String> {
    // A trail has its key already, and is nothing without it.
    let begun = rules.folder.join("head").exists();
    let key = if begun { known_key(data_dir) } else { key(data_dir) }?;
    let kept = Rules { keep_days: rules.keep_days, ..Rules::default() };
    Trail::open(&rules.folder, &key, kept).map_err(|error| format!("{}: {error}", rules.folder.display()))
}

/// The key of a trail that there is.
pub(crate) fn known_key(data_dir: &Path) -> Result<[u8; 32], String> {
    let path = data_dir.join(KEY);
    match path.exists() {
        true => key(data_dir),
        false => Err(format!("{} is missing: the audit trail cannot be read or continued without it", path.display())),
    }
}

fn key(data_dir: &Path) -> Result<[u8; 32], String> {
    let path = data_dir.join(KEY);
    let secret = Secret::of_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(secret.key("audit trail").tag(&[]))
}
