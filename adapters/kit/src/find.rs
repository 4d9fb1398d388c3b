//! Search for a Rust toolchain that builds `wasm32-unknown-unknown`. The order is: a toolchain with the target
//! installed; `rustup target add`; Debian's `rustc-web` with the source of its standard library, installed with apt
//! when root. `PRACTICE_SYNC_WASM_TOOLCHAIN` set to `installed`, `rustup` or `debian` allows only that one.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    command::run,
    error::KitError,
    progress::Progress,
    toolchain::{DEBIAN_RUSTC, TARGET, Toolchain},
};

pub const TOOLCHAIN_VARIABLE: &str = "PRACTICE_SYNC_WASM_TOOLCHAIN";

const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "rust-web-src", "lld-19"];

/// Returns the first toolchain that works. `dir` is the adapter's crate, because rustup picks the toolchain by folder.
pub fn toolchain(dir: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Toolchain, KitError> {
    let only = env::var(TOOLCHAIN_VARIABLE).ok().filter(|value| !value.is_empty());
    let ways: &[&str] = match only.as_deref() {
        None => &["installed", "rustup", "debian"],
        Some("installed") => &["installed"],
        Some("rustup") => &["rustup"],
        Some("debian") => &["debian"],
        Some(other) => {
            return Err(KitError::UnknownToolchain { variable: TOOLCHAIN_VARIABLE, value: other.to_string() });
        }
    };
    let mut tried = Vec::new();
    for way in ways {
        let found = match *way {
            "installed" => installed(dir).map(|()| Toolchain::Installed),
            "rustup" => rustup(dir, progress).map(|()| Toolchain::Rustup),
            _ => debian(progress).map(|linker| Toolchain::Debian { linker }),
        };
        match found {
            Ok(toolchain) => return Ok(toolchain),
            Err(reason) => tried.push(format!("{way}: {reason}")),
        }
    }
    Err(KitError::NoToolchain { tried })
}

fn installed(dir: &Path) -> Result<(), String> {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(dir).args(["--print", "target-libdir", "--target", TARGET]);
    let libraries = PathBuf::from(output(rustc)?.trim());
    let core = libraries.read_dir().ok().is_some_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("libcore-") && name.ends_with(".rlib")
        })
    });
    if core { Ok(()) } else { Err(format!("no standard library in {}", libraries.display())) }
}

fn rustup(dir: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<(), String> {
    let mut rustup = Command::new("rustup");
    rustup.current_dir(dir).args(["target", "add", TARGET]);
    run(rustup, progress).map_err(|e| summary(&e))?;
    installed(dir)
}

fn debian(progress: &mut dyn FnMut(Progress<'_>)) -> Result<PathBuf, String> {
    if let Ok(linker) = debian_ready() {
        return Ok(linker);
    }
    if !is_root() || find_in_path("apt-get").is_none() {
        return Err(format!("{} are not installed, and only root can install them", DEBIAN_PACKAGES.join(", ")));
    }
    progress(Progress::Installing(&DEBIAN_PACKAGES));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments);
        command
    };
    run(apt(&["update"]), progress).map_err(|e| summary(&e))?;
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(DEBIAN_PACKAGES);
    run(apt(&install), progress).map_err(|e| summary(&e))?;
    debian_ready()
}

/// Returns the linker if compiler, source of the standard library and linker are installed.
fn debian_ready() -> Result<PathBuf, String> {
    let mut rustc = Command::new(DEBIAN_RUSTC);
    rustc.args(["--print", "sysroot"]);
    let sysroot = output(rustc)?;
    let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std/Cargo.toml");
    if !source.exists() {
        return Err(format!("{} is missing", source.display()));
    }
    ["wasm-ld-19", "wasm-ld-20", "wasm-ld-21", "wasm-ld"]
        .iter()
        .find_map(|name| find_in_path(name))
        .ok_or_else(|| "wasm-ld-19 is missing".to_string())
}

fn find_in_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Uses `id -u`, because the standard library has no equivalent.
fn is_root() -> bool {
    let mut id = Command::new("id");
    id.arg("-u");
    output(id).is_ok_and(|uid| uid.trim() == "0")
}

fn output(mut command: Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}", reason.lines().next().unwrap_or("failed")))
}

/// Shortens an error with a tool's output to one line.
fn summary(error: &KitError) -> String {
    match error {
        KitError::Failed { command, output, .. } => {
            format!("`{command}`: {}", output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("failed"))
        }
        other => other.to_string(),
    }
}
