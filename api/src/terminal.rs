//! What the commands say: results on stdout, an error of start as one line on stderr.

use std::{
    fmt::Display,
    io::{self, Write},
    process::ExitCode,
};

/// What went wrong before anything was served.
pub(crate) fn fail(problem: impl Display) -> ExitCode {
    let line = problem.to_string().trim_end().replace('\n', " ");
    // There is no one left to tell when stderr is gone.
    let _ = writeln!(io::stderr(), "practice-sync: {line}");
    ExitCode::from(2)
}

/// To stdout. A reader that has gone away is not an error.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stdout(), "{text}");
}
