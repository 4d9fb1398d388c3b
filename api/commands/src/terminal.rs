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

/// The error of a command: the text of any error.
pub struct CommandError(String);

impl<E: Display> From<E> for CommandError {
    fn from(error: E) -> CommandError {
        CommandError(error.to_string())
    }
}

pub type CommandResult = Result<ExitCode, CommandError>;

/// Reports the error of a command, if there is one.
pub fn finish(result: CommandResult) -> ExitCode {
    result.unwrap_or_else(|CommandError(problem)| fail(problem))
}

/// Prints to stdout. A closed pipe is not an error.
pub fn print_line(text: impl Display) {
    let _ = writeln!(io::stdout(), "{text}");
}
