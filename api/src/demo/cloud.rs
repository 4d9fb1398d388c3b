//! The demo with a cloud EHR: a web application on a separate port that works only in the reader's browser. Guides the
//! reader through the steps.

use std::{
    io,
    net::SocketAddr,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cloud_ehr::{CloudEhr, CloudEhrSettings, User};
use commands::{server::text, terminal::print_line};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    file::{CloudFacts, DemoFile, LOCATIONS, SOURCE, SUBDOMAIN},
    story::{LOOK_AGAIN, Walkthrough},
};

/// The folder of the adapter in `adapters/`.
pub(super) const ADAPTER: &str = "gated-cloud";
const USER: &str = "frontdesk";
const PASSWORD: &str = "maple-street";
const ZONE: chrono_tz::Tz = chrono_tz::America::New_York;
/// No timeout, because the reader performs the steps.
const FOR_EVER: Duration = Duration::MAX;
/// Age in seconds up to which a restart regenerates the EHR's data for the time of the first start.
const BOOKS_LAST: i64 = 5 * 86_400;

pub(super) struct DemoCloud {
    ehr: CloudEhr,
    pub facts: CloudFacts,
}

/// Starts the EHR on its previous port, or else on the port after the operators' one, or else on any free port.
pub(super) fn start(operators: SocketAddr, known: Option<&CloudFacts>) -> io::Result<DemoCloud> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let seeded_at = known.map(|known| known.seeded_at).filter(|at| now - at < BOOKS_LAST).unwrap_or(now);
    let begin = |port: u16| {
        CloudEhr::start(CloudEhrSettings {
            port,
            users: vec![User::new(USER, PASSWORD, "Robin, front desk")],
            zone: ZONE,
            seeded_at: Some(seeded_at),
            ..CloudEhrSettings::default()
        })
    };
    let next = if operators.port() == 0 { 0 } else { operators.port().saturating_add(1) };
    let wanted = known.map_or(next, |known| known.port);
    let ehr = begin(wanted).or_else(|_| begin(0))?;
    let facts = CloudFacts {
        url: format!("{}/app", ehr.origin()),
        user: USER.into(),
        password: PASSWORD.into(),
        port: ehr.address().port(),
        seeded_at,
    };
    Ok(DemoCloud { ehr, facts })
}

impl DemoCloud {
    /// Returns the practice for the configuration: one location whose EHR is reached only through workstations.
    pub(super) fn practice(&self, adapter: &Path) -> String {
        format!(
            r#"[adapters]
{ADAPTER} = "{adapter}"

[[institutions]]
id = 1
subdomain = "{SUBDOMAIN}"
name = "Maple Street Dental"
environment = "sandbox"

[[institutions.sources]]
id = {SOURCE}
name = "Demo Cloud EHR"
adapter = "{ADAPTER}"
base_url = "{url}"
workstation = {{ probe = "/api/session" }}

[[institutions.locations]]
id = {location}
name = "Maple Street"
zone = "{ZONE}"
source = {SOURCE}
foreign_id = "maple-street"
street_address = "7 Maple Street"
city = "Springfield"
state = "NY"
zip_code = "12345"
map_by_operatory = true
"#,
            adapter = adapter.display(),
            url = self.facts.url,
            location = LOCATIONS[0],
        )
    }

    pub(super) fn introduce(&self) {
        let CloudFacts { url, user, password, .. } = &self.facts;
        print_line(format_args!("the practice's cloud EHR: {url}, user {user}, password {password}"));
        print_line(
            "It has no API. It can be read and written only while staff is logged in to it in a browser with the extension.",
        );
    }

    /// Prints the steps, waits for the reader at each one, and prints the result.
    pub(super) async fn run(&self, story: &mut Walkthrough) -> Result<(), String> {
        let CloudFacts { url, user, password, .. } = &self.facts;
        print_line("\n1. Build the extension: in adapters/extension, npm ci && npm run build");
        print_line(
            "   Then open chrome://extensions in Chrome or Chromium, switch on \"Developer mode\", choose \"Load unpacked\" and",
        );
        print_line("   take the folder adapters/extension/dist.");

        print_line("\n2. Pair it: open the extension's popup from the toolbar and enter");
        let DemoFile { base_url, operators_url, .. } = &story.facts;
        print_line(format_args!("   address  {base_url}"));
        let location = LOCATIONS[0];
        let code = story.operate(&format!("/locations/{location}/pairing_codes"), &json!({})).await?["data"].take();
        print_line(format_args!(
            "   code     {}   (valid once, for ten minutes; for another one: {operators_url}/console/locations/{location})",
            text(&code["code"])
        ));
        until(story, |gate| gate["workstations_connected"].as_u64().unwrap_or_default() > 0).await?;
        print_line("   A workstation is connected.");

        print_line(format_args!("\n3. Log in to the practice's cloud EHR: {url}"));
        print_line(format_args!("   user {user}, password {password}"));
        until(story, is_open).await?;
        print_line("   Staff is logged in: the gate is open, and the first pull starts.");
        story.first_pull(FOR_EVER).await?;

        print_line("\n4. Now log out of the cloud EHR (top right), as staff do in the evening.");
        until(story, |gate| !is_open(gate)).await?;
        print_line("   The gate is closed.");

        print_line(
            "\n5. A patient can still book through the API: POST /intent/booking/search, POST /intent/booking/book",
        );
        let reference = story.book().await?;
        until(story, |gate| is_open(gate) || gate["writes_waiting"].as_u64().unwrap_or_default() > 0).await?;
        let gate = gate(story).await?;
        print_line(format_args!(
            "   GET /sync_status: gate {}, writes waiting {}",
            text(&gate["state"]),
            gate["writes_waiting"]
        ));

        print_line(format_args!("\n6. Log in again: {url}"));
        until(story, is_open).await?;
        print_line("   The gate is open: the waiting writes are sent, in order.");
        let appointment = story.written(&reference, FOR_EVER).await?;
        self.show(text(&appointment["foreign_id"]))?;

        print_line("\n7. The signed message");
        story.message(appointment["id"].as_u64().unwrap_or_default()).await?;
        print_line("\nDone. The demo keeps serving; stop it with Ctrl-C; restarting resumes.");
        Ok(())
    }

    /// Prints the appointment as stored in the EHR.
    fn show(&self, foreign_id: &str) -> Result<(), String> {
        let practice = self.ehr.practice();
        let held = practice.appointment(foreign_id).ok_or("the cloud EHR does not have it")?;
        let name = held.patient.as_deref().and_then(|id| practice.patient(id)).map(|patient| patient.name());
        let start = practice.local(held.start);
        print_line(format_args!(
            "   in the cloud EHR: {foreign_id}, {}, {}: see {}/schedule?day={}",
            name.unwrap_or_default(),
            start.format("%A %H:%M"),
            self.facts.url,
            start.format("%Y-%m-%d")
        ));
        Ok(())
    }
}

fn is_open(gate: &Value) -> bool {
    matches!(text(&gate["state"]), "connected" | "waiting_for_approval")
}

async fn gate(story: &Walkthrough) -> Result<Value, String> {
    let path = format!("/locations/{}?subdomain={SUBDOMAIN}", LOCATIONS[0]);
    Ok(story.call(Method::GET, &path, None).await?["data"]["gate"].take())
}

async fn until(story: &Walkthrough, stands: impl Fn(&Value) -> bool) -> Result<(), String> {
    while !stands(&gate(story).await?) {
        sleep(LOOK_AGAIN).await;
    }
    Ok(())
}
