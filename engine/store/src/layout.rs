//! The file `format` of a store's directory, which contains the format version and the engine. A mismatch is
//! refused before the engine is opened, because an engine changes even files it cannot read.

use std::{fs, io, path::Path};

use super::{EngineKind, LayoutProblem, StoreError};
use crate::files;

const FILE: &str = "format";
/// The format of the whole store: keys, envelope, and the documents in the values.
const FORMAT: u32 = 15;
/// The formats that are read. Format 3 has values of envelope format 1 only. Format 4 has no facts of visits in the log
/// of changes. Format 8 has a value with all fields for each webhook delivery. Format 10 has no compressed values. All
/// are upgraded in place. No flipped bit turns one into another, so other numbers are left out.
const READ: [u32; 5] = [3, 4, 8, 10, FORMAT];

/// Returns the engine of the store in a directory, or `None` if there is no store.
pub fn engine_of(dir: &Path) -> Result<Option<EngineKind>, StoreError> {
    Ok(read(dir)?.map(|(_, engine)| engine))
}

fn read(dir: &Path) -> Result<Option<(u32, EngineKind)>, StoreError> {
    let refused = |problem| StoreError::Layout { dir: dir.display().to_string(), problem };
    let text = match fs::read(dir.join(FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if is_made(dir)? { Err(refused(LayoutProblem::Old)) } else { Ok(None) };
        }
        Err(error) => return Err(StoreError::io(format!("reading {}", dir.join(FILE).display()))(error)),
    };
    let (format, engine) = parse(&text).ok_or_else(|| refused(LayoutProblem::Unreadable))?;
    if format < READ[0] {
        return Err(refused(LayoutProblem::Old));
    }
    if format > FORMAT {
        return Err(refused(LayoutProblem::New { found: format, known: FORMAT }));
    }
    if !READ.contains(&format) {
        return Err(refused(LayoutProblem::Unreadable));
    }
    let engine: EngineKind = engine.parse().map_err(|_| refused(LayoutProblem::Unreadable))?;
    Ok(Some((format, engine)))
}

/// Checks that the directory belongs to this engine, or assigns a new directory to it.
pub(super) fn claim(dir: &Path, engine: EngineKind) -> Result<(), StoreError> {
    match engine_of(dir)? {
        Some(found) if found == engine => Ok(()),
        Some(found) => {
            let problem = LayoutProblem::OtherEngine { found, wanted: engine };
            Err(StoreError::Layout { dir: dir.display().to_string(), problem })
        }
        None => {
            files::write_new(&dir.join(FILE), &text(engine)).map_err(writing(dir))?;
            Ok(())
        }
    }
}

/// Upgrades a store of an earlier format, durably. Must be called before the first value of a new format is
/// written, so that earlier versions refuse the directory instead of reporting damage.
pub(super) fn upgrade(dir: &Path) -> Result<(), StoreError> {
    let Some((format, engine)) = read(dir)?.filter(|(format, _)| *format < FORMAT) else { return Ok(()) };
    files::replace(&dir.join(FILE), &text(engine)).map_err(writing(dir))?;
    tracing::info!(from = format, to = FORMAT, "upgraded the store; earlier versions can no longer open it");
    Ok(())
}

fn text(engine: EngineKind) -> String {
    format!("practice-sync store\nformat {FORMAT}\nengine {engine}")
}

fn writing(dir: &Path) -> impl FnOnce(io::Error) -> StoreError {
    StoreError::io(format!("writing {}", dir.join(FILE).display()))
}

/// Returns whether the directory contains files of an engine, regardless of other files.
pub fn is_made(dir: &Path) -> Result<bool, StoreError> {
    for log in ["db", "fjall"] {
        let path = dir.join(log);
        if path.try_exists().map_err(StoreError::io(format!("looking for {}", path.display())))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn parse(text: &[u8]) -> Option<(u32, &str)> {
    let mut lines = std::str::from_utf8(text).ok()?.lines();
    (lines.next()? == "practice-sync store").then_some(())?;
    let format = lines.next()?.strip_prefix("format ")?.parse().ok()?;
    Some((format, lines.next()?.strip_prefix("engine ")?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn refusal(dir: &Path, engine: EngineKind) -> String {
        claim(dir, engine).unwrap_err().to_string()
    }

    #[test]
    fn a_directory_belongs_to_the_engine_that_made_it() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(engine_of(dir.path()).unwrap(), None);
        claim(dir.path(), EngineKind::Fjall).unwrap();
        claim(dir.path(), EngineKind::Fjall).unwrap();
        assert_eq!(engine_of(dir.path()).unwrap(), Some(EngineKind::Fjall));
        let refused = refusal(dir.path(), EngineKind::Sled);
        assert!(
            refused.contains("store_engine = \"fjall\"") && refused.contains("store migrate --to sled"),
            "{refused}"
        );
    }

    #[test]
    fn other_layouts_are_refused_with_what_to_do() {
        for log in ["db", "fjall"] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(log), "log").unwrap();
            assert!(refusal(dir.path(), EngineKind::Sled).contains("earlier version"));
            assert!(!dir.path().join(FILE).exists(), "nothing is written");
        }
        for (text, expected) in [
            ("practice-sync store\nformat 2\nengine sled\n", "earlier version"),
            ("practice-sync store\nformat 16\nengine sled\n", "newer version"),
            ("practice-sync store\nformat 9\nengine sled\n", "cannot be read"),
            ("practice-sync store\nformat 4\nengine rocks\n", "cannot be read"),
            ("practice-sync stose\nformat 4\nengine sled\n", "cannot be read"),
            ("", "cannot be read"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(FILE), text).unwrap();
            let refused = refusal(dir.path(), EngineKind::Sled);
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn earlier_formats_are_read_and_upgraded() {
        for format in ["format 3", "format 4", "format 8", "format 10"] {
            upgrades(format);
        }
    }

    fn upgrades(format: &str) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        fs::write(&file, format!("practice-sync store\n{format}\nengine fjall\n")).unwrap();
        claim(dir.path(), EngineKind::Fjall).unwrap();
        assert!(refusal(dir.path(), EngineKind::Sled).contains("of the engine fjall"));
        assert!(fs::read_to_string(&file).unwrap().contains(format), "only an open store is upgraded");
        for _ in 0..2 {
            upgrade(dir.path()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "practice-sync store\nformat 15\nengine fjall\n");
        }
        claim(dir.path(), EngineKind::Fjall).unwrap();
    }

    /// Tests every bit of the file.
    #[test]
    fn a_flipped_bit_in_the_format_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        claim(dir.path(), EngineKind::Sled).unwrap();
        let text = fs::read(dir.path().join(FILE)).unwrap();
        // The final line feed and the text after it are not significant.
        for bit in 0..(text.len() - 1) * 8 {
            let mut bent = text.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            fs::write(dir.path().join(FILE), &bent).unwrap();
            assert!(claim(dir.path(), EngineKind::Sled).is_err(), "bit {bit}");
        }
    }
}
