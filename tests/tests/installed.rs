//! The installed binary, built with the feature `bundled` and run without a checkout or a Rust toolchain.

use std::{fs, path::Path, time::Duration};

use tests::harness::{
    components::root,
    external::Suite,
    process::{binary, built},
};
use tokio::process::Command;

use crate::demo_cloud::Demo;

const STEP: Duration = Duration::from_secs(600);

/// Returns a command that runs `binary` in `dir` with an empty environment. An empty file system hides the checkout.
fn alone(binary: &Path, dir: &Path, arguments: &str) -> Command {
    let (checkout, binary) = (root(), binary.display());
    let hidden = format!(
        "mount -t tmpfs none '{}' && ! ls '{0}'/* 2>/dev/null && exec env -i {binary} {arguments}",
        checkout.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &hidden]).current_dir(dir);
    command
}

#[actix::test]
async fn the_demo_runs_from_a_copy_of_the_binary_without_the_checkout() {
    if Suite::Shell.is_skipped() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let copy = |from: &Path, name: &str| {
        let to = dir.path().join(name);
        fs::copy(from, &to).unwrap();
        to
    };
    let (bare, bundled) = (copy(binary(), "bare"), copy(&built(&["--features", "bundled"]), "practice-sync"));
    let demo = "demo --listen 127.0.0.1:0 --operators 127.0.0.1:0";
    let refused = alone(&bare, dir.path(), demo).output().await;
    let refused = refused.unwrap_or_else(|why| Suite::Shell.lacks(&format!("`unshare`: {why}")));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(
        message.contains("cargo install --path api --features bundled") && message.lines().count() == 1,
        "{message}"
    );

    let mut running = Demo::spawn(alone(&bundled, dir.path(), demo));
    running.says("practice-sync demo: http://127.0.0.1:", STEP).await;
    // The booking of the walkthrough, confirmed by the simulated EHR through the adapter.
    running.says("Try it yourself", STEP).await;
    let config = fs::read_to_string(dir.path().join("demo-data/demo.toml")).unwrap();
    assert!(config.contains("sandbox = \"sandbox.wasm\""), "{config}");
    drop(running);
    let mut cloud = Demo::spawn(alone(&bundled, dir.path(), &format!("{demo} --cloud --no-walkthrough")));
    cloud.says("Try it yourself", STEP).await;
}
