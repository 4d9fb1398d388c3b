//! POST /configuration/reload: the server reads its configuration again (our addition).

use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::oneshot;

use crate::{
    access::{
        arguments::{Anywhere, reads},
        call::Call,
        reloads::{AskedToReload, Reloaded},
        respond::{Answer, One},
    },
    http::errors::ApiError,
    values::kinds::boolean,
};

const RETRY_LATER: u64 = 5;

/// What became of a reload.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReloadView {
    /// Whether the configuration is in force now. It is applied whole or not at all.
    applied: bool,
    /// What tells it from the configuration in force before, a line for each change. Of credentials only that they have changed.
    changes: Vec<String>,
    /// Keys whose change needs a restart. With any of them nothing is applied.
    needs_restart: Vec<String>,
    /// What is wrong with it, each with file and line. With any problem nothing is applied but the API keys that can be read.
    problems: Vec<String>,
}

reads! {
    ConfigurationReload |input| {
        dry_run: bool =
            input.body.optional("dry_run", boolean().about("Whether it is only compared with the one in force.")).unwrap_or(false),
    }
}

pub(crate) async fn reload(
    call: Call,
    Anywhere(ConfigurationReload { dry_run }): Anywhere<ConfigurationReload>,
) -> Answer<One<ReloadView>> {
    let Some(reloads) = call.api.reloads.get() else {
        return Err(ApiError::Refused("The configuration of this server is in no file.".into()));
    };
    let (answer, reloaded) = oneshot::channel();
    let unavailable = || ApiError::Unavailable { retry_after: RETRY_LATER };
    reloads.send(AskedToReload { dry_run, answer }).await.map_err(|_| unavailable())?;
    let Reloaded { applied, changes, needs_restart, problems } = reloaded.await.map_err(|_| unavailable())?;
    if !dry_run {
        call.audit("reload configuration", "configuration", 0);
        tracing::info!(key = %call.key.name, applied, "a reload of the configuration was asked for");
    }
    Ok(call.show(ReloadView { applied, changes, needs_restart, problems }))
}
