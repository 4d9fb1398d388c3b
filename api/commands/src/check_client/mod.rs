//! `check-client`: replays recorded calls of another system's client against the demo, and reports refused calls and
//! ignored parameters per endpoint.

mod recording;
mod replay;
mod report;

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Args;

use self::{
    recording::RecordedCall,
    replay::{Player, Target},
    report::ClientReport,
};
use crate::terminal::{fail, print_line};

#[derive(Args)]
pub struct Arguments {
    /// The recording: a HAR file, or JSON lines such as
    /// `{"method": "GET", "path": "/patients?subdomain=acme", "headers": {}, "body": {}}`. Record tests, not real
    /// patients, because the report quotes refused values.
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// The data directory of a running demo.
    #[arg(long, value_name = "DIR", default_value = "demo-data")]
    demo: PathBuf,
    /// The URL of a sandbox to use instead of the demo.
    #[arg(long, value_name = "URL", requires_all = ["subdomain", "location"])]
    url: Option<String>,
    /// The environment variable that contains an API key of the sandbox. Other users of the machine can see command
    /// arguments.
    #[arg(long, value_name = "NAME", default_value = "PRACTICE_SYNC_KEY")]
    key_env: String,
    /// The institution that replaces the recorded ones.
    #[arg(long, requires = "url")]
    subdomain: Option<String>,
    /// A location that replaces a recorded one. Can be given several times.
    #[arg(long, requires = "url", value_name = "ID")]
    location: Vec<u32>,
    /// The prefix of API paths in the recording, such as `/api/v3`. Other calls are skipped.
    #[arg(long, value_name = "PATH", default_value = "")]
    below: String,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command. The exit code is 1 if a call is refused here and was not recorded as refused by the other system.
pub fn run(arguments: &Arguments) -> ExitCode {
    match actix_web::rt::System::new().block_on(check(arguments)) {
        Ok(report) => {
            match arguments.json {
                true => print_line(serde_json::json!(report)),
                false => print_line(report.text()),
            }
            if report.refused() > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(problem) => fail(problem),
    }
}

async fn check(arguments: &Arguments) -> Result<ClientReport, String> {
    let file = &arguments.recording;
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let calls: Vec<RecordedCall> =
        recording::read(&text, &arguments.below).map_err(|wrong| format!("{}: {wrong}", file.display()))?;
    let mut player = Player::sign_in(target(arguments)?).await?;
    let mut report = ClientReport::default();
    for call in &calls {
        match player.send(call).await {
            Ok(answers) => report.add(call, &answers),
            Err(why) => report.not_sent(call, why),
        }
    }
    Ok(report)
}

fn target(arguments: &Arguments) -> Result<Target, String> {
    if let Some(url) = &arguments.url {
        return Ok(Target {
            base_url: url.trim_end_matches('/').to_owned(),
            api_key: std::env::var(&arguments.key_env).map_err(|_| {
                format!("set the environment variable {} to the API key of the sandbox", arguments.key_env)
            })?,
            subdomain: arguments.subdomain.clone().unwrap_or_default(),
            location_ids: arguments.location.clone(),
        });
    }
    let file = arguments.demo.join("demo.json");
    let missing = |error: &dyn std::fmt::Display| {
        format!(
            "{}: {error}; start a demo with `practice-sync demo --data DIR` first, or name a sandbox with --url",
            file.display()
        )
    };
    let text = fs::read_to_string(&file).map_err(|error| missing(&error))?;
    serde_json::from_str(&text).map_err(|error| missing(&error))
}
