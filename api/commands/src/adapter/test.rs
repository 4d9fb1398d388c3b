//! `adapter test`: runs the conformance suite on an adapter and the EHR of a subject file.

use std::{path::PathBuf, process::ExitCode};

use adapter_conformance::{ConformanceReport, FromFile, NAMES, SubjectFile};
use clap::Args;

use super::component::{cache, quick};
use crate::{
    logging,
    terminal::{fail, print_line},
};

#[derive(Args)]
pub struct AdapterTestArguments {
    /// A component, or the folder of an adapter, which is built first with the quick profile.
    #[arg(default_value = ".")]
    adapter: PathBuf,
    /// The subject file, which describes the EHR. Default: subject.toml in the adapter's folder, or in the current
    /// folder.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The URL of the EHR, instead of `base_url` in the file. The suite writes to it, so never use an EHR with real
    /// patients.
    #[arg(long, value_name = "URL")]
    against: Option<String>,
    /// Run only this case. Can be given several times.
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// List the names of all cases.
    #[arg(long)]
    list: bool,
}

const FILE: &str = "subject.toml";

/// Runs the command. The exit code is 1 if a case failed.
pub(super) fn run(arguments: &AdapterTestArguments) -> ExitCode {
    if arguments.list {
        NAMES.iter().for_each(print_line);
        return ExitCode::SUCCESS;
    }
    // The adapter's logs concern single calls, which `adapter run` shows.
    if let Err(problem) = logging::start("error") {
        return fail(problem);
    }
    match actix_web::rt::System::new().block_on(judge(arguments)) {
        Ok(report) => {
            print_line(report.sum());
            if report.failed().next().is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(problem) => fail(problem),
    }
}

async fn judge(arguments: &AdapterTestArguments) -> Result<ConformanceReport, String> {
    let beside = arguments.adapter.join(FILE);
    let file = match &arguments.config {
        Some(file) => file.clone(),
        None if beside.is_file() => beside,
        None => FILE.into(),
    };
    let mut subject = SubjectFile::read(&file)?;
    if let Some(url) = &arguments.against {
        subject.local.base_url.clone_from(url);
    }
    let adapter = adapter_conformance::load(&quick(&arguments.adapter)?, &cache()).await?;
    let ehr = FromFile::new(subject, &adapter).await?;
    adapter_conformance::run(&adapter, ehr, &arguments.only, &mut |case| print_line(case)).await
}
