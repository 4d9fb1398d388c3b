//! Loading: the cache of compiled components, and components that are no adapters for this engine.

use std::{fs, path::Path};

use engine::adapter_host::{Host, HostLimits, LoadError};

use crate::support::hostile;

fn host(dir: &Path) -> Host {
    Host::new(HostLimits::default(), dir).unwrap()
}

fn cached(dir: &Path) -> Vec<std::path::PathBuf> {
    dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn a_compiled_component_is_kept_and_a_damaged_one_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = host(dir.path()).load(hostile()).await.unwrap();
    assert!(!first.from_cache());
    assert_eq!((first.manifest().id.as_str(), first.sha256().len()), ("hostile", 64));
    let files = cached(dir.path());
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(host(dir.path()).load(hostile()).await.unwrap().from_cache());

    let good = fs::read(&files[0]).unwrap();
    let flipped = {
        let mut bytes = good.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes
    };
    for damaged in [flipped, good[..good.len() - 1].to_vec(), b"something else".to_vec(), Vec::new()] {
        fs::write(&files[0], damaged).unwrap();
        let loaded = host(dir.path()).load(hostile()).await.unwrap();
        assert!(!loaded.from_cache(), "damaged files are not used");
        assert_eq!(fs::read(&files[0]).unwrap(), good, "and replaced");
    }
}

#[tokio::test]
async fn a_file_with_its_hash_but_not_of_this_compiler_is_made_again() {
    use sha2::{Digest, Sha256};
    let dir = tempfile::tempdir().unwrap();
    host(dir.path()).load(hostile()).await.unwrap();
    let file = cached(dir.path()).remove(0);
    let good = fs::read(&file).unwrap();
    let foreign = b"\x7fELF not what wasmtime writes";
    let head = good.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let forged = [&good[..head], Sha256::digest(foreign).as_slice(), foreign].concat();
    fs::write(&file, forged).unwrap();
    assert!(!host(dir.path()).load(hostile()).await.unwrap().from_cache());
    assert_eq!(fs::read(&file).unwrap(), good);
}

#[tokio::test]
async fn the_cache_forgets_the_oldest() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..70 {
        fs::write(dir.path().join(format!("{n}.cwasm")), "old").unwrap();
    }
    host(dir.path()).load(hostile()).await.unwrap();
    assert_eq!(cached(dir.path()).len(), 64);
    assert!(host(dir.path()).load(hostile()).await.unwrap().from_cache(), "the new one stays");
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

/// The component with another version of the contract in all its names, of the same length.
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

#[tokio::test]
async fn what_is_no_adapter_for_this_engine_is_said_plainly() {
    let good = fs::read(hostile()).unwrap();
    let said = |error: LoadError| error.to_string();
    assert!(said(refused(b"hello").await).contains("not a component"));
    assert!(said(refused(b"\0asm\x01\0\0\0").await).contains("core module"));
    assert!(said(refused(b"\0asm\x0d\0\x01\0").await).contains("does not export practice-sync:ehr/ehr"));
    assert!(said(refused(&good[..good.len() / 2]).await).contains("not a component"));
    let other = said(refused(&renamed("@1.0.0", "@2.0.0")).await);
    assert_eq!(other, "built for practice-sync:ehr@2.0.0, this engine offers practice-sync:ehr@1.0.0");
    let wasi = said(refused(&renamed("practice-sync:ehr/log@1.0.0", "wasi:clocksxx/wall-lg@0.2.0")).await);
    assert!(wasi.contains("wasi:clocksxx/wall-lg@0.2.0") && wasi.contains("without WASI"), "{wasi}");
    let shape = refused(&renamed("gate-closed", "gate-opened")).await;
    assert!(matches!(shape, LoadError::Shape(_)) && shape.to_string().contains("gate-"), "{shape}");
    let manifest = refused(&renamed("\"memory_mib\"", "\"memory_kib\"")).await;
    assert!(matches!(&manifest, LoadError::Manifest(why) if why.contains("memory_kib")), "{manifest}");
    assert!(matches!(
        refused(&renamed("practice-sync:manifest", "practice-sync:manifesX")).await,
        LoadError::NoManifest
    ));
    let cramped = "id = \"x\"\nname = \"X\"\nversion = \"1\"\ncontract = 1\npaths = [\"/\"]\nmemory_mib = 1\n";
    let cramped = adapter_kit::pack(&good, &adapter_kit::Manifest::parse(cramped).unwrap()).unwrap();
    let start = refused(&cramped).await;
    assert!(matches!(&start, LoadError::Start(why) if why.contains("memory")), "{start}");
    let Err(missing) = crate::support::host().load(Path::new("/nowhere/x.wasm")).await else { panic!("it was loaded") };
    assert!(matches!(missing.reason, LoadError::Io(_)), "{missing}");
}
