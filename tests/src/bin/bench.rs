//! The benchmark binary: `cargo run --release -p tests --bin bench -- --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tests::bench::main()
}
