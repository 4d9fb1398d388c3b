//! A PostgreSQL of the benchmark's own, made and started from Debian's binaries, reached over a unix socket only.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

const BINARIES: &str = "/usr/lib/postgresql/15/bin";
/// PostgreSQL does not run as root.
const USER: &str = "postgres";
/// As one sets it on a machine of its own; durability is as shipped.
const SETTINGS: &str = "\
listen_addresses = ''
max_connections = 200
shared_buffers = 512MB
max_wal_size = 4GB
checkpoint_timeout = 15min
fsync = on
synchronous_commit = on
full_page_writes = on
";

pub struct Cluster {
    dir: PathBuf,
}

/// What to do where it is not installed.
pub fn missing() -> Option<String> {
    let installed = Path::new(BINARIES).join("initdb").exists() && Path::new(BINARIES).join("postgres").exists();
    (!installed).then(|| format!("no {BINARIES}: install it with `apt-get install postgresql-15`"))
}

impl Cluster {
    /// In an empty folder of `parent`.
    pub fn start(parent: &Path) -> io::Result<Cluster> {
        let dir = parent.join("postgres");
        fs::create_dir(&dir)?;
        if is_root() {
            run(Command::new("chown").arg(USER).arg(&dir))?;
            // The user must get as far as its own folder.
            run(Command::new("chmod").arg("a+x").arg(parent))?;
        }
        let data = dir.join("data");
        let initdb = ["-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "-D"].map(OsStr::new);
        run(as_user("initdb").args(initdb).arg(&data))?;
        let sockets = format!("unix_socket_directories = '{}'\n", dir.display());
        let conf = data.join("postgresql.auto.conf");
        fs::write(&conf, format!("{SETTINGS}{sockets}"))?;
        let cluster = Cluster { dir };
        run(as_user("pg_ctl").args(["-w", "-s", "-l"]).arg(cluster.dir.join("log")).arg("-D").arg(&data).arg("start"))?;
        Ok(cluster)
    }

    pub fn sockets(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let stopped =
            run(as_user("pg_ctl").args(["-m", "immediate", "-s", "-D"]).arg(self.dir.join("data")).arg("stop"));
        if let Err(error) = stopped {
            super::report::say(format!("PostgreSQL could not be stopped: {error}"));
        }
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// One of PostgreSQL's programs, as a user that is not root.
fn as_user(program: &str) -> Command {
    let program = Path::new(BINARIES).join(program);
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", USER, "--"]).arg(program);
    command
}

fn run(command: &mut Command) -> io::Result<()> {
    // A server that inherited our output would keep it open.
    let ended = command.current_dir("/").output()?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(io::Error::other(format!("{command:?}: {}", said.trim())))
}
