//! Output of the benchmark: the machine, and one line per figure with its setting and aim.

use std::{
    fmt::Display,
    io::{self, Write},
    path::Path,
    process::Command,
    time::Duration,
};

use chrono::DateTime;
use runtime::clock;
use store::EngineKind;

use super::practices;
use crate::harness::components::root;

/// The aim of a figure.
pub enum Aim {
    Below(Duration),
    BelowMegabytes(f64),
    AtLeast(f64),
    AtMost(f64),
    /// For comparison only.
    None,
}

/// Returns an aim that depends on the storage engine.
pub fn at_least(sled: f64, fjall: f64) -> Aim {
    Aim::AtLeast(by_engine(sled, fjall))
}

pub fn at_most(sled: f64, fjall: f64) -> Aim {
    Aim::AtMost(by_engine(sled, fjall))
}

fn by_engine(sled: f64, fjall: f64) -> f64 {
    match practices::engine() {
        EngineKind::Sled => sled,
        EngineKind::Fjall => fjall,
    }
}

pub struct BenchReport {
    missed: usize,
    /// Lines of the Markdown table, if it was requested: the heading, then one row per figure.
    table: Option<Vec<String>>,
    section: String,
}

impl BenchReport {
    pub fn start(dir: &Path, with_table: bool) -> BenchReport {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let profile = if cfg!(debug_assertions) { "debug (figures mean little)" } else { "release" };
        let machine = format!("{cores} cores, {}, {}", processor(), memory());
        let (today, commit, engine) = (today(), commit(), practices::engine());
        print_line(format!("machine: {machine}; load {} before the run", busy()));
        print_line(format!(
            "build: {profile}, {commit}, on {today}; data in {} ({}), on {engine}",
            dir.display(),
            filesystem(dir)
        ));
        let heading = || {
            let setting =
                format!("Measured on {today} at commit {commit} ({profile} build) on {engine}; machine: {machine}.");
            vec![
                setting,
                String::new(),
                "| section | figure | value | aim | |".to_owned(),
                "|---|---|---|---|---|".to_owned(),
            ]
        };
        BenchReport { missed: 0, table: with_table.then(heading), section: String::new() }
    }

    pub fn section(&mut self, name: &str, setting: impl Display) {
        print_line(format!("\n{name}\n  setting: {setting}"));
        name.clone_into(&mut self.section);
    }

    pub fn time(&mut self, what: &str, figure: Duration, aim: Aim) {
        let met = match aim {
            Aim::Below(limit) => Some(figure < limit),
            _ => None,
        };
        self.line(what, &short(figure), &aim, met);
    }

    pub fn megabytes(&mut self, what: &str, figure: f64, aim: Aim) {
        let met = match aim {
            Aim::BelowMegabytes(limit) => Some(figure < limit),
            _ => None,
        };
        self.line(what, &format!("{figure:.0} MB"), &aim, met);
    }

    pub fn number(&mut self, what: &str, figure: f64, unit: &str, aim: Aim) {
        let met = match aim {
            Aim::AtLeast(limit) => Some(figure >= limit),
            Aim::AtMost(limit) => Some(figure <= limit),
            _ => None,
        };
        let figure = if figure >= 100.0 { format!("{figure:.0}{unit}") } else { format!("{figure:.2}{unit}") };
        self.line(what, &figure, &aim, met);
    }

    pub fn note(&self, text: impl Display) {
        print_line(format!("  {text}"));
    }

    fn line(&mut self, what: &str, figure: &str, aim: &Aim, met: Option<bool>) {
        let aim = match aim {
            Aim::Below(limit) => format!("aim < {}", short(*limit)),
            Aim::BelowMegabytes(limit) => format!("aim < {limit:.0} MB"),
            Aim::AtLeast(limit) => format!("aim >= {limit}"),
            Aim::AtMost(limit) => format!("aim <= {limit}"),
            Aim::None => String::new(),
        };
        let verdict = match met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        self.missed += usize::from(met == Some(false));
        if let Some(table) = &mut self.table {
            let aim = aim.trim_start_matches("aim ");
            table.push(format!("| {} | {} | {figure} | {aim} | {verdict} |", self.section, what.trim()));
        }
        print_line(format!("  {what:<58} {figure:>12}  {aim:<16} {verdict}").trim_end());
    }

    pub fn end(self) {
        match self.missed {
            0 => print_line("\nno aim was missed"),
            1 => print_line("\n1 aim was missed"),
            n => print_line(format!("\n{n} aims were missed")),
        }
        if let Some(table) = self.table {
            print_line(format!("\n{}", table.join("\n")));
        }
    }
}

/// Prints to stdout. A closed reader is not an error.
pub fn print_line(text: impl Display) {
    let _ = writeln!(io::stdout(), "{text}");
}

pub fn short(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..1_000.0 => format!("{micros:.1} us"),
        ..1_000_000.0 => format!("{:.2} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// Returns the median.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn today() -> String {
    DateTime::from_timestamp_millis(clock::now().0).map_or_else(String::new, |now| now.date_naive().to_string())
}

/// Returns the commit of the checkout, marked if files differ from it.
fn commit() -> String {
    let git = |arguments: &[&str]| Command::new("git").args(arguments).current_dir(root()).output().ok();
    let described = git(&["describe", "--always", "--dirty", "--exclude=*"]).filter(|output| output.status.success());
    described
        .map_or_else(|| "unknown commit".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

fn memory() -> String {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib =
        info.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or_else(|| "memory unknown".to_owned(), |kib| format!("{} GB of memory", kib / 1_000_000))
}

/// Returns the load average of the last minute. Other busy processes distort the figures.
fn busy() -> String {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    loads.split(' ').next().unwrap_or_default().to_owned()
}

/// Returns the file system of a folder. On tmpfs, figures of durable writes are meaningless.
fn filesystem(dir: &Path) -> String {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let around = fields.filter(|fields| fields.len() > 2 && dir.starts_with(fields[1]));
    around.max_by_key(|fields| fields[1].len()).map_or_else(|| "unknown".to_owned(), |fields| fields[2].to_owned())
}
