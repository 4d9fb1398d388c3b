//! The product's own entry point, built with the tests so that they can start it and kill it.

use std::process::ExitCode;

fn main() -> ExitCode {
    api::cli::main()
}
