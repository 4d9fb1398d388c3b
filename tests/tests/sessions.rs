//! The sessions in README.md, the guide and install.md, block by block: makes the calls and compares the answers.

use std::fs;

use tests::harness::{components::root, external::Suite, process::binary};

use crate::adapter_author::{
    need_tools,
    shell::Shell,
    steps::{self, DocumentStep, ExpectedOutput, OtherBlocks, StepKind},
};

/// The demo at the beginning of README.md and the guide.
const DEMO: &str = "practice-sync demo --listen 127.0.0.1:8080 --operators 127.0.0.1:8081";

/// Follows the steps of a section, after the step `before`.
fn follow(document: &str, heading: &str, before: Option<DocumentStep>) {
    if Suite::Shell.is_skipped() {
        return;
    }
    need_tools();
    let text = fs::read_to_string(root().join(document)).unwrap();
    let steps =
        steps::parse(&text, heading, OtherBlocks::Skipped).unwrap_or_else(|error| panic!("{document}: {error}"));
    let dir = tempfile::tempdir().unwrap();
    let mut shell = Shell::start(dir.path(), binary()).unwrap();
    for step in before.iter().chain(&steps) {
        shell.follow(step).unwrap_or_else(|error| panic!("{document}:{}: {error}", step.line));
    }
}

fn demo() -> Option<DocumentStep> {
    // The last line of the walkthrough, which waits for the first read.
    let sees = vec![ExpectedOutput::Line("For operators: ...".to_owned())];
    Some(DocumentStep { line: 0, what: StepKind::Background { text: DEMO.to_owned(), sees } })
}

#[test]
fn readme_session_matches_the_demo() {
    follow("README.md", "## A session", demo());
}

#[test]
fn guide_calls_return_the_shown_answers() {
    follow("api/docs/guide.md", "# Guide for API clients", demo());
}

#[test]
fn the_commands_of_install_work_in_the_order_printed() {
    follow("api/docs/operations/install.md", "# Install", None);
}
