//! The extension's own build and tests: `npm test`, including strict types.

use std::{fs, os::unix::fs::symlink, time::Duration};

use tests::harness::{
    chromium::copy_files,
    external::Suite,
    packages::{Project, run},
};
use tokio::process::Command;

const LIMIT: Duration = Duration::from_secs(600);

#[actix::test]
async fn extension_builds_and_its_module_tests_pass() {
    if Suite::Node.is_skipped() {
        return;
    }
    let project = Project::new("extension", "../adapters/extension", Suite::Node);
    let folder = tempfile::tempdir().unwrap();
    for part in ["src", "static", "test"] {
        copy_files(&project.sources.join(part), &folder.path().join(part));
    }
    for file in ["package.json", "tsconfig.json"] {
        fs::copy(project.sources.join(file), folder.path().join(file)).unwrap();
    }
    symlink(project.npm().await.join("node_modules"), folder.path().join("node_modules")).unwrap();
    let mut npm = Command::new("npm");
    npm.arg("test").current_dir(folder.path());
    if let Err(why) = run(npm, LIMIT).await {
        panic!("{why}");
    }
}
