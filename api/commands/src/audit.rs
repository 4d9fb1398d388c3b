//! `audit verify` and `audit export`: the audit trail of a configuration, also while its server runs.

use std::{io, path::PathBuf, process::ExitCode};

use audit::{Actor, AuditError, Filter, Verified};
use chrono::{DateTime, NaiveDate, Utc};
use clap::{Args, Subcommand};

use crate::{
    audit_trail,
    key_file::valid,
    store::spinner,
    terminal::{fail, print_line},
};

#[derive(Subcommand)]
pub enum AuditCommand {
    /// Verify the whole trail. Reports changed, removed or truncated entries with exit code 2.
    Verify(Trail),
    /// Print entries as JSON lines. Verifies the whole trail; discard the output after an error.
    Export(Export),
}

#[derive(Args)]
pub struct Trail {
    /// The configuration file of the server.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    trail: Trail,
    /// From this day or time (UTC), inclusive: 2026-12-01 or 2026-12-01T14:30:00Z.
    #[arg(long, value_parser = moment)]
    from: Option<i64>,
    /// Until this day or time (UTC), exclusive.
    #[arg(long, value_parser = moment)]
    to: Option<i64>,
    /// Only entries of the API key with this name.
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// Only entries of the operator with this name.
    #[arg(long, value_name = "NAME", conflicts_with = "key")]
    operator: Option<String>,
    /// Only entries of the workstation with this id.
    #[arg(long, value_name = "ID", conflicts_with_all = ["key", "operator"])]
    workstation: Option<String>,
    /// Only entries about this kind of record, such as `patient`.
    #[arg(long)]
    record: Option<String>,
    /// Only entries about the record with this id.
    #[arg(long)]
    id: Option<u64>,
    /// Only entries of the request with this `X-Request-Id`.
    #[arg(long, value_name = "ID")]
    request: Option<String>,
}

fn moment(text: &str) -> Result<i64, String> {
    let day = || Some(text.parse::<NaiveDate>().ok()?.and_hms_opt(0, 0, 0)?.and_utc());
    let time = || DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc));
    let read = day().or_else(time).ok_or("must be a day or a time in UTC, such as 2026-12-01 or 2026-12-01T14:30:00Z");
    Ok(read?.timestamp_millis())
}

pub fn run(command: AuditCommand) -> ExitCode {
    match command {
        AuditCommand::Verify(trail) => verify(&trail),
        AuditCommand::Export(arguments) => export(arguments),
    }
    .map_or_else(fail, |()| ExitCode::SUCCESS)
}

fn verify(trail: &Trail) -> Result<(), String> {
    let (folder, key) = trail.place()?;
    let spinner = spinner("verifying");
    let verified = audit::verify(&folder, &key);
    spinner.finish_and_clear();
    let Verified { entries, files, first, last, mac, .. } = verified.map_err(|damage| damage.to_string())?;
    print_line(format_args!(
        "{} is whole: {entries} entries, {first} to {last}, in {files} files.\nKeep this entry number and code elsewhere, to \
         prove later that the trail was not rolled back: {last} {mac}",
        folder.display()
    ));
    Ok(())
}

fn export(arguments: Export) -> Result<(), String> {
    let (folder, key) = arguments.trail.place()?;
    let Export { from, to, key: named, operator, workstation, record, id, request, .. } = arguments;
    let actor = named.map(Actor::Key).or(operator.map(Actor::Operator)).or(workstation.map(Actor::Workstation));
    let filter = Filter { from, to, actor, record, id, request, ..Filter::default() };
    let mut out = io::BufWriter::new(io::stdout().lock());
    match audit::export(&folder, &key, filter, &mut out) {
        // A closed stdout is not an error.
        Err(AuditError::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        exported => exported.map(|_| ()).map_err(|error| error.to_string()),
    }
}

impl Trail {
    /// Returns the folder and key of the trail. Never creates them: a missing trail indicates the wrong configuration.
    fn place(&self) -> Result<(PathBuf, [u8; 32]), String> {
        let config = valid(&self.config)?;
        let folder = config.audit.folder;
        if !folder.is_dir() {
            return Err(format!("{}: there is no audit trail yet", folder.display()));
        }
        Ok((folder, audit_trail::known_key(&config.data_dir)?))
    }
}
