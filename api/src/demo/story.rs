//! A booking, made step by step through the HTTP API as any client would make it.

use std::{sync::Arc, time::Duration};

use commands::{server::text, terminal::print_line};
use engine::webhooks::sign;
use reqwest::{Client, Method};
use sandbox_ehr::records::Resource;
use sandbox_host::InProcessEhr;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::{
    file::{DemoFile, LOCATIONS, SUBDOMAIN},
    sink::Sink,
};

const USER_AGENT: &str = "practice-sync-demo/1.0";
/// Timeout of the first pull, of the write-back and of the message.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub(super) struct Walkthrough {
    pub(super) facts: DemoFile,
    sink: Sink,
    ehr: Option<Arc<InProcessEhr>>,
    client: Client,
    token: String,
}

impl Walkthrough {
    /// Authenticates and subscribes to booking outcomes. The secret of the endpoint is shown only once, so it is
    /// stored.
    pub(super) async fn begin(
        facts: DemoFile,
        sink: Sink,
        ehr: Option<Arc<InProcessEhr>>,
    ) -> Result<Walkthrough, String> {
        engine::webhooks::egress::install_crypto();
        let mut story = Walkthrough { facts, sink, ehr, client: Client::new(), token: String::new() };
        story.authenticate().await?;
        story.subscription().await?;
        Ok(story)
    }

    pub(super) async fn run(&mut self) -> Result<(), String> {
        print_line("\n1. The API key was exchanged for a token: POST /authenticates");
        print_line("   a bearer token, valid for 24 hours in this sandbox");
        print_line("\n2. Subscribed to the outcome of bookings: POST /webhook_endpoints and its webhook_subscriptions");
        print_line(format_args!("   messages go to {}", self.facts.webhook_dev_sink));

        print_line("\n3. The first pull from the practice's health record system: GET /sync_status");
        self.first_pull(PATIENCE).await?;

        print_line("\n4. Search for free slots and book one: POST /intent/booking/search, POST /intent/booking/book");
        let reference = self.book().await?;

        print_line("\n5. The write-back runs in the background: GET /intent/booking/status");
        let appointment = self.written(&reference, PATIENCE).await?;

        print_line("\n6. The health record system's own view of the appointment");
        let foreign_id = text(&appointment["foreign_id"]);
        match &self.ehr {
            Some(ehr) => {
                let view = ehr.view(Resource::Appointments, foreign_id).await;
                print_line(format_args!(
                    "   {}",
                    view.ok_or("the health record system does not have the appointment")?
                ));
            }
            None => print_line("   (stored in another system)"),
        }

        print_line("\n7. The signed message");
        self.message(appointment["id"].as_u64().unwrap_or_default()).await?;
        print_line("\nDone. The demo keeps serving; stop it with Ctrl-C; restarting resumes.");
        Ok(())
    }

    /// Books the first free slot for a patient of the demo. Returns the reference of the booking.
    pub(super) async fn book(&self) -> Result<String, String> {
        let location = LOCATIONS[0];
        let scope = format!("subdomain={SUBDOMAIN}&location_id={location}");
        let search = format!("/intent/booking/search?{scope}");
        let found = self.call(Method::POST, &search, Some(json!({"days": 14}))).await?;
        let slot = found["slots"].get(0).ok_or("the practice has no free slot in the next 14 days")?.clone();
        let count = found["slots"].as_array().map_or(0, Vec::len);
        print_line(format_args!(
            "   {count} offers; the first: {}, {} minutes with {}",
            text(&slot["start_local"]),
            slot["duration_minutes"],
            text(&slot["provider"])
        ));
        let booking = json!({
            "slot_token": slot["slot_token"],
            "idempotency_key": format!("demo-{}", uuid::Uuid::new_v4()),
            "patient": {
                "first_name": "Ada", "last_name": "Example", "date_of_birth": "1990-12-10",
                "phone_number": "+1 555 010 4477", "email": "ada@example.com",
            },
            "note": "Booked by the demo",
        });
        let path = format!("/intent/booking/book?subdomain={SUBDOMAIN}");
        let booked = self.call(Method::POST, &path, Some(booking.clone())).await?;
        print_line(format_args!("   {}", text(&booked["message"])));
        let reference = text(&booked["booking"]["booking_ref"]).to_owned();
        print_line(format_args!("   {reference}, ehr_writeback {}", text(&booked["booking"]["ehr_writeback"])));
        let again = self.call(Method::POST, &path, Some(booking)).await?;
        print_line(format_args!(
            "   the same request again: replay {}, the same {}",
            again["replay"],
            text(&again["booking"]["booking_ref"])
        ));
        Ok(reference)
    }

