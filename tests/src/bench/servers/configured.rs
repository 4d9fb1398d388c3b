//! The product as its operator runs it, from a configuration file.

use std::{error::Error, path::Path};

use api::service;
use configuration::Config;
use sandbox_host::Sandboxes;

use super::{ready, ready_for_operators};

pub async fn serve(file: &Path) -> Result<(), Box<dyn Error>> {
    let running = service::start(Config::load(file)?, &Sandboxes::default()).await?;
    ready_for_operators(running.operators);
    ready(running.address);
    Ok(running.wait().await?)
}
