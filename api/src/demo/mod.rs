//! `demo`: serves a simulated practice with an ordinary configuration and makes a booking through the HTTP API. With
//! `--cloud` the EHR is a web application that the reader opens in a browser.

mod cloud;
mod component;
mod file;
mod sink;
mod story;

use std::{
    fmt::Display,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::Args;
use commands::{
    key_entries::KeyFile,
    logging,
    terminal::{fail, print_line},
};
use configuration::Config;
use framework::access::{keys, operators};
use sandbox_host::Sandboxes;
use tokio::signal::unix::{SignalKind, signal};
use toml::{Table, Value};

use self::file::{DemoFile, LOCATIONS, SOURCE, SUBDOMAIN};
use crate::{reload::Reload, service};

#[derive(Args, Clone, Debug)]
pub(crate) struct DemoArguments {
    /// The address of the client listener.
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// The address of the operators' listener.
    #[arg(long, default_value = "127.0.0.1:8081")]
    pub operators: SocketAddr,
    /// Use an EHR that is a web application without an API, reached through the browser extension on your own
    /// workstation.
    #[arg(long)]
    pub cloud: bool,
    /// The directory of the demo's data. A restart with the same DIR resumes the demo. Default: `demo-data`, with
    /// --cloud `demo-cloud-data`.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Serve without the walkthrough.
    #[arg(long)]
    pub no_walkthrough: bool,
}

pub(crate) fn run(arguments: DemoArguments) -> ExitCode {
    if let Err(problem) = logging::start("warn") {
        return fail(problem);
    }
    let system = actix_web::rt::System::new();
    system.block_on(demo(arguments)).map_or_else(fail, |()| ExitCode::SUCCESS)
}

async fn demo(arguments: DemoArguments) -> Result<(), String> {
    let data = arguments.data.unwrap_or_else(|| if arguments.cloud { "demo-cloud-data" } else { "demo-data" }.into());
    let dir = std::path::absolute(&data).map_err(|error| format!("{}: {error}", data.display()))?;
    let at = |error: io::Error| format!("{} cannot be used: {error}", dir.display());
    fs::create_dir_all(&dir).map_err(at)?;
    let known = file::read(&dir.join("demo.json"));
    if known.as_ref().is_some_and(|known| known.cloud_ehr.is_some() != arguments.cloud) {
        return Err(format!(
            "{} holds the data of the other demo, the one {} --cloud",
            dir.display(),
            if arguments.cloud { "without" } else { "with" }
        ));
    }
    // Checks the ports before building, because a demo that cannot listen needs no adapter.
    for address in [arguments.listen, arguments.operators] {
        drop(crate::server::listen(address).map_err(|error| format!("{address}: {error}"))?);
    }
    let adapter = component::install(if arguments.cloud { cloud::ADAPTER } else { "sandbox" }, &dir)?;
    let before = known.as_ref().and_then(|known| known.cloud_ehr.as_ref());
    let cloud = arguments.cloud.then(|| cloud::start(arguments.operators, before)).transpose().map_err(at)?;

    let file = dir.join("demo.toml");
    let api_key = known.as_ref().map_or_else(keys::new_key, |known| known.api_key.clone());
    let operator_token = known.as_ref().map_or_else(operators::new_token, |known| known.operator_token.clone());
    let practice = cloud.as_ref().map_or_else(|| simulated_practice(&adapter), |cloud| cloud.practice(&adapter));
    let configured = merge_user_tables(&configuration(&arguments.listen, &arguments.operators, &practice), &file)?;
    fs::write(&file, configured).map_err(at)?;
    let keys = dir.join("keys.toml");
    // Keeps keys that the user added.
    if known.is_none() || !keys.exists() {
        write_keys(&keys, &api_key, &operator_token).map_err(at)?;
    }
    let config = Config::load(&file).map_err(|error| error.to_string())?;
    let sandboxes = Arc::new(Sandboxes::default());
    let reload = Reload::new(&file, &config, sandboxes.clone());
    let running = service::start(config, &*sandboxes).await?;
    running.reload_from(reload);

    let sink = sink::start(known.as_ref().and_then(|known| port_of(&known.webhook_dev_sink))).map_err(at)?;
    let mut facts = DemoFile {
        base_url: format!("http://{}", running.address),
        api_key,
        operators_url: format!("http://{}", running.operators),
        operator_token,
        subdomain: SUBDOMAIN.to_owned(),
        location_ids: if cloud.is_some() { vec![LOCATIONS[0]] } else { LOCATIONS.to_vec() },
        webhook_dev_sink: sink.url.clone(),
        webhook_endpoint_id: known.as_ref().and_then(|known| known.webhook_endpoint_id),
        webhook_secret_key: known.as_ref().and_then(|known| known.webhook_secret_key.clone()),
        config: file,
        cloud_ehr: cloud.as_ref().map(|cloud| cloud.facts.clone()),
    };
    // A sink with a new URL is a new endpoint for the engine.
    if known.is_none_or(|known| known.webhook_dev_sink != facts.webhook_dev_sink) {
        (facts.webhook_endpoint_id, facts.webhook_secret_key) = (None, None);
    }
    let ehr = sandboxes.get(SOURCE);
    let mut story = story::Walkthrough::begin(facts, sink, ehr).await?;
    file::write(&dir.join("demo.json"), &story.facts).map_err(at)?;
    print_line(format_args!("practice-sync demo: {}, data in {}", story.facts.base_url, dir.display()));
    if let Some(cloud) = &cloud {
        cloud.introduce();
    }
    // The walkthrough may take long, so signals end the server during and after it.
    let walkthrough = async {
        let result = match &cloud {
            _ if arguments.no_walkthrough => Ok(()),
            Some(cloud) => cloud.run(&mut story).await,
            None => story.run().await,
        };
        if let Err(error) = result {
            // A failed walkthrough does not stop the server.
            print_line(format_args!("the walkthrough stopped: {error}"));
        }
        story::print_curl(&story.facts);
    };
    let narrated = async {
        tokio::select! {
            () = walkthrough => (),
            () = wait_for_termination() => (),
        }
        std::future::pending::<()>().await
    };
    tokio::select! {
        () = narrated => Ok(()),
        ended = running.wait() => ended,
    }
}

/// Waits for a termination signal. The server stops on the same signals, so the walkthrough must not report the
/// resulting errors.
async fn wait_for_termination() {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = terminated.recv() => (),
        _ = tokio::signal::ctrl_c() => (),
    }
}