    async fn authenticate(&mut self) -> Result<(), String> {
        let request = self.client.post(format!("{}/authenticates", self.facts.base_url));
        let request = request.header("Authorization", &self.facts.api_key);
        let answer = send(request).await?;
        self.token = text(&answer["data"]["token"]).to_owned();
        Ok(())
    }

    async fn subscription(&mut self) -> Result<(), String> {
        if self.facts.webhook_endpoint_id.is_some() {
            return Ok(());
        }
        let target = json!({"target_url": self.facts.webhook_dev_sink});
        let endpoint = self.call(Method::POST, "/webhook_endpoints", Some(target)).await?["data"].take();
        let id = endpoint["id"].as_i64().ok_or("the endpoint has no id")?;
        let subscription = json!({"resource_type": "Appointment", "event": "appointment_insertion"});
        let path = format!("/webhook_endpoints/{id}/webhook_subscriptions?subdomain={SUBDOMAIN}");
        self.call(Method::POST, &path, Some(subscription)).await?;
        self.facts.webhook_endpoint_id = Some(id);
        self.facts.webhook_secret_key = endpoint["secret_key"].as_str().map(str::to_owned);
        Ok(())
    }

    pub(super) async fn first_pull(&self, patience: Duration) -> Result<(), String> {
        let since = Instant::now();
        loop {
            let path = format!("/sync_status?subdomain={SUBDOMAIN}");
            let status = self.call(Method::GET, &path, None).await?;
            let states = status["data"].as_array().ok_or("no sync_status")?;
            if !states.is_empty() && states.iter().all(|state| state["read_status"] == "green") {
                break;
            }
            if since.elapsed() > patience {
                return Err("the first pull is not complete".to_owned());
            }
            sleep(LOOK_AGAIN).await;
        }
        let path = format!("/locations?subdomain={SUBDOMAIN}");
        let institutions = self.call(Method::GET, &path, None).await?;
        for location in institutions["data"][0]["locations"].as_array().into_iter().flatten() {
            print_line(format_args!("   {}: {} ({})", location["id"], text(&location["name"]), text(&location["tz"])));
        }
        Ok(())
    }

    /// Waits until the EHR has the booking.
    pub(super) async fn written(&self, reference: &str, patience: Duration) -> Result<Value, String> {
        let since = Instant::now();
        loop {
            let path = format!("/intent/booking/status?subdomain={SUBDOMAIN}&booking_ref={reference}");
            let status = self.call(Method::GET, &path, None).await?;
            let booking = &status["booking"];
            match text(&booking["ehr_writeback"]) {
                "confirmed" => {
                    print_line(format_args!(
                        "   {} after {:.1} s",
                        text(&status["message"]),
                        since.elapsed().as_secs_f64()
                    ));
                    let path = format!("/appointments/{}?subdomain={SUBDOMAIN}", booking["appointment_id"]);
                    return Ok(self.call(Method::GET, &path, None).await?["data"].take());
                }
                "failed" => return Err(text(&status["message"]).to_owned()),
                _ if since.elapsed() > patience => return Err("the write-back takes too long".to_owned()),
                _ => sleep(LOOK_AGAIN).await,
            }
        }
    }

