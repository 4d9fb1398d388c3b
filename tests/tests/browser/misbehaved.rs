//! The extension against misbehaving engines, EHRs and browsers: runs `tests/browser/extension.test.mjs`.

use std::time::Duration;

use tests::harness::{
    chromium::{self, screenshots},
    packages::run,
};
use tokio::process::Command;

const LIMIT: Duration = Duration::from_secs(1_200);

#[actix::test]
async fn extension_tolerates_misbehaving_engines_and_ehrs() {
    let Some(kit) = chromium::kit().await else { return };
    let profile = tempfile::tempdir().unwrap();
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=spec", "extension.test.mjs"]).current_dir(&kit.scripts);
    node.env("CHROMIUM", &kit.chromium).env("EXTENSION", &kit.extension).env("PROFILE", profile.path());
    node.env("SCREENSHOTS", screenshots());
    if let Err(why) = run(node, LIMIT).await {
        panic!("{why}");
    }
}
