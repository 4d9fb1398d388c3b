//! TEMPORARY stand-in; the lead writes the demo.
use std::process::ExitCode;

use crate::cli::DemoArguments;

pub fn run(_: DemoArguments) -> ExitCode {
    ExitCode::from(2)
}
