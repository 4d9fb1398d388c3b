//! The shell that runs the steps in sequence, and additional terminals for background commands.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use crate::adapter_author::{
    answers,
    steps::{DocumentStep, ExpectedOutput, StepKind},
};

/// A step may compile all dependencies of an adapter.
const PATIENCE: Duration = Duration::from_secs(600);
/// End marker of a step's output, followed by the shell's working directory.
const MARK: &str = "=== the step has ended in ";

pub struct Shell {
    process: Child,
    input: ChildStdin,
    printed: Receiver<String>,
    /// The shell's working directory.
    folder: PathBuf,
    /// Folder of internal files: steps as scripts, output of terminals.
    desk: PathBuf,
    path: String,
    terminals: Vec<Child>,
    /// Ports in the text, each with its free replacement.
    ports: [(&'static str, String); 3],
    /// All output so far, latest last.
    heard: Vec<String>,
}

impl Shell {
    /// Starts a shell in `dir/home`, with `program` on the path as `practice-sync`.
    pub fn start(dir: &Path, program: &Path) -> io::Result<Shell> {
        let [folder, desk, bin] = ["home", "desk", "bin"].map(|name| dir.join(name));
        for folder in [&folder, &desk, &bin] {
            fs::create_dir(folder)?;
        }
        std::os::unix::fs::symlink(program, bin.join("practice-sync"))?;
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        let mut process = shell(&folder, &path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(mut input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("the shell has no pipes"));
        };
        let (send, printed) = channel();
        thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        writeln!(input, "set -e; exec 2>&1")?;
        // All listeners are held until all ports are known, so that the ports are distinct.
        let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let free = [free()?, free()?, free()?];
        let [server, operators, ehr] =
            free.map(|listener| listener.local_addr().map(|address| address.port().to_string()));
        let ports = [("8080", server?), ("8081", operators?), ("8090", ehr?)];
        Ok(Shell { process, input, printed, folder, desk, path, terminals: Vec::new(), ports, heard: Vec::new() })
    }

    pub fn follow(&mut self, step: &DocumentStep) -> Result<(), String> {
        match &step.what {
            StepKind::Run { text, sees } => self.run(&answers::filled(&self.placed(text), &self.heard)?, sees)?,
            StepKind::Background { text, sees } => self.background(&self.placed(text), sees)?,
            StepKind::Edit { file, from, to } => edit(&self.folder.join(file), from, to)?,
        }
        self.place_files().map_err(|error| error.to_string())
    }

    fn run(&mut self, text: &str, sees: &[ExpectedOutput]) -> Result<(), String> {
        // Sourced from a file, so that an unclosed quote fails this step and not the next one.
        let file = self.desk.join("step.sh");
        let written = fs::write(&file, format!("{text}\n"));
        // Both lines form one write, because a shell that exits in the first line no longer reads the second.
        let lines = format!("{{ . '{}'; }} </dev/null\nprintf '\\n{MARK}%s\\n' \"$PWD\"\n", file.display());
        let asked = written.and_then(|()| self.input.write_all(lines.as_bytes()));
        asked.map_err(|error| format!("the shell is gone before `{text}`: {error}"))?;
        let (since, mut printed) = (Instant::now(), String::new());
        loop {
            let left = PATIENCE.saturating_sub(since.elapsed());
            let Ok(line) = self.printed.recv_timeout(left) else {
                let how = if left.is_zero() { "did not end" } else { "failed" };
                return Err(format!("`{text}` {how}, and printed:\n{printed}"));
            };
            if let Some(folder) = line.strip_prefix(MARK) {
                self.folder = PathBuf::from(folder);
                break;
            }
            printed.push_str(&line);
            printed.push('\n');
        }
        let shown = self.verify_output(text, &printed, sees);
        self.heard.push(printed);
        shown
    }

    /// Runs a command in its own terminal and waits for the expected output. The command runs until the shell is
    /// dropped.
    fn background(&mut self, text: &str, sees: &[ExpectedOutput]) -> Result<(), String> {
        let file = self.desk.join(format!("terminal-{}.log", self.terminals.len()));
        let started = File::create(&file).and_then(|log| {
            // `exec` replaces the shell, so that the process can be killed directly.
            let mut terminal = shell(&self.folder, &self.path);
            terminal.arg("-c").arg(format!("exec 2>&1; exec {text}")).stdin(Stdio::null()).stdout(log).spawn()
        });
        let mut terminal = started.map_err(|error| format!("`{text}`: {error}"))?;
        let since = Instant::now();
        loop {
            let ended = terminal.try_wait().map_err(|error| error.to_string())?;
            let printed = fs::read_to_string(&file).map_err(|error| error.to_string())?;
            let shown = self.verify_output(text, &printed, sees);
            if let Some(status) = ended {
                return Err(format!("`{text}` ended ({status}), and printed:\n{printed}"));
            }
            if shown.is_ok() || since.elapsed() > PATIENCE {
                self.terminals.push(terminal);
                self.heard.push(printed);
                return shown;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn verify_output(&self, text: &str, printed: &str, sees: &[ExpectedOutput]) -> Result<(), String> {
        let missing = sees.iter().find_map(|seen| match seen {
            ExpectedOutput::Line(line) => Some(line).filter(|line| !shows(printed, &self.placed(line))),
            ExpectedOutput::Json(json) => {
                Some(json).filter(|json| !shows(&answers::form(printed), &answers::form(&self.placed(json))))
            }
        });
        missing.map_or(Ok(()), |line| Err(format!("`{line}` is not in its output:\n{printed}\nThe step: {text}")))
    }

    /// Replaces the ports of the text by the free ones.
    fn placed(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
    }

    /// Replaces the ports in the files of a new crate and in the file that `config init` writes.
    fn place_files(&self) -> io::Result<()> {
        for file in ["local.toml", "subject.toml", "practice-sync.toml"].map(|name| self.folder.join(name)) {
            if file.is_file() {
                let text = fs::read_to_string(&file)?;
                fs::write(&file, self.placed(&text))?;
            }
        }
        Ok(())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        for terminal in &mut self.terminals {
            let _ = terminal.kill();
            let _ = terminal.wait();
        }
        // Kills the process group, which includes commands in progress.
        let group = format!("kill -9 -{}", self.process.id());
        let _ = Command::new("sh").args(["-c", &group]).stderr(Stdio::null()).status();
        let _ = self.process.wait();
    }
}

fn shell(folder: &Path, path: &str) -> Command {
    let mut shell = Command::new("sh");
    shell
        .current_dir(folder)
        .env("PATH", path)
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("RUST_LOG")
        .process_group(0);
    shell
}

/// Returns whether a line of the output matches; `...` matches anything.
fn shows(printed: &str, line: &str) -> bool {
    printed.lines().any(|printed| {
        let mut rest = printed;
        line.split("...").map(str::trim).all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    })
}

fn edit(file: &Path, from: &str, to: &str) -> Result<(), String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    // Matches whole lines only.
    let places: Vec<usize> = format!("\n{text}").match_indices(&format!("\n{from}")).map(|(at, _)| at).collect();
    let [at] = places[..] else {
        return Err(format!("{name} has {} times what is to be changed:\n{from}", places.len()));
    };
    let changed = [&text[..at], to, &text[at + from.len()..]].concat();
    fs::write(file, changed).map_err(|error| format!("{name}: {error}"))
}
