//! A new adapter builds unchanged, is not built twice, and its errors are clear.

use std::{fs, path::Path};

use adapter_kit::{KitError, Profile, Progress, Start, build, check, pack, scaffold, scaffold_javascript};

/// The SDK's dependencies are in the workspace's lock file, so the build needs no network.
fn lock_like_the_workspace(dir: &Path) {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    fs::copy(lock, dir.join("Cargo.lock")).unwrap();
    let updated = std::process::Command::new(env!("CARGO"))
        .current_dir(dir)
        .args(["metadata", "-q", "--offline"])
        .output()
        .unwrap();
    assert!(updated.status.success(), "{}", String::from_utf8_lossy(&updated.stderr));
}

#[test]
fn a_new_adapter_builds_once_and_again_after_a_change() {
    let work = tempfile::tempdir().unwrap();
    let dir = work.path().join("my ehr");
    // The compiled dependencies are kept for the next run and for the walkthrough of `adapters/README.md`, whose
    // adapter has another name. The component is not kept.
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../adapters");
    for left in ["first-ehr.wasm", "first-ehr.stamp"] {
        let _ = fs::remove_file(out.join(left));
    }
    scaffold(&dir, "first-ehr", Start::Minimal).unwrap();
    assert!(matches!(scaffold(&dir, "first-ehr", Start::Booking), Err(KitError::NotEmpty(_))));
    lock_like_the_workspace(&dir);
    assert!(fs::read_to_string(dir.join("AGENTS.md")).unwrap().contains("cargo test"));

    let mut lines = Vec::new();
    let built = build(&dir, &out, Profile::Quick, &mut |progress| lines.push(progress.to_string())).unwrap();
    assert!(built.fresh, "{lines:?}");
    assert_eq!(built.component, out.canonicalize().unwrap().join("first-ehr.wasm"));
    let report = check(&built.component).unwrap();
    assert_eq!(report.contract.as_deref(), Some("1.0.0"));
    assert_eq!(report.manifest.as_ref(), Ok(&built.manifest));
    assert_eq!((report.bytes, &report.sha256), (built.bytes, &built.sha256));
    assert!(report.exports.contains(&"practice-sync:ehr/ehr@1.0.0".to_string()), "{report:?}");
    assert!(report.imports.iter().all(|name| name.starts_with("practice-sync:ehr/")), "no WASI: {report:?}");

    let mut shown = Vec::new();
    // The same folder by another path.
    let same = out.join("..").join(out.file_name().unwrap());
    let again = build(&dir, &same, Profile::Quick, &mut |progress| shown.push(progress.to_string())).unwrap();
    assert_eq!(again.component, built.component);
    assert!(!again.fresh && shown.len() == 1, "{shown:?}");
    assert_eq!(again.sha256, built.sha256);

    let source = dir.join("src/lib.rs");
    let changed = fs::read_to_string(&source).unwrap().replace("nothing can be written yet", "read only");
    fs::write(&source, &changed).unwrap();
    let rebuilt = build(&dir, &out, Profile::Quick, &mut |_| {}).unwrap();
    assert!(rebuilt.fresh && rebuilt.sha256 != built.sha256);

    fs::write(&source, "fn broken(").unwrap();
    let mut failed_lines = 0;
    let failed = build(&dir, &out, Profile::Quick, &mut |progress| {
        failed_lines += usize::from(matches!(progress, Progress::Line(_)))
    });
    let Err(KitError::Failed { output, .. }) = &failed else { panic!("{failed:?}") };
    assert!(output.contains("src/lib.rs") && failed_lines > 0, "{output}");
    // The progress output already contained the compiler's lines.
    let brief = failed.as_ref().err().map(KitError::without_output).unwrap_or_default();
    assert!(brief.starts_with("`cargo rustc --lib") && !brief.contains("src/lib.rs"), "{brief}");
    // No file is left that could be mistaken for the result of this build.
    assert!(matches!(check(&out.join("first-ehr.wasm")), Err(KitError::Io { .. })));

    // An author's first steps: another version, a dependency. The lock file is updated.
    let cargo = dir.join("Cargo.toml");
    fs::write(&source, changed).unwrap();
    let raised = fs::read_to_string(&cargo).unwrap().replace("version = \"0.1.0\"", "version = \"0.2.0\"");
    fs::write(&cargo, raised).unwrap();
    assert!(build(&dir, &out, Profile::Quick, &mut |_| {}).unwrap().fresh);

    // The booking adapter, changed as its comment describes for an EHR without write keys. The SDK is already compiled.
    let booking = work.path().join("booking");
    scaffold(&booking, "first-ehr", Start::Booking).unwrap();
    for source in fs::read_dir(booking.join("src")).unwrap() {
        let source = source.unwrap();
        fs::copy(source.path(), dir.join("src").join(source.file_name())).unwrap();
    }
    let tables = fs::read_to_string(&source).unwrap();
    let (looks, handlers) = ("Practice::find_write).looking_first()", tables.matches("Handler::").count());
    let looking = tables.replace("Practice::find_write)", looks).replace(
        "            Practice::find_write,\n        )",
        "            Practice::find_write,\n        ).looking_first()",
    );
    assert_eq!((looking.matches(".looking_first()").count(), handlers), (4 + 2, 4), "{looking}");
    fs::write(&source, looking).unwrap();
    assert!(build(&dir, &out, Profile::Quick, &mut |_| {}).unwrap().fresh);
}

