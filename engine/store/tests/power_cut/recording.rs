//! The operations of a process on a folder, as recorded by `shim.rs`.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
};

/// A recorded operation. Files are identified by their inode.
pub enum Operation {
    Opened { path: PathBuf, inode: u64, is_new: bool, emptied: bool },
    Written { inode: u64, at: usize, bytes: Vec<u8> },
    Resized { inode: u64, length: usize },
    Renamed { from: PathBuf, to: PathBuf },
    Linked { from: PathBuf, to: PathBuf },
    Unlinked { path: PathBuf },
    FolderMade { path: PathBuf },
    FolderRemoved { path: PathBuf },
    Synced { inode: u64 },
}

/// Compiles the library to preload into `folder`.
pub fn compile_shim(folder: &Path) -> PathBuf {
    let library = folder.join("libshim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/power_cut/shim.rs");
    let compiled = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "-O", "-C", "panic=abort", "--crate-type", "cdylib", "-o"])
        .arg(&library)
        .arg(source)
        .output()
        .expect("rustc can be started");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}

/// Reads the operations, each with the length of the recording after it.
pub fn read(log: &Path) -> Vec<(u64, Operation)> {
    let bytes = fs::read(log).expect("there is a recording");
    let mut rest = &bytes[..];
    let mut operations = Vec::new();
    while !rest.is_empty() {
        let operation = operation(&mut rest);
        operations.push(((bytes.len() - rest.len()) as u64, operation));
    }
    operations
}

fn operation(rest: &mut &[u8]) -> Operation {
    let kind = take(rest, 1)[0];
    let (inode, number) = (number(rest), number(rest));
    let (first, second) = (bytes(rest), bytes(rest));
    let path = PathBuf::from(OsStr::from_bytes(first));
    match kind {
        1 => Operation::Opened { path, inode, is_new: number & 1 != 0, emptied: number & 2 != 0 },
        2 => Operation::Written { inode, at: number as usize, bytes: first.to_vec() },
        3 => Operation::Resized { inode, length: number as usize },
        4 => Operation::Renamed { from: path, to: PathBuf::from(OsStr::from_bytes(second)) },
        9 => Operation::Linked { from: path, to: PathBuf::from(OsStr::from_bytes(second)) },
        5 => Operation::Unlinked { path },
        6 => Operation::FolderMade { path },
        7 => Operation::FolderRemoved { path },
        8 => Operation::Synced { inode },
        other => panic!("the recording has an operation {other}"),
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, left) = rest.split_at_checked(length).expect("the recording is whole");
    *rest = left;
    taken
}

fn number(rest: &mut &[u8]) -> u64 {
    u64::from_le_bytes(take(rest, 8).try_into().expect("eight bytes"))
}

fn bytes<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let length = number(rest);
    take(rest, length as usize)
}
