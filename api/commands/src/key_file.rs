//! Common parts of `keys` and `operators`: the key file that the configuration names. A running server reloads it
//! automatically.

use std::{
    io,
    path::{Path, PathBuf},
};

use clap::Args;
use configuration::{Config, KeyFileContents, Problem};
use engine::setup::Setup;

use crate::key_entries::KeyFile;

#[derive(Args)]
pub struct Configured {
    /// The configuration: a file, or a folder of files.
    #[arg(long, value_name = "CONFIG")]
    pub config: PathBuf,
}

#[derive(Args)]
pub struct ListArguments {
    /// Print one JSON object per line.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub of: Configured,
}

#[derive(Args)]
pub struct RevokeArguments {
    pub name: String,
    #[command(flatten)]
    pub of: Configured,
}

/// Removes an entry, even if the configuration or other entries have errors.
pub(super) fn revoked(
    RevokeArguments { name, of }: &RevokeArguments,
    list: &str,
    what: &str,
) -> Result<String, String> {
    let keys_file = keys_file(&of.config);
    let mut file = open(&keys_file)?;
    if !file.remove(list, name) {
        return Err(format!("{} has no {what} named `{name}`", keys_file.display()));
    }
    save(file, &format!("no longer has `{name}`"))
}

/// Returns the configuration without reading its key file, or the problems of the configuration.
pub(crate) fn valid(path: &Path) -> Result<Config, String> {
    let (config, problems) = Config::without_keys(path);
    ensure_no_problems(&problems)?;
    config.ok_or_else(|| format!("{} cannot be read", path.display()))
}

fn keys_file(path: &Path) -> PathBuf {
    Config::without_keys(path).0.map_or_else(|| Config::usual_keys_file(path), |config| config.keys_file)
}

/// Returns the keys and their problems. A missing file has no keys.
pub(crate) fn access(config: &Config) -> Result<(KeyFileContents, Vec<Problem>), String> {
    match KeyFileContents::load(&config.keys_file, &config.setup) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((KeyFileContents::default(), Vec::new())),
        read => read.map_err(|error| format!("{}: {error}", config.keys_file.display())),
    }
}

pub(crate) fn open(path: &Path) -> Result<KeyFile, String> {
    KeyFile::open(path).map_err(|error| format!("{}: {error}", path.display()))
}

pub(crate) fn checked(file: &KeyFile, list: &str, name: &str, setup: &Setup) -> Result<(), String> {
    ensure_no_problems(&file.problems(list, name, setup))
}

pub(super) fn ensure_no_problems(problems: &[Problem]) -> Result<(), String> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))
}

pub(crate) fn save(file: KeyFile, what: &str) -> Result<String, String> {
    let path = file.save().map_err(|error| format!("the key file cannot be written: {error}"))?;
    Ok(format!("{} {what}; a running server reloads the file within seconds.", path.display()))
}
