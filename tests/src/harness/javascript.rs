//! JavaScript adapters, built and tested with `npm run`.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::process::Command;

use crate::harness::{
    components::root,
    external::Suite,
    packages::{Project, run},
};

const STEP: Duration = Duration::from_secs(600);

/// The pinned packages of `adapters/sandbox-js`, installed into `target/`, so that the adapter's folder is not
/// changed.
pub struct Toolbox {
    programs: PathBuf,
}

impl Toolbox {
    pub async fn installed() -> Toolbox {
        let sources = root().join("adapters/sandbox-js");
        let project = Project { name: "adapter-javascript", sources, suite: Suite::Node };
        Toolbox { programs: project.npm().await.join("node_modules/.bin") }
    }

    /// Builds the adapter in `dir` into the component `to`, including its manifest.
    pub async fn build(&self, dir: &Path, to: &Path) {
        fs::create_dir_all(to.parent().expect("the file has a parent folder"))
            .expect("the target folder can be written");
        let bare = to.with_extension("bare.wasm");
        let output = bare.to_str().expect("the checkout's path is UTF-8");
        self.npm(dir, &["run", "componentize", "--", "--output", output]).await;
        let packed = adapter_kit::pack_file(&bare, &dir.join(adapter_kit::MANIFEST_FILE), to);
        packed.unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        fs::remove_file(&bare).expect("the file is ours");
    }

    /// Returns a `PATH` with the installed programs, as after `npm ci`.
    pub fn path(&self) -> OsString {
        let path = env::var_os("PATH").unwrap_or_default();
        let programs = std::iter::once(self.programs.clone()).chain(env::split_paths(&path));
        env::join_paths(programs).expect("no path has a colon")
    }

    /// Runs `npm` in `dir` with these arguments, as after `npm ci`.
    pub async fn npm(&self, dir: &Path, arguments: &[&str]) {
        let mut npm = Command::new("npm");
        npm.args(arguments).current_dir(dir).env("PATH", self.path());
        run(npm, STEP).await.unwrap_or_else(|why| panic!("{}: {why}", dir.display()));
    }
}
