//! From a file on the disk to its contents, or to all that is wrong in it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    contents::{Access, Config},
    file,
    reader::Problem,
};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: {}", path.display(), listed(problems))]
    Wrong { path: PathBuf, problems: Vec<Problem> },
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}

impl Config {
    /// Relative paths in the file count from its folder.
    pub fn load(path: &Path) -> Result<Config, ConfigError> {
        let (text, base) = read(path)?;
        Config::parse(&text, base).map_err(|problems| ConfigError::Wrong { path: path.to_path_buf(), problems })
    }

    /// The keys and the statuses of locations, whatever else is wrong in the file, and all that is. Only a file that is not TOML says
    /// nothing.
    pub(crate) fn access(path: &Path) -> Result<(Access, Vec<Problem>), ConfigError> {
        let (text, base) = read(path)?;
        file::read_access(&text, base).map_err(|problems| ConfigError::Wrong { path: path.to_path_buf(), problems })
    }

    pub fn parse(text: &str, base: &Path) -> Result<Config, Vec<Problem>> {
        file::read(text, base)
    }
}

fn read(path: &Path) -> Result<(String, &Path), ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_path_buf(), source };
    let text = fs::read_to_string(path).map_err(unreadable)?;
    Ok((text, path.parent().unwrap_or(Path::new(""))))
}
