//! `operators`: the tokens of operators in the key file.

use std::process::ExitCode;

use clap::Subcommand;
use framework::{
    access::{keys, operators},
    values::role::Role,
};
use serde_json::json;

use crate::{
    key_file::{
        Configured, ListArguments, RevokeArguments, access, checked, ensure_no_problems, open, revoked, save, valid,
    },
    table::TextTable,
    terminal::{fail, print_line},
    word::word,
};

#[derive(Subcommand)]
pub enum OperatorsCommand {
    /// Create an operator's token. It is shown once.
    Add {
        name: String,
        /// Permissions of the token. A viewer sees the status of the service, but no patient data. An operator also
        /// sees records, controls reading and writing, and pairs workstations. An admin also manages adapters, backups,
        /// the keys of the store and the configuration.
        #[arg(long, value_parser = word::<Role>())]
        role: Role,
        #[command(flatten)]
        of: Configured,
    },
    /// Show the operators and their roles. `GET /operators` of a running server also shows when each token was last
    /// used.
    List(ListArguments),
    /// Delete an operator's token. A running server reloads the key file and refuses the token.
    Revoke(RevokeArguments),
}

/// The name of the list in the key file.
const OPERATORS: &str = "operators";

pub fn run(command: OperatorsCommand) -> ExitCode {
    let done = match command {
        OperatorsCommand::Add { name, role, of } => add(&of, &name, role),
        OperatorsCommand::List(arguments) => list(&arguments),
        OperatorsCommand::Revoke(named) => revoked(&named, OPERATORS, "operator").map(print_line),
    };
    done.map_or_else(fail, |()| ExitCode::SUCCESS)
}

fn add(of: &Configured, name: &str, role: Role) -> Result<(), String> {
    let config = valid(&of.config)?;
    let mut file = open(&config.keys_file)?;
    let token = operators::new_token();
    let hash = hex::encode(keys::hash(&token));
    file.add(OPERATORS, &[("name", name.into()), ("sha256", hash.into()), ("role", role.name().into())]);
    checked(&file, OPERATORS, name, &config.setup)?;
    let note = save(file, "stores only its hash")?;
    print_line(format_args!("{token}"));
    print_line(format_args!("# Token of operator `{name}`, shown only once. {note}"));
    Ok(())
}

fn list(ListArguments { json: as_json, of }: &ListArguments) -> Result<(), String> {
    let (access, problems) = access(&valid(&of.config)?)?;
    let mut table = TextTable::new(&["NAME", "ROLE"], *as_json);
    for operator in &access.operators {
        let (name, role) = (&operator.name, operator.role.name());
        table.add(&json!({"name": name, "role": role}), &[name, role]);
    }
    table.show();
    ensure_no_problems(&problems)
}
