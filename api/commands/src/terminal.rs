//! Output of commands: results on stdout, a startup error as one line on stderr.

use std::{
    fmt::Display,
    io::{self, Write},
    process::ExitCode,
};

/// Reports an error before the service has started.
pub fn fail(problem: impl Display) -> ExitCode {
    let line = problem.to_string().trim_end().replace('\n', " ");
    // A closed stderr leaves no way to report.
    let _ = writeln!(io::stderr(), "practice-sync: {line}");
    ExitCode::from(2)
}

/// Prints to stdout. A closed pipe is not an error.
pub fn say(text: impl Display) {
    let _ = writeln!(io::stdout(), "{text}");
}