/// `tests/tests/javascript_adapter.rs` checks that npm builds the package and a server accepts it.
#[test]
fn a_new_package_has_its_own_name_and_is_self_contained() {
    let work = tempfile::tempdir().unwrap();
    let dir = work.path().join("my ehr");
    scaffold_javascript(&dir, "my-ehr").unwrap();
    assert!(matches!(scaffold_javascript(&dir, "my-ehr"), Err(KitError::NotEmpty(_))));
    assert!(matches!(scaffold_javascript(&work.path().join("y"), "Not An Id"), Err(KitError::Manifest { .. })));
    let text = |file: &str| fs::read_to_string(dir.join(file)).unwrap();
    for file in ["package.json", "package-lock.json"] {
        let package: serde_json::Value = serde_json::from_str(&text(file)).unwrap();
        assert_eq!(package["name"], "my-ehr-adapter", "{file}");
        assert!(!text(file).contains("sandbox") && !text(file).contains("../"), "{file}");
    }
    assert!(text("adapter.toml").contains("id = \"my-ehr\"\nname = \"my-ehr\"\n"));
    assert!(text("AGENTS.md").contains("npm test"));
    assert!(text("README.md").contains("dist/my-ehr.wasm") && text("local.toml").contains("base_url"));
    // All of `sandbox-js` except its README, and only imports of files in the package.
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sandbox-js");
    for folder in ["", "src", "src/lib", "test", "types"] {
        for file in fs::read_dir(package.join(folder)).unwrap() {
            let name = Path::new(folder).join(file.unwrap().file_name());
            let built = ["node_modules", "dist"].iter().any(|built| name.starts_with(built));
            assert!(built || dir.join(&name).exists(), "{} is missing in a new package", name.display());
        }
    }
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/v1");
    for file in fs::read_dir(wit).unwrap() {
        let file = file.unwrap();
        assert_eq!(fs::read(dir.join("wit").join(file.file_name())).unwrap(), fs::read(file.path()).unwrap());
    }
}

#[test]
fn build_errors_name_their_cause() {
    let work = tempfile::tempdir().unwrap();
    let missing = build(work.path(), &work.path().join("out"), Profile::Quick, &mut |_| {}).unwrap_err();
    assert!(missing.to_string().contains("adapter.toml"), "{missing}");
    let text = "id = \"x\"\nname = \"X\"\nversion = \"1\"\ncontract = 1\npaths = [\"/\"]\nshiny = true\n";
    fs::write(work.path().join("adapter.toml"), text).unwrap();
    let unknown = build(work.path(), &work.path().join("out"), Profile::Quick, &mut |_| {}).unwrap_err();
    assert!(unknown.to_string().contains("unknown field `shiny`"), "{unknown}");
    fs::write(work.path().join("adapter.toml"), text.replace("shiny = true\n", "")).unwrap();
    let no_crate = build(work.path(), &work.path().join("out"), Profile::Quick, &mut |_| {}).unwrap_err();
    assert!(no_crate.to_string().contains("Cargo.toml"), "{no_crate}");
    assert!(matches!(scaffold(&work.path().join("y"), "Not An Id", Start::Booking), Err(KitError::Manifest { .. })));
    assert!(
        pack(
            b"no component",
            &adapter_kit::Manifest::parse("id = \"x\"\nname = \"X\"\nversion = \"1\"\ncontract = 1\npaths = [\"/\"]")
                .unwrap()
        )
        .is_err()
    );
}
