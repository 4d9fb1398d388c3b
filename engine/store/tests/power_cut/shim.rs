//! Records the file operations of a process, preloaded with `LD_PRELOAD`. It records in order every write
//! with its bytes, every created, moved and removed name, and every sync below a folder. Syncs are recorded
//! but not executed; `image.rs` derives the possible disk states.
//!
//! `POWER_CUT_DIR` is the folder, `POWER_CUT_LOG` the file of the recording. The test compiles this file with
//! the standard library only; `recording.rs` reads the format of `Recorder::append`.

use std::{
    collections::HashSet,
    ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void},
    fs::{self, File, Metadata},
    io::{Seek, SeekFrom},
    mem::ManuallyDrop,
    os::{
        fd::FromRawFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

const OPENED: u8 = 1;
const WRITTEN: u8 = 2;
const RESIZED: u8 = 3;
const RENAMED: u8 = 4;
const UNLINKED: u8 = 5;
const FOLDER_MADE: u8 = 6;
const FOLDER_REMOVED: u8 = 7;
const SYNCED: u8 = 8;
const LINKED: u8 = 9;

const O_WRONLY: c_int = 0o1;
const O_CREAT: c_int = 0o100;
const O_TRUNC: c_int = 0o1000;
const O_APPEND: c_int = 0o2000;
const O_CLOEXEC: c_int = 0o2000000;
const AT_REMOVEDIR: c_int = 0x200;
const PROT_WRITE: c_int = 2;
const MAP_SHARED: c_int = 1;

#[repr(C)]
pub struct IoVec {
    base: *const u8,
    length: usize,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

/// Looks up the C library's function of this name.
macro_rules! real {
    ($name:ident: $signature:ty) => {{
        static REAL: OnceLock<usize> = OnceLock::new();
        let found = REAL.get_or_init(|| {
            let next = usize::MAX as *mut c_void;
            let name = concat!(stringify!($name), "\0");
            (unsafe { dlsym(next, name.as_ptr().cast()) }) as usize
        });
        assert!(*found != 0, "no {}", stringify!($name));
        unsafe { std::mem::transmute::<usize, $signature>(*found) }
    }};
}

struct Recorder {
    folder: PathBuf,
    log: c_int,
    /// The files and folders opened or created below the folder.
    inodes: HashSet<u64>,
}

/// Returns the recorder, locked for one operation and its record, so that the recording has the order of
/// execution. Returns `None` in a process that is not recorded.
fn recorder() -> Option<MutexGuard<'static, Recorder>> {
    static RECORDER: OnceLock<Option<Mutex<Recorder>>> = OnceLock::new();
    let recorder = RECORDER.get_or_init(|| {
        let folder = PathBuf::from(std::env::var_os("POWER_CUT_DIR")?);
        let mut path = std::env::var_os("POWER_CUT_LOG")?.as_bytes().to_vec();
        path.push(0);
        let open = real!(open64: extern "C" fn(*const c_char, c_int, c_uint) -> c_int);
        let log = open(path.as_ptr().cast(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600);
        assert!(log >= 0, "the recording cannot be opened");
        Some(Mutex::new(Recorder { folder, log, inodes: HashSet::new() }))
    });
    recorder.as_ref().map(|recorder| recorder.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Recorder {
    /// Returns the inode of the file, or `None` if it is not below the folder.
    fn inode(&self, fd: c_int) -> Option<u64> {
        metadata(fd).map(|file| file.ino()).filter(|inode| self.inodes.contains(inode))
    }

    fn below(&self, path: *const c_char) -> Option<PathBuf> {
        let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        path.starts_with(&self.folder).then(|| path.to_path_buf())
    }

    fn append(&self, kind: u8, inode: u64, number: u64, first: &[u8], second: &[u8]) {
        let mut line = vec![kind];
        line.extend(inode.to_le_bytes());
        line.extend(number.to_le_bytes());
        for bytes in [first, second] {
            line.extend((bytes.len() as u64).to_le_bytes());
            line.extend(bytes);
        }
        let write = real!(write: extern "C" fn(c_int, *const c_void, usize) -> isize);
        assert_eq!(
            write(self.log, line.as_ptr().cast(), line.len()),
            line.len() as isize,
            "the recording is cut short"
        );
    }

    fn append_path(&self, kind: u8, path: &Path) {
        self.append(kind, 0, 0, path.as_os_str().as_bytes(), b"");
    }
}

fn borrowed(fd: c_int) -> ManuallyDrop<File> {
    ManuallyDrop::new(unsafe { File::from_raw_fd(fd) })
}

fn metadata(fd: c_int) -> Option<Metadata> {
    if fd < 0 { None } else { borrowed(fd).metadata().ok() }
}

fn opened(path: *const c_char, flags: c_int, open: impl FnOnce() -> c_int) -> c_int {
    let Some(mut recorder) = recorder() else { return open() };
    let Some(path) = recorder.below(path) else { return open() };
    let is_new = fs::symlink_metadata(&path).is_err();
    let fd = open();
    if let Some(file) = metadata(fd) {
        recorder.inodes.insert(file.ino());
        let how = u64::from(is_new) | u64::from(flags & O_TRUNC != 0) << 1;
        recorder.append(OPENED, file.ino(), how, path.as_os_str().as_bytes(), b"");
    }
    fd
}

#[unsafe(no_mangle)]
pub extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    opened(path, flags, || real!(open: extern "C" fn(*const c_char, c_int, c_uint) -> c_int)(path, flags, mode))
}

#[unsafe(no_mangle)]
pub extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    opened(path, flags, || real!(open64: extern "C" fn(*const c_char, c_int, c_uint) -> c_int)(path, flags, mode))
}

#[unsafe(no_mangle)]
pub extern "C" fn openat(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    opened(path, flags, || {
        real!(openat: extern "C" fn(c_int, *const c_char, c_int, c_uint) -> c_int)(at, path, flags, mode)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn openat64(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    opened(path, flags, || {
        real!(openat64: extern "C" fn(c_int, *const c_char, c_int, c_uint) -> c_int)(at, path, flags, mode)
    })
}

/// Records a write at a given offset.
fn written_at(fd: c_int, at: i64, bytes: *const u8, write: impl FnOnce() -> isize) -> isize {
    let Some(recorder) = recorder() else { return write() };
    let Some(inode) = recorder.inode(fd) else { return write() };
    let count = write();
    if count > 0 {
        let bytes = unsafe { std::slice::from_raw_parts(bytes, count as usize) };
        recorder.append(WRITTEN, inode, at as u64, bytes, b"");
    }
    count
}

/// Records a write at the current position, which is read afterwards, because the file may be in append mode.
fn written(fd: c_int, bytes: impl FnOnce(usize) -> Vec<u8>, write: impl FnOnce() -> isize) -> isize {
    let Some(recorder) = recorder() else { return write() };
    let Some(inode) = recorder.inode(fd) else { return write() };
    let count = write();
    if count > 0 {
        let end = borrowed(fd).seek(SeekFrom::Current(0)).expect("a file has a position");
        recorder.append(WRITTEN, inode, end - count as u64, &bytes(count as usize), b"");
    }
    count
}

#[unsafe(no_mangle)]
pub extern "C" fn write(fd: c_int, bytes: *const c_void, length: usize) -> isize {
    let copy = |count| unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) }.to_vec();
    written(fd, copy, || real!(write: extern "C" fn(c_int, *const c_void, usize) -> isize)(fd, bytes, length))
}

#[unsafe(no_mangle)]
pub extern "C" fn writev(fd: c_int, parts: *const IoVec, count: c_int) -> isize {
    let copy = |length| gathered(parts, count, length);
    written(fd, copy, || real!(writev: extern "C" fn(c_int, *const IoVec, c_int) -> isize)(fd, parts, count))
}

fn gathered(parts: *const IoVec, count: c_int, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in unsafe { std::slice::from_raw_parts(parts, count as usize) } {
        if part.length > 0 {
            bytes.extend(unsafe { std::slice::from_raw_parts(part.base, part.length) });
        }
    }
    bytes.truncate(length);
    bytes
}

#[unsafe(no_mangle)]
pub extern "C" fn pwrite(fd: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    written_at(fd, at, bytes.cast(), || {
        real!(pwrite: extern "C" fn(c_int, *const c_void, usize, i64) -> isize)(fd, bytes, length, at)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn pwrite64(fd: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    written_at(fd, at, bytes.cast(), || {
        real!(pwrite64: extern "C" fn(c_int, *const c_void, usize, i64) -> isize)(fd, bytes, length, at)
    })
}

fn resized(fd: c_int, resize: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = recorder() else { return resize() };
    let Some(inode) = recorder.inode(fd) else { return resize() };
    let result = resize();
    if let Some(file) = metadata(fd).filter(|_| result == 0) {
        recorder.append(RESIZED, inode, file.len(), b"", b"");
    }
    result
}

#[unsafe(no_mangle)]
pub extern "C" fn ftruncate(fd: c_int, length: i64) -> c_int {
    resized(fd, || real!(ftruncate: extern "C" fn(c_int, i64) -> c_int)(fd, length))
}

#[unsafe(no_mangle)]
pub extern "C" fn ftruncate64(fd: c_int, length: i64) -> c_int {
    resized(fd, || real!(ftruncate64: extern "C" fn(c_int, i64) -> c_int)(fd, length))
}

#[unsafe(no_mangle)]
pub extern "C" fn posix_fallocate(fd: c_int, at: i64, length: i64) -> c_int {
    resized(fd, || real!(posix_fallocate: extern "C" fn(c_int, i64, i64) -> c_int)(fd, at, length))
}

#[unsafe(no_mangle)]
pub extern "C" fn posix_fallocate64(fd: c_int, at: i64, length: i64) -> c_int {
    resized(fd, || real!(posix_fallocate64: extern "C" fn(c_int, i64, i64) -> c_int)(fd, at, length))
}

/// Records a new name of a file.
fn renamed(kind: u8, from: *const c_char, to: *const c_char, go: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = recorder() else { return go() };
    let (Some(from), Some(to)) = (recorder.below(from), recorder.below(to)) else { return go() };
    let result = go();
    if result == 0 {
        recorder.append(kind, 0, 0, from.as_os_str().as_bytes(), to.as_os_str().as_bytes());
    }
    result
}

#[unsafe(no_mangle)]
pub extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    renamed(RENAMED, from, to, || real!(rename: extern "C" fn(*const c_char, *const c_char) -> c_int)(from, to))
}

#[unsafe(no_mangle)]
pub extern "C" fn linkat(at: c_int, from: *const c_char, to_at: c_int, to: *const c_char, flags: c_int) -> c_int {
    renamed(LINKED, from, to, || {
        real!(linkat: extern "C" fn(c_int, *const c_char, c_int, *const c_char, c_int) -> c_int)(
            at, from, to_at, to, flags,
        )
    })
}

/// Records the creation or removal of a name.
fn named(kind: u8, path: *const c_char, go: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = recorder() else { return go() };
    let Some(path) = recorder.below(path) else { return go() };
    let result = go();
    if result == 0 {
        recorder.append_path(kind, &path);
    }
    result
}

#[unsafe(no_mangle)]
pub extern "C" fn unlink(path: *const c_char) -> c_int {
    named(UNLINKED, path, || real!(unlink: extern "C" fn(*const c_char) -> c_int)(path))
}

/// The removal of a folder tree uses names relative to their folders.
#[unsafe(no_mangle)]
pub extern "C" fn unlinkat(at: c_int, name: *const c_char, flags: c_int) -> c_int {
    let name_only = OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes());
    let folder = fs::read_link(format!("/proc/self/fd/{at}")).unwrap_or_default();
    let Ok(path) = CString::new(folder.join(name_only).as_os_str().as_bytes()) else { return -1 };
    let kind = if flags & AT_REMOVEDIR == 0 { UNLINKED } else { FOLDER_REMOVED };
    named(kind, path.as_ptr(), || {
        real!(unlinkat: extern "C" fn(c_int, *const c_char, c_int) -> c_int)(at, name, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn rmdir(path: *const c_char) -> c_int {
    named(FOLDER_REMOVED, path, || real!(rmdir: extern "C" fn(*const c_char) -> c_int)(path))
}

#[unsafe(no_mangle)]
pub extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    named(FOLDER_MADE, path, || real!(mkdir: extern "C" fn(*const c_char, c_uint) -> c_int)(path, mode))
}

fn synced(fd: c_int, sync: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = recorder() else { return sync() };
    let Some(inode) = recorder.inode(fd) else { return sync() };
    recorder.append(SYNCED, inode, 0, b"", b"");
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn fsync(fd: c_int) -> c_int {
    synced(fd, || real!(fsync: extern "C" fn(c_int) -> c_int)(fd))
}

#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(fd: c_int) -> c_int {
    synced(fd, || real!(fdatasync: extern "C" fn(c_int) -> c_int)(fd))
}

/// Not recorded, because it guarantees nothing after a power loss.
#[unsafe(no_mangle)]
pub extern "C" fn sync_file_range(_: c_int, _: i64, _: i64, _: c_uint) -> c_int {
    0
}

/// Aborts if the process uses an unrecorded function below the folder.
fn refuse(fd: c_int, what: &str) {
    if recorder().is_some_and(|recorder| recorder.inode(fd).is_some()) {
        eprintln!("{what} is not recorded");
        std::process::abort();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pwritev(fd: c_int, parts: *const IoVec, count: c_int, at: i64) -> isize {
    refuse(fd, "pwritev");
    real!(pwritev: extern "C" fn(c_int, *const IoVec, c_int, i64) -> isize)(fd, parts, count, at)
}

#[unsafe(no_mangle)]
pub extern "C" fn pwritev64(fd: c_int, parts: *const IoVec, count: c_int, at: i64) -> isize {
    refuse(fd, "pwritev64");
    real!(pwritev64: extern "C" fn(c_int, *const IoVec, c_int, i64) -> isize)(fd, parts, count, at)
}

#[unsafe(no_mangle)]
pub extern "C" fn fallocate64(fd: c_int, mode: c_int, at: i64, length: i64) -> c_int {
    refuse(fd, "fallocate64");
    real!(fallocate64: extern "C" fn(c_int, c_int, i64, i64) -> c_int)(fd, mode, at, length)
}

#[unsafe(no_mangle)]
pub extern "C" fn copy_file_range(
    from: c_int,
    at: *mut i64,
    to: c_int,
    to_at: *mut i64,
    length: usize,
    flags: c_uint,
) -> isize {
    refuse(to, "copy_file_range");
    real!(copy_file_range: extern "C" fn(c_int, *mut i64, c_int, *mut i64, usize, c_uint) -> isize)(
        from, at, to, to_at, length, flags,
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn sendfile64(to: c_int, from: c_int, at: *mut i64, count: usize) -> isize {
    refuse(to, "sendfile64");
    real!(sendfile64: extern "C" fn(c_int, c_int, *mut i64, usize) -> isize)(to, from, at, count)
}

#[unsafe(no_mangle)]
pub extern "C" fn mmap64(
    at: *mut c_void,
    length: usize,
    access: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    if access & PROT_WRITE != 0 && flags & MAP_SHARED != 0 && fd >= 0 {
        refuse(fd, "a shared writable mapping");
    }
    real!(mmap64: extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, i64) -> *mut c_void)(
        at, length, access, flags, fd, offset,
    )
}