/// Returns the demo's configuration around its practice (data source and locations).
fn configuration(listen: &SocketAddr, operators: &SocketAddr, practice: &str) -> String {
    format!(
        r#"data_dir = "."
log = "warn"

[http]
listen = "{listen}"

[operators]
listen = "{operators}"

[engine]
webhook_development = true
store_floor_mib = 64

{practice}"#
    )
}

const HEAD: &str = "\
# The configuration of `practice-sync demo`. `practice-sync serve --config` takes it too. A running demo reads it again when it changes.
# The demo writes its tables at each start; others, such as [compatibility], are kept.
";

/// Returns the configuration with the tables that a user added to an earlier one.
fn merge_user_tables(configuration: &str, file: &Path) -> Result<String, String> {
    let at = |error: &dyn Display| format!("{} cannot be used: {error}", file.display());
    let mut tables = configuration.parse::<Table>().map_err(|error| at(&error))?;
    if file.exists() {
        let earlier = fs::read_to_string(file).map_err(|error| at(&error))?;
        let earlier = earlier.parse::<Table>().map_err(|error| at(&error))?;
        for (name, table) in earlier {
            tables.entry(name).or_insert(table);
        }
    }
    Ok(format!("{HEAD}{}", toml::to_string(&tables).map_err(|error| at(&error))?))
}

/// The name of the key and of the operator.
const NAME: &str = "demo";

