//! Tests of loading: the cache of compiled components, and components that are no adapters for this engine.

use std::{fs, path::Path};

use adapter_host::{Host, InvalidComponent, LoadError};
use setup::guests::HostLimits;

use crate::support::{hostile, released};

fn host(dir: &Path) -> Host {
    Host::new(HostLimits::default(), dir).unwrap()
}

/// Returns the compiled components in a cache.
fn cached(dir: &Path) -> Vec<std::path::PathBuf> {
    let files = dir.join("compiled").read_dir().unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "cwasm")).collect()
}

#[tokio::test]
async fn a_compiled_component_is_cached_and_a_damaged_one_recompiled() {
    let dir = tempfile::tempdir().unwrap();
    let first = host(dir.path()).load(released()).await.unwrap();
    assert!(!first.from_cache());
    assert_eq!((first.manifest().id.as_str(), first.sha256().len()), ("v1", 64));
    let files = cached(dir.path());
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(host(dir.path()).load(released()).await.unwrap().from_cache());

    let good = fs::read(&files[0]).unwrap();
    let flipped = {
        let mut bytes = good.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes
    };
    for damaged in [flipped, good[..good.len() - 1].to_vec(), b"something else".to_vec(), Vec::new()] {
        fs::write(&files[0], damaged).unwrap();
        let loaded = host(dir.path()).load(released()).await.unwrap();
        assert!(!loaded.from_cache(), "damaged files are not used");
        assert_eq!(fs::read(&files[0]).unwrap(), good, "and replaced");
    }
}

/// Write access to the folder without its key is not enough to make this process run native code.
#[tokio::test]
async fn a_file_sealed_with_another_key_is_recompiled() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    host(ours.path()).load(released()).await.unwrap();
    host(theirs.path()).load(released()).await.unwrap();
    let (file, planted) = (cached(ours.path()).remove(0), cached(theirs.path()).remove(0));
    assert_eq!(file.file_name(), planted.file_name());
    let good = fs::read(&file).unwrap();
    fs::copy(planted, &file).unwrap();
    assert!(!host(ours.path()).load(released()).await.unwrap().from_cache());
    assert_eq!(fs::read(&file).unwrap(), good);
}

#[tokio::test]
async fn the_cache_removes_its_oldest_files_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    host(dir.path()).load(released()).await.unwrap();
    let own = dir.path().join("compiled");
    for n in 0..70 {
        fs::write(own.join(format!("{n:064x}.cwasm")), "old").unwrap();
        fs::write(own.join(format!("{n}.txt")), "not ours").unwrap();
        fs::write(dir.path().join(format!("{n}.cwasm")), "not ours").unwrap();
    }
    fs::remove_file(cached(dir.path()).into_iter().find(|path| fs::metadata(path).unwrap().len() > 3).unwrap())
        .unwrap();
    host(dir.path()).load(released()).await.unwrap();
    assert_eq!(cached(dir.path()).len(), 64);
    assert!(host(dir.path()).load(released()).await.unwrap().from_cache(), "the new one stays");
    for n in 0..70 {
        assert!(own.join(format!("{n}.txt")).exists() && dir.path().join(format!("{n}.cwasm")).exists());
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_others_can_write_to_is_not_trusted() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    assert!(!host(dir.path()).load(released()).await.unwrap().from_cache());
    let own = dir.path().join("compiled");
    assert_eq!(fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(own.join("key")).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&own, fs::Permissions::from_mode(0o722)).unwrap();
    assert!(!host(dir.path()).load(released()).await.unwrap().from_cache(), "it works, without a cache");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(host(dir.path()).load(released()).await.unwrap().from_cache());
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&own, elsewhere.path().join("compiled")).unwrap();
    assert!(!host(elsewhere.path()).load(released()).await.unwrap().from_cache(), "nor a link to somewhere");
}

#[track_caller]
fn refused(bytes: &[u8]) -> impl Future<Output = LoadError> {
    let caller = std::panic::Location::caller();
    refused_at(bytes.to_vec(), caller.line())
}

async fn refused_at(bytes: Vec<u8>, line: u32) -> LoadError {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.wasm");
    fs::write(&file, bytes).unwrap();
    let Err(failed) = crate::support::host().load(&file).await else { panic!("loaded, line {line}") };
    assert!(failed.to_string().contains("x.wasm"), "{failed}");
    failed.reason
}

