//! The product as its operator runs it, from a configuration file.

use std::{error::Error, path::Path};

use api::{cli::serve, config::Config};

use super::ready;

pub async fn serve(file: &Path) -> Result<(), Box<dyn Error>> {
    let running = serve::start(Config::load(file)?).await?;
    ready(running.address);
    Ok(running.wait().await?)
}