/// Writes the API key of the walkthrough and the operator's token. Other entries of the file are kept.
fn write_keys(path: &Path, api_key: &str, operator_token: &str) -> io::Result<PathBuf> {
    let hash = |secret: &str| Value::from(hex::encode(keys::hash(secret)));
    let mut file = KeyFile::open(path)?;
    for list in ["keys", "operators"] {
        file.remove(list, NAME);
    }
    let key = [
        ("name", NAME.into()),
        ("sha256", hash(api_key)),
        ("environment", "sandbox".into()),
        ("institutions", vec![SUBDOMAIN].into()),
        ("grants", vec!["financial", "beta"].into()),
        ("organisation", NAME.into()),
    ];
    file.add("keys", &key);
    file.add("operators", &[("name", NAME.into()), ("sha256", hash(operator_token)), ("role", "admin".into())]);
    file.save()
}

/// Returns one practice with two locations in different time zones, one of which books by operatory.
fn simulated_practice(adapter: &Path) -> String {
    let [main_street, lakeside] = LOCATIONS;
    format!(
        r#"[adapters]
sandbox = "{adapter}"

[[institutions]]
id = 1
subdomain = "{SUBDOMAIN}"
name = "Demo Dental"
environment = "sandbox"

[[institutions.sources]]
id = {SOURCE}
name = "Simulated practice"
adapter = "sandbox"
base_url = "sandbox:"

[[institutions.locations]]
id = {main_street}
name = "Main Street"
zone = "America/New_York"
source = {SOURCE}
foreign_id = "main-street"
street_address = "1 Main Street"
city = "Springfield"
state = "NY"
zip_code = "10001"
map_by_operatory = true

[[institutions.locations]]
id = {lakeside}
name = "Lakeside"
zone = "America/Los_Angeles"
source = {SOURCE}
foreign_id = "lakeside"
street_address = "20 Shore Road"
city = "Lakeside"
state = "CA"
zip_code = "94016"
"#,
        adapter = adapter.display()
    )
}

fn port_of(url: &str) -> Option<u16> {
    let address = url.strip_prefix("http://")?.split('/').next()?;
    address.parse::<SocketAddr>().ok().map(|address| address.port())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use configuration::KeyFileContents;

    #[test]
    fn demo_keys_are_private_and_other_entries_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.toml");
        write_keys(&path, "key", "token").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let other =
            "[[operators]]\nname = \"ada\"\nsha256 = \"".to_owned() + &"7".repeat(64) + "\"\nrole = \"viewer\"\n";
        fs::write(&path, fs::read_to_string(&path).unwrap() + &other).unwrap();
        write_keys(&path, "another key", "another token").unwrap();
        let configured = Config::parse(&simulated(&dir.path().join("demo.toml")), dir.path());
        let (access, problems) = KeyFileContents::load(&path, &configured.unwrap().setup).unwrap();
        assert_eq!(problems, []);
        let names: Vec<&str> = access.operators.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((names, access.keys.len()), (vec!["ada", NAME], 1));
        assert_eq!(access.keys[0].hash, keys::hash("another key"));
    }

    fn simulated(file: &Path) -> String {
        let (listen, operators) = ("127.0.0.1:8080".parse().unwrap(), "127.0.0.1:8081".parse().unwrap());
        let practice = simulated_practice(Path::new("adapter.wasm"));
        merge_user_tables(&configuration(&listen, &operators, &practice), file).unwrap()
    }

    #[test]
    fn tables_that_a_user_added_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("demo.toml");
        let first = simulated(&file);
        let added = "log_format = \"json\"\n".to_owned()
            + &first.replace("Lakeside", "Elsewhere")
            + "\n[compatibility]\nraw_keys = true\nversion_headers = [\"Api-Version\"]\nversion_values = { stable = \"v3.0.0\" }\n";
        fs::write(&file, &added).unwrap();
        let next = simulated(&file);
        let config = Config::parse(&next, dir.path()).unwrap();
        let rules = &config.http.compatibility;
        assert!(rules.raw_keys, "{next}");
        assert_eq!((rules.version_headers.len(), rules.version_values.len()), (1, 1));
        assert!(!next.contains("Elsewhere"), "the demo writes its own tables");
        fs::write(&file, &next).unwrap();
        assert_eq!(simulated(&file), next);
        fs::write(&file, "raw_keys = ").unwrap();
        let broken = merge_user_tables(&first, &file).unwrap_err();
        assert!(broken.contains("demo.toml cannot be used: "), "{broken}");
    }
}
