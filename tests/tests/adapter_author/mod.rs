//! The walkthrough for adapter authors: runs every block of its section in `adapters/README.md` as written.
//!
//! Three things differ from a reader's machine: ports are free ones, dependencies have the versions of the workspace
//! (without network access), and `target` keeps the build for the next run. The quick build uses the dependencies that
//! other new adapters of the tests have compiled.

pub mod answers;
pub mod shell;
pub mod steps;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};
use tests::harness::process::binary;

use shell::Shell;
use steps::OtherBlocks;
use tests::harness::{components, external::Suite};

const SECTION: &str = "## One day: from nothing to a booking";
const CRATE: &str = "my-ehr";

/// Prepares the reader's crate once it exists: versions of the workspace, build folders of earlier runs.
fn prepare(home: &Path) {
    let dir = home.join(CRATE);
    if !dir.is_dir() || dir.join("Cargo.lock").exists() {
        return;
    }
    fs::copy(components::root().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    let mut metadata = Command::new(env!("CARGO"));
    let updated = metadata.current_dir(&dir).args(["metadata", "-q", "--offline"]).output().unwrap();
    assert!(updated.status.success(), "{}", String::from_utf8_lossy(&updated.stderr));
    fs::create_dir_all(dir.join("dist/quick")).unwrap();
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (folder, kept) in [
        ("target", kept.join("adapter-author/native")),
        ("dist/build", kept.join("adapter-author/component")),
        ("dist/quick/build", components::root().join("target/adapters/build")),
    ] {
        fs::create_dir_all(&kept).unwrap();
        std::os::unix::fs::symlink(kept, dir.join(folder)).unwrap();
    }
}

pub fn need_tools() {
    for tool in ["sh", "curl"] {
        let found = Command::new(tool).args(["-c", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_err() {
            Suite::Shell.lacks(&format!("`{tool}` is not on the PATH"));
        }
    }
}

#[test]
fn readme_walkthrough_books_and_rolls_out_a_new_version() {
    if Suite::Shell.is_skipped() {
        return;
    }
    need_tools();
    let readme = fs::read_to_string(components::root().join("adapters/README.md")).unwrap();
    let steps = steps::parse(&readme, SECTION, OtherBlocks::Refused)
        .unwrap_or_else(|error| panic!("adapters/README.md: {error}"));
    let dir = tempfile::tempdir().unwrap();
    let mut shell = Shell::start(dir.path(), binary()).unwrap();
    for step in &steps {
        shell.follow(step).unwrap_or_else(|error| panic!("adapters/README.md:{}: {error}", step.line));
        prepare(&dir.path().join("home"));
    }
}

/// Runs the steps of this text and returns the first error.
fn walk(text: &str) -> Result<(), String> {
    let steps = steps::parse(&format!("# A\n{SECTION}\n{text}\n## B\n"), SECTION, OtherBlocks::Refused)?;
    let dir = tempfile::tempdir().unwrap();
    let mut shell = Shell::start(dir.path(), binary()).map_err(|error| error.to_string())?;
    fs::write(dir.path().join("home/a.txt"), "one\ntwo\n  three\n").unwrap();
    steps.iter().try_for_each(|step| shell.follow(step))
}

/// Returns a block with its expected output.
fn step(text: &str, sees: &str) -> String {
    format!("```sh step\n{text}\n```\n```text see\n{sees}\n```\n")
}

#[test]
fn failing_steps_are_reported() {
    let edit = |lines: &str| format!("```diff edit a.txt\n{lines}\n```\n");
    let background = |text: &str| step(text, "is there").replace("sh step", "sh background");
    for (text, why) in [
        (step("echo done; false", "done"), "`echo done; false` failed"),
        (step("echo \"it", "it"), "failed"),
        (step("echo one two", "one ... three"), "`one ... three` is not in its output:\none two"),
        (step("echo two one", "one ... two"), "is not in its output"),
        (step("practice-sync adapter frobnicate || false", "x"), "failed"),
        (edit("-four\n+five"), "a.txt has 0 times what is to be changed:\nfour"),
        (edit("-t\n+s"), "a.txt has 0 times"),
        (edit("+five"), "names no line that is there"),
        (edit("four"), "`four` begins with none of"),
        (background("sleep 0.1"), "ended"),
        ("```sh step\ntrue\n```\n".to_owned(), "line 3: a step without expected output"),
        ("```text see\nx\n```\n".to_owned(), "line 3: what is to be seen after no step"),
        ("```sh sometimes\ntrue\n```\n".to_owned(), "line 3: `sh sometimes` is no kind of block"),
        ("```\ntrue\n```\n".to_owned(), "line 3: `` is no kind of block"),
        ("```sh step\ntrue\n".to_owned(), "is not closed"),
        (String::new(), "no step"),
    ] {
        let error = walk(&text).expect_err(&text);
        assert!(error.contains(why), "{text}: {why:?} is missing: {error}");
    }
    assert!(steps::parse("## Another\n", SECTION, OtherBlocks::Refused).unwrap_err().contains(SECTION));
}

#[test]
fn variables_of_a_step_are_set_in_the_next_one() {
    let edit = "```diff edit a.txt\n one\n-two\n+zwei\n```\n";
    let text: [&str; 6] = [
        &step("NAME=zwei; f() { grep -n $1 a.txt; }\necho $NAME", "zwei"),
        edit,
        &step("f $NAME\nmkdir b && cd b && pwd", "2:zwei\n.../home/b"),
        &step("cat; practice-sync --version; pwd", "practice-sync ...\n.../b"),
        &step("echo 'echo is there; sleep 600' > c; pwd", "home/b"),
        &step("sh c", "is there").replace("sh step", "sh background"),
    ];
    walk(&text.concat()).unwrap();
}
