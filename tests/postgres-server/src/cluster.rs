//! A PostgreSQL server with its own data directory. It ends with the process that started it, even after a crash.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::port::free_port;

const VERSIONS: &str = "/usr/lib/postgresql";
/// PostgreSQL does not run as root.
const USER: &str = "postgres";
/// Typical settings of a dedicated server.
const SETTINGS: &str = "\
max_connections = 200
shared_buffers = 256MB
max_wal_size = 4GB
checkpoint_timeout = 15min
synchronous_commit = on
full_page_writes = on
";
const STARTING: Duration = Duration::from_secs(60);
/// Runs the server until a line arrives on standard input or the input is closed. Then the server is stopped without
/// a checkpoint, like a crash. If the input was closed, the parent has ended, and the script removes the folder.
const SUPERVISOR: &str = "folder=$1; shift; \"$@\" & server=$!; read -r line; kill -QUIT $server; wait $server; \
     [ -n \"$line\" ] || [ -z \"$folder\" ] || rm -rf \"$folder\"";

/// Durability of a commit. Acknowledged commits survive a crash of the server in both cases, and a power failure only
/// with `Synced`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    Synced,
    /// Much faster, for tests without power failures.
    Written,
}

pub struct Cluster {
    /// Deleted when dropped.
    folder: Option<TempDir>,
    dir: PathBuf,
    port: u16,
    supervisor: Option<Child>,
}

/// Returns an instruction if PostgreSQL is not installed.
pub fn missing() -> Option<String> {
    let missing = || format!("no server in {VERSIONS}/*/bin: install it with `apt-get install postgresql`");
    binaries().is_none().then(missing)
}

/// Returns the folder of the newest version's binaries.
fn binaries() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.flatten();
    let numbered = versions.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())));
    let (_, newest) = numbered.filter(|(_, path)| path.join("bin/postgres").exists()).max()?;
    Some(newest.join("bin"))
}

impl Cluster {
    /// Starts a server in a temporary folder, reached by TCP on loopback.
    pub fn temporary(durability: Durability) -> io::Result<Cluster> {
        let folder = tempfile::tempdir()?;
        let mut cluster = Cluster::create(folder.path(), durability)?;
        cluster.folder = Some(folder);
        cluster.run()?;
        Ok(cluster)
    }

    /// Starts a server in a new folder of `parent`.
    pub fn start(parent: &Path, durability: Durability) -> io::Result<Cluster> {
        let mut cluster = Cluster::create(parent, durability)?;
        cluster.run()?;
        Ok(cluster)
    }

    fn create(parent: &Path, durability: Durability) -> io::Result<Cluster> {
        let dir = parent.join("postgres");
        fs::create_dir(&dir)?;
        if is_root() {
            run(Command::new("chown").arg(USER).arg(&dir))?;
            // The server's user must be able to reach its folder.
            run(Command::new("chmod").arg("a+x").arg(parent))?;
        }
        let data = dir.join("data");
        let initdb = ["-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync", "-D"].map(OsStr::new);
        run(program("initdb")?.args(initdb).arg(&data))?;
        let port = free_port()?;
        let fsync = if durability == Durability::Synced { "on" } else { "off" };
        let own = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{}'\nfsync = {fsync}\n",
            dir.display()
        );
        fs::write(data.join("postgresql.auto.conf"), format!("{SETTINGS}{own}"))?;
        Ok(Cluster { folder: None, dir, port, supervisor: None })
    }

    /// Creates a database and returns its URL.
    pub fn database(&self) -> io::Result<String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::SeqCst));
        let mut created = program("createdb")?;
        run(created.args(["-U", USER, "-p"]).arg(self.port.to_string()).arg("-h").arg(&self.dir).arg(&name))?;
        Ok(format!("postgresql://{USER}@127.0.0.1:{}/{name}", self.port))
    }

    /// Restarts the server with TLS, with a certificate and its key as PEM.
    pub fn encrypt(&mut self, certificate: &str, key: &str) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let data = self.dir.join("data");
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = data.join(name);
            fs::write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            if is_root() {
                run(Command::new("chown").arg(USER).arg(&path))?;
            }
        }
        fs::File::options().append(true).open(data.join("postgresql.auto.conf"))?.write_all(b"ssl = on\n")?;
        self.run()
    }

    /// Returns the folder of the server's socket.
    pub fn sockets(&self) -> &Path {
        &self.dir
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of the server's default database through a port on loopback.
    pub fn url(port: u16) -> String {
        format!("postgresql://{USER}@127.0.0.1:{port}/postgres")
    }

    /// Stops the server without a checkpoint. Acknowledged commits are in its log.
    pub fn stop(&mut self) -> io::Result<()> {
        let Some(mut supervisor) = self.supervisor.take() else { return Ok(()) };
        if let Some(mut input) = supervisor.stdin.take() {
            input.write_all(b"stop\n")?;
        }
        supervisor.wait().map(drop)
    }

    /// Restarts the server and waits until it answers.
    pub fn run(&mut self) -> io::Result<()> {
        self.stop()?;
        let server = program("postgres")?;
        let (name, arguments) = (server.get_program().to_owned(), server.get_args().map(OsStr::to_owned));
        let log = fs::File::options().create(true).append(true).open(self.dir.join("log"))?;
        let mut supervised = Command::new("sh");
        let folder = self.folder.as_ref().map_or(Path::new(""), TempDir::path);
        supervised
            .args(["-c", SUPERVISOR, "sh"])
            .arg(folder)
            .arg(name)
            .args(arguments)
            .arg("-D")
            .arg(self.dir.join("data"));
        supervised.current_dir("/").stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        self.supervisor = Some(supervised.spawn()?);
        let until = Instant::now() + STARTING;
        loop {
            let mut ready = program("pg_isready")?;
            let ready = run(ready
                .args(["-q", "-U", USER, "-d", "postgres", "-p"])
                .arg(self.port.to_string())
                .arg("-h")
                .arg(&self.dir));
            match ready {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > until => {
                    let log = fs::read_to_string(self.dir.join("log")).unwrap_or_default();
                    return Err(io::Error::other(format!("PostgreSQL did not start ({error}): {log}")));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The server ends with this process at the latest.
        let _ = self.stop();
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// Returns a command for one of PostgreSQL's programs, run as a user other than root.
fn program(name: &str) -> io::Result<Command> {
    let binaries = binaries().ok_or_else(|| io::Error::other(missing().unwrap_or_default()))?;
    let path = binaries.join(name);
    if !is_root() {
        return Ok(Command::new(path));
    }
    // `setpriv` executes the program in its place, so that signals reach the server.
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--init-groups", "--"]).arg(path);
    Ok(command)
}

fn run(command: &mut Command) -> io::Result<()> {
    // A server that inherited our output would keep it open.
    let ended = command.current_dir("/").output()?;
    if ended.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&ended.stderr);
    Err(io::Error::other(format!("{command:?}: {}", errors.trim())))
}
