//! `serve`

use std::{path::Path, process::ExitCode, sync::Arc};

use commands::{config::wrong, logging, terminal::fail, tracing_export::Traces};
use configuration::Config;

use crate::{reload::Reload, service};

pub(super) fn run(file: &Path, accept_empty_store: bool) -> ExitCode {
    let mut config = match Config::load(file) {
        Ok(config) => config,
        Err(error) => return wrong(&error),
    };
    config.setup.engine.accept_empty_store = accept_empty_store;
    let node = config.setup.engine.node.as_ref().map(|node| node.name.as_str());
    let traces = match config.traces.as_ref().map(|rules| Traces::start(rules, node)).transpose() {
        Ok(traces) => traces,
        Err(problem) => return fail(problem),
    };
    if let Err(problem) = logging::start_as(&config.log, config.log_format, traces.as_ref()) {
        return fail(problem);
    }
    let served = actix_web::rt::System::new().block_on(serve(config, file));
    let code = served.map_or_else(
        |problem| {
            fail(problem);
            2
        },
        |()| 0,
    );
    traces.iter().for_each(Traces::end);
    // A blocked name lookup must not keep the stopped process alive.
    std::process::exit(code)
}

async fn serve(config: Config, file: &Path) -> Result<(), String> {
    #[cfg(feature = "demo")]
    let simulated = Arc::new(sandbox_host::Sandboxes::default());
    #[cfg(not(feature = "demo"))]
    let simulated = Arc::new(engine::simulated::NoSimulatedEhrs);
    let reload = Reload::new(file, &config, simulated.clone());
    let running = service::start(config, &*simulated).await?;
    running.reload_from(reload);
    running.wait().await
}