/// Replaces the contract's version in all names of the component by one of the same length.
fn renamed(from: &str, to: &str) -> Vec<u8> {
    let mut bytes = fs::read(hostile()).unwrap();
    let at: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, w)| *w == from.as_bytes()).map(|(at, _)| at).collect();
    assert!(!at.is_empty() && from.len() == to.len());
    for at in at {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

/// Adds a custom section at the end of the component.
fn with_section(name: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = fs::read(hostile()).unwrap();
    let size = 1 + name.len() + content.len();
    assert!(size < 128, "one byte of LEB128");
    bytes.extend([0, size as u8, name.len() as u8]);
    bytes.extend(name.as_bytes());
    bytes.extend(content);
    bytes
}

#[tokio::test]
async fn a_slow_compilation_times_out() {
    let limits = HostLimits { compile: std::time::Duration::from_millis(1), ..HostLimits::default() };
    let dir = tempfile::tempdir().unwrap();
    let Err(slow) = Host::new(limits, dir.path()).unwrap().load(hostile()).await else { panic!("it was loaded") };
    assert!(matches!(slow.reason, LoadError::TooSlow(_)), "{slow}");
}

#[tokio::test]
async fn an_incompatible_component_is_rejected_with_a_clear_reason() {
    let good = fs::read(hostile()).unwrap();
    let message_of = |error: LoadError| error.to_string();
    assert!(message_of(refused(b"hello").await).contains("not a component"));
    assert!(message_of(refused(b"\0asm\x01\0\0\0").await).contains("core module"));
    assert!(message_of(refused(b"\0asm\x0d\0\x01\0").await).contains("does not export practice-sync:ehr/ehr"));
    assert!(message_of(refused(&good[..good.len() / 2]).await).contains("not a component"));
    let other = message_of(refused(&renamed("@1.0.0", "@2.0.0")).await);
    assert_eq!(other, "built for practice-sync:ehr@2.0.0, this engine offers practice-sync:ehr@1.0.0");
    let wasi = message_of(refused(&renamed("practice-sync:ehr/log@1.0.0", "wasi:clocksxx/wall-lg@0.2.0")).await);
    assert!(wasi.contains("wasi:clocksxx/wall-lg@0.2.0") && wasi.contains("without WASI"), "{wasi}");
    let shape = refused(&renamed("gate-closed", "gate-opened")).await;
    assert!(matches!(shape, LoadError::Shape(_)) && shape.to_string().contains("gate-"), "{shape}");
    let manifest = refused(&renamed("\"memory_mib\"", "\"memory_kib\"")).await;
    assert!(
        matches!(&manifest, LoadError::InvalidComponent(InvalidComponent::Manifest(why)) if why.contains("memory_kib")),
        "{manifest}"
    );
    assert!(matches!(
        refused(&renamed("practice-sync:manifest", "practice-sync:manifesX")).await,
        LoadError::InvalidComponent(InvalidComponent::NoManifest)
    ));
    let twice = refused(&with_section("practice-sync:manifest", b"{}")).await;
    assert!(matches!(twice, LoadError::InvalidComponent(InvalidComponent::Manifests(2))), "{twice}");
    // The rules for `adapter.toml` apply to the manifest in a component.
    let path = refused(&renamed("\"paths\":[\"/\"]", "\"paths\":[\"x\"]")).await;
    assert!(
        matches!(&path, LoadError::InvalidComponent(InvalidComponent::Manifest(why)) if why.contains("`paths`")),
        "{path}"
    );
    let contract = refused(&renamed("\"contract\":1", "\"contract\":2")).await;
    assert!(
        matches!(&contract, LoadError::InvalidComponent(InvalidComponent::Manifest(why)) if why.contains("`contract`")),
        "{contract}"
    );
    let cramped = "id = \"x\"\nname = \"X\"\nversion = \"1\"\ncontract = 1\npaths = [\"/\"]\nmemory_mib = 1\n";
    let cramped = adapter_kit::pack(&good, &adapter_kit::Manifest::parse(cramped).unwrap()).unwrap();
    let start = refused(&cramped).await;
    assert!(matches!(&start, LoadError::Start(why) if why.contains("memory")), "{start}");
    let Err(missing) = crate::support::host().load(Path::new("/nowhere/x.wasm")).await else { panic!("it was loaded") };
    assert!(matches!(missing.reason, LoadError::Io(_)), "{missing}");
}
