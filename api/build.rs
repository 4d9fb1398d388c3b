//! With the feature `bundled`: builds the demo's adapters, which the binary then contains.
#![allow(clippy::print_stdout)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bundled")]
    bundle();
}

#[cfg(feature = "bundled")]
fn bundle() {
    use std::{env, path::Path};

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo names it")).join("adapters");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let profile = if is_release { build_kit::Profile::Release } else { build_kit::Profile::Quick };
    for source in ["adapters/sdk", "adapters/sandbox", "adapters/gated-cloud", "wit/v1", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    for name in ["sandbox", "gated-cloud"] {
        let dir = root.join("adapters").join(name);
        let built = build_kit::build(&dir, &out, profile, &mut |progress| eprintln!("{progress}"));
        built.unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    }
}