    pub(super) async fn message(&mut self, appointment: u64) -> Result<(), String> {
        let secret = self.facts.webhook_secret_key.clone().ok_or("the endpoint's secret key is not known")?;
        loop {
            let next = timeout(PATIENCE, self.sink.messages.recv()).await;
            let message = next.map_err(|_| "no message arrived")?.ok_or("the webhook receiver stopped")?;
            let verified = sign::verify(&secret, &message.timestamp, &message.body, &message.signature);
            let body: Value = serde_json::from_slice(&message.body).map_err(|error| error.to_string())?;
            // A message of an earlier run may arrive first.
            if body["data"]["appointment"]["id"] != appointment {
                continue;
            }
            let signed = if verified { "signature verified" } else { "SIGNATURE WRONG" };
            print_line(format_args!("   {} at {}, {signed}", text(&body["event_name"]), message.timestamp));
            return if verified { Ok(()) } else { Err("the message's signature is wrong".to_owned()) };
        }
    }

    pub(super) async fn operate(&self, path: &str, body: &Value) -> Result<Value, String> {
        let request = self.client.post(format!("{}{path}", self.facts.operators_url));
        let request = request.bearer_auth(&self.facts.operator_token).header("Content-Type", "application/json");
        send(request.body(body.to_string())).await
    }

    pub(super) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, String> {
        let mut request = self.client.request(method, format!("{}{path}", self.facts.base_url));
        request = request.bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        send(request).await
    }
}

async fn send(request: reqwest::RequestBuilder) -> Result<Value, String> {
    let request = request.header("User-Agent", USER_AGENT).header("Svc-Api-Version", "v3.0.0");
    let response = request.send().await.map_err(|error| error.to_string())?;
    let (status, path) = (response.status(), response.url().path().to_owned());
    let body = response.bytes().await.map_err(|error| error.to_string())?;
    let value: Value = serde_json::from_slice(&body).map_err(|error| format!("{path}: {error}"))?;
    if status.is_success() { Ok(value) } else { Err(format!("{path} answered {status}: {value}")) }
}

/// Prints commands that work in this order in one shell.
pub(super) fn print_curl(facts: &DemoFile) {
    let DemoFile { base_url, api_key, operators_url, operator_token, .. } = facts;
    let location = LOCATIONS[0];
    let common = "-A 'my-app/1.0' -H 'Svc-Api-Version: v3.0.0'";
    let bearer = format!("{common} -H \"Authorization: Bearer $TOKEN\"");
    let scope = format!("subdomain={SUBDOMAIN}&location_id={location}");
    print_line(format_args!(
        r#"
Try it yourself: every endpoint is described, with a form that sends it, at {base_url}/docs (the API key: {api_key}).
Or line by line in one shell:

TOKEN=$(curl -s -X POST '{base_url}/authenticates' {common} -H 'Authorization: {api_key}' | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
curl -s '{base_url}/locations?subdomain={SUBDOMAIN}' {bearer}
curl -s '{base_url}/operatories?{scope}&per_page=20' {bearer}
curl -s '{base_url}/available_slots?subdomain={SUBDOMAIN}&lids[]={location}&start_date='$(date +%F)'&days=5&slot_length=30' -g {bearer}
SLOT=$(curl -s -X POST '{base_url}/intent/booking/search?{scope}' {bearer} -H 'Content-Type: application/json' -d '{{"limit":1}}' | sed -n 's/.*"slot_token":"\([^"]*\)".*/\1/p')
curl -s -X POST '{base_url}/intent/booking/book?subdomain={SUBDOMAIN}' {bearer} -H 'Content-Type: application/json' -d '{{"slot_token":"'$SLOT'","idempotency_key":"'$(date +%s%N)'","patient":{{"first_name":"Grace","last_name":"Sample","date_of_birth":"1985-03-01","phone_number":"+1 555 010 2233","email":"grace@example.com"}}}}'
curl -s '{base_url}/patients?{scope}&name=gra' {bearer}
curl -s '{base_url}/payments?{scope}' {bearer}
curl -s '{base_url}/changes?{scope}' {bearer}
curl -s '{base_url}/sync_status?subdomain={SUBDOMAIN}' {bearer}
curl -s '{operators_url}/metrics'

For operators: {operators_url}/console (the token: {operator_token}).
"#
    ));
}
