//! Running of external tools.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
};

use crate::{error::KitError, progress::Progress};

/// Maximum lines of a tool's output in an error.
const QUOTED_LINES: usize = 40;

/// Runs a tool. Its stderr goes to `progress` line by line, its stdout is returned.
pub fn run(mut command: Command, progress: &mut dyn FnMut(Progress<'_>)) -> Result<String, KitError> {
    let shown = render(&command);
    progress(Progress::Running(&shown));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| KitError::Start { command: shown.clone(), source })?;
    let failed = |source| KitError::Start { command: shown.clone(), source };
    let mut stdout = child.stdout.take().expect("piped above");
    let stderr = child.stderr.take().expect("piped above");
    // A separate reader for stdout, because a tool that fills one pipe must not wait for the other to be read.
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        stdout.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let mut last = VecDeque::new();
    for line in BufReader::new(stderr).split(b'\n') {
        let line = line.map_err(failed)?;
        let line = String::from_utf8_lossy(&line).trim_end().to_string();
        progress(Progress::Line(&line));
        if last.len() == QUOTED_LINES {
            last.pop_front();
        }
        last.push_back(line);
    }
    let status = child.wait().map_err(failed)?;
    let stdout =
        reader.join().map_err(|_| failed(std::io::Error::other("its output could not be read")))?.map_err(failed)?;
    if status.success() {
        return Ok(stdout);
    }
    Err(KitError::Failed { command: shown, status, output: Vec::from(last).join("\n") })
}

/// Returns the tool and its first arguments, enough to recognise it.
fn render(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let words = command.get_args().take(3).map(|word| word.to_string_lossy().into_owned());
    std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
}
