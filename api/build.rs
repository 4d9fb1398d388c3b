//! With the feature `bundled`: builds the demo's adapters, which the binary then contains.
#![allow(clippy::print_stdout)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bundled")]
    bundle();
}

#[cfg(feature = "bundled")]
fn bundle() {
    use std::{env, path::Path, process::Command};

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo names it")).join("adapters");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    for source in ["adapters/kit", "adapters/sdk", "adapters/sandbox", "adapters/gated-cloud", "wit/v1", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    for name in ["sandbox", "gated-cloud"] {
        let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
        cargo.current_dir(&root).args(["run", "--package", "adapter-kit", "--bin", "build_adapter"]);
        cargo.args(["--features", "program", "--target-dir"]).arg(out.join("kit")).arg("--");
        cargo.arg(root.join("adapters").join(name)).arg(&out).arg(if is_release { "release" } else { "quick" });
        // Flags of the build that runs this script, and a runner for its tests.
        cargo.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTC_WORKSPACE_WRAPPER");
        for (runner, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().ends_with("_RUNNER")) {
            cargo.env_remove(runner);
        }
        let built = cargo.status().expect("cargo can be started");
        assert!(built.success(), "the adapter {name} could not be built");
    }
}
