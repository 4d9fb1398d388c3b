//! From an adapter's crate to its component.

use std::{
    collections::VecDeque,
    fmt,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    KitError, MANIFEST_FILE, Manifest,
    component::{encode, pack},
    files, stamp,
    toolchain::{self, TARGET, Toolchain},
};

/// Settings of the release build, whatever the crate's own profile says. Speed over size: a component is compiled once and cached.
const PROFILE: [&str; 6] = [
    "profile.release.opt-level=3",
    "profile.release.lto=\"thin\"",
    "profile.release.codegen-units=1",
    "profile.release.panic=\"abort\"",
    "profile.release.debug=false",
    "profile.release.strip=\"debuginfo\"",
];

/// Lines of a tool's output that an error quotes.
const QUOTED_LINES: usize = 40;

/// What a build is doing, to show while it takes its time.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// Nothing changed since the last build.
    UpToDate(&'a Path),
    /// Packages are being installed with apt.
    Installing(&'a [&'a str]),
    /// This toolchain is used.
    Toolchain(&'a Toolchain),
    /// A tool was started.
    Running(&'a str),
    /// A line a tool wrote.
    Line(&'a str),
    /// The component was written.
    Wrote(&'a Path),
}

impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::UpToDate(path) => write!(f, "{} is up to date", path.display()),
            Progress::Installing(packages) => write!(f, "installing Debian packages: {}", packages.join(", ")),
            Progress::Toolchain(toolchain) => write!(f, "using {toolchain}"),
            Progress::Running(command) => write!(f, "running {command}"),
            Progress::Line(line) => f.write_str(line),
            Progress::Wrote(path) => write!(f, "wrote {}", path.display()),
        }
    }
}

/// A component on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    pub component: PathBuf,
    pub manifest: Manifest,
    pub bytes: u64,
    pub sha256: String,
    /// False when nothing had changed.
    pub fresh: bool,
}

/// Makes `out_dir/<id>.wasm` of the adapter crate in `dir`. Skips the work when neither it nor any of its sources changed.
/// cargo's own files go to `out_dir/build`, shared by all adapters built into `out_dir`.
pub fn build(dir: &Path, out_dir: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Built, KitError> {
    // Without `..` and links: cargo names its crates by such paths.
    let dir = dir.canonicalize().map_err(KitError::at(dir))?;
    let out_dir = std::path::absolute(out_dir).map_err(KitError::at(out_dir))?;
    let manifest = manifest_of(&dir)?;
    files::create_dir(&out_dir)?;
    let component = out_dir.join(format!("{}.wasm", manifest.id));
    let stamp = out_dir.join(format!("{}.stamp", manifest.id));
    if stamp::holds(&stamp, &component) {
        progress(Progress::UpToDate(&component));
        return built(component, manifest, false);
    }
    let toolchain = toolchain::find(&dir, progress)?;
    progress(Progress::Toolchain(&toolchain));
    let root = workspace_manifest(&dir)?;
    // A build that fails leaves nothing that could be taken for its outcome.
    files::remove(&stamp)?;
    files::remove(&component)?;
    let module = compile(&dir, &out_dir.join("build"), &toolchain, progress)?;
    let not_an_adapter = |reason| KitError::NotAnAdapter { path: module.clone(), reason };
    let encoded = encode(&files::read(&module)?).map_err(not_an_adapter)?;
    files::write_atomic(&component, &pack(&encoded, &manifest).map_err(not_an_adapter)?)?;

    let mut inputs = stamp::sources(&module.with_extension("d"))?;
    inputs.extend([dir.join(MANIFEST_FILE), dir.join("Cargo.toml"), root.with_extension("lock"), root]);
    stamp::write(&stamp, &component, &inputs)?;
    progress(Progress::Wrote(&component));
    built(component, manifest, true)
}

/// Of the adapter crate in `dir`.
fn manifest_of(dir: &Path) -> Result<Manifest, KitError> {
    let path = dir.join(MANIFEST_FILE);
    Manifest::parse(&files::read_text(&path)?).map_err(|reason| KitError::Manifest { path, reason })
}

fn built(component: PathBuf, manifest: Manifest, fresh: bool) -> Result<Built, KitError> {
    let bytes = files::read(&component)?;
    Ok(Built { component, manifest, bytes: bytes.len() as u64, sha256: files::sha256(&bytes), fresh })
}

/// The `Cargo.toml` whose neighbour is the lock file.
fn workspace_manifest(dir: &Path) -> Result<PathBuf, KitError> {
    let mut locate = toolchain::cargo();
    locate.current_dir(dir).args(["locate-project", "--workspace", "--message-format", "plain"]);
    let found = locate.output().map_err(|source| KitError::Start { command: "cargo".into(), source })?;
    if !found.status.success() {
        let reason = String::from_utf8_lossy(&found.stderr).trim().to_string();
        return Err(KitError::NoCrate { dir: dir.to_path_buf(), reason });
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&found.stdout).trim()))
}

/// The core module. Where there is a lock file, cargo uses its versions and adds what is missing there.
fn compile(
    dir: &Path,
    target_dir: &Path,
    toolchain: &Toolchain,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<PathBuf, KitError> {
    let manifest = dir.join("Cargo.toml");
    let mut cargo = toolchain.cargo();
    cargo.current_dir(dir).args(["build", "--lib", "--release", "--target", TARGET, "--message-format"]);
    cargo.arg("json-render-diagnostics").arg("--manifest-path").arg(&manifest).arg("--target-dir").arg(target_dir);
    for setting in PROFILE {
        cargo.args(["--config", setting]);
    }
    cargo.args(toolchain.arguments());
    let messages = run(cargo, progress)?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| {
            message["reason"] == "compiler-artifact" && message["manifest_path"].as_str() == manifest.to_str()
        })
        .find_map(|message| {
            let files = message["filenames"].as_array()?;
            files.iter().filter_map(|file| file.as_str()).find(|file| file.ends_with(".wasm")).map(PathBuf::from)
        })
        .ok_or_else(|| KitError::NoLibrary { command: "cargo build --lib".into() })
}

/// Runs a tool: what it writes to stderr goes to `progress` line by line, what it writes to stdout is returned.
pub fn run(mut command: Command, progress: &mut dyn FnMut(Progress<'_>)) -> Result<String, KitError> {
    let shown = shown(&command);
    progress(Progress::Running(&shown));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| KitError::Start { command: shown.clone(), source })?;
    let failed = |source| KitError::Start { command: shown.clone(), source };
    let mut stdout = child.stdout.take().expect("piped above");
    let stderr = child.stderr.take().expect("piped above");
    // stdout has its own reader: a tool that fills one pipe must not wait for us to finish the other.
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        stdout.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let mut last = VecDeque::new();
    for line in BufReader::new(stderr).split(b'\n') {
        let line = line.map_err(failed)?;
        let line = String::from_utf8_lossy(&line).trim_end().to_string();
        progress(Progress::Line(&line));
        if last.len() == QUOTED_LINES {
            last.pop_front();
        }
        last.push_back(line);
    }
    let status = child.wait().map_err(failed)?;
    let stdout =
        reader.join().map_err(|_| failed(std::io::Error::other("its output could not be read")))?.map_err(failed)?;
    if status.success() {
        return Ok(stdout);
    }
    Err(KitError::Failed { command: shown, status, output: Vec::from(last).join("\n") })
}

/// The tool and its first words, enough to recognise it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let words = command.get_args().take(3).map(|word| word.to_string_lossy().into_owned());
    std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
}
