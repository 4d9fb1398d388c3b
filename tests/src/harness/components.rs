//! The bundled adapters as components. The kit builds them after changes of their sources.

use std::{
    fs,
    path::{Path, PathBuf},
};

use adapter_host::{AdapterRegistry, Host};
use adapter_kit::{Manifest, Profile, pack};
use setup::guests::HostLimits;

/// Returns the root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the checkout").to_path_buf()
}

/// Returns the component of an adapter in `adapters/`.
pub fn component(name: &str) -> PathBuf {
    built(&root().join("adapters").join(name))
}

/// Packs the sandbox adapter under another version or id.
pub fn packed(dir: &Path, id: &str, version: &str) -> PathBuf {
    let known =
        fs::read_to_string(root().join("adapters/sandbox/adapter.toml")).expect("the manifest is in the checkout");
    let text = known
        .replace("id = \"sandbox\"", &format!("id = \"{id}\""))
        .replace("version = \"0.1.0\"", &format!("version = \"{version}\""));
    let component = fs::read(component("sandbox")).expect("it was just built");
    let file = dir.join(format!("{id}-{version}.wasm"));
    let packed = pack(&component, &Manifest::parse(&text).expect("a manifest")).expect("a component");
    fs::write(&file, packed).expect("a folder of the test's");
    file
}

/// Returns the component of the guest that misbehaves on request.
pub fn hostile() -> PathBuf {
    built(&root().join("engine/adapter-host/tests/guests/hostile"))
}

fn built(dir: &Path) -> PathBuf {
    let out = root().join("target").join("adapters");
    let built = adapter_kit::build(dir, &out, Profile::like_this_build(), &mut |_| ());
    built.unwrap_or_else(|error| panic!("{} could not be built: {error}", dir.display())).component
}

/// Returns the folder of compiled components.
pub fn compiled() -> PathBuf {
    root().join("target").join("adapters").join("compiled")
}

/// Returns a registry with these adapters.
pub async fn load(names: &[&str]) -> AdapterRegistry {
    let files: Vec<(&str, PathBuf)> = names.iter().map(|name| (*name, component(name))).collect();
    load_files(&files).await
}

/// Returns a registry with the adapters of these files.
pub async fn load_files(files: &[(&str, PathBuf)]) -> AdapterRegistry {
    let host = Host::new(HostLimits::default(), &compiled()).expect("the adapter host starts");
    let registry = AdapterRegistry::new();
    for (name, file) in files {
        let adapter = host.load(file).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        registry.swap(name, adapter);
    }
    registry
}
