//! A GNU Health server, installed once from PyPI into `target/` with the practice of `tests/gnuhealth`. Each test
//! that needs one starts its own server on loopback with a copy of the database.

use std::{fs, net::SocketAddr, path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::harness::{
    external::Suite,
    packages::{Project, run, serving},
};

const SUITE: Suite = Suite::GnuHealth;
/// The engine's login, and a login without access to histories.
pub const LOGIN: &str = "practice-sync";
pub const RECEPTION: &str = "reception";
pub const PASSWORD: &str = "s3cret-of-the-clinic";
/// The database's name, and therefore the path of the base URL.
pub const BASE_PATH: &str = "/gnuhealth";

const DATABASE: &str = "gnuhealth.sqlite";
/// Sources of the practice's installation.
const SOURCES: [&str; 3] = ["requirements.txt", "prepare.py", "passlib.ini"];

/// Open half hours per professional and day, from nine local time.
const OPEN: i64 = 8;

const PREPARE_LIMIT: Duration = Duration::from_secs(400);
const START_LIMIT: Duration = Duration::from_secs(300);
const REQUEST_LIMIT: Duration = Duration::from_secs(120);

pub struct GnuHealth {
    address: SocketAddr,
    client: reqwest::Client,
    /// Killed when dropped. If this process is killed, the server ends when its standard input closes.
    _process: Child,
    _database: TempDir,
}

impl GnuHealth {
    /// Starts a server with the prepared practice. Returns `None` if the suite is not selected.
    pub async fn start() -> Option<GnuHealth> {
        if SUITE.is_skipped() {
            return None;
        }
        let (python, practice) = practice().await;
        let database = tempfile::tempdir().expect("a folder for the database");
        fs::copy(practice.join("db").join(DATABASE), database.path().join(DATABASE)).expect("a file can be copied");
        let configuration = database.path().join("trytond.conf");
        let text = format!(
            "[database]\nuri = sqlite://\npath = {}\n[password]\npasslib = {}\n",
            database.path().display(),
            practice.join("passlib.ini").display()
        );
        fs::write(&configuration, text).expect("a file can be written");
        let sources = Project::new("gnuhealth", "gnuhealth", SUITE).sources;
        let mut server = Command::new(python);
        server.args(["-W", "ignore"]).arg(sources.join("server.py")).arg(&configuration);
        let (_process, started) = serving(server, START_LIMIT).await;
        let port = started["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(REQUEST_LIMIT).build().expect("a client");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Some(GnuHealth { address, client, _process, _database: database })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes a call with all rights, like staff.
    pub async fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.try_call("admin", method, params).await;
        answer.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    pub async fn try_call(&self, login: &str, method: &str, params: Value) -> Result<Value, Value> {
        let request = self.client.post(format!("http://{}{BASE_PATH}/", self.address));
        let request = request.basic_auth(login, Some(PASSWORD));
        let body = json!({"id": 1, "method": method, "params": params});
        let answer = request.header("content-type", "application/json").body(body.to_string()).send().await;
        let answer = answer.expect("GNU Health answers");
        assert_eq!(answer.status(), 200, "{method}");
        let mut body: Value = serde_json::from_slice(&answer.bytes().await.expect("in full")).expect("JSON");
        match body.get_mut("error").map(Value::take) {
            Some(error) => Err(error),
            None => Ok(body["result"].take()),
        }
    }

    pub async fn search(&self, model: &str, domain: Value, fields: &[&str]) -> Vec<Value> {
        let params = json!([domain, 0, null, [["id", "ASC"]], fields, context()]);
        let rows = self.call(&format!("model.{model}.search_read"), params).await;
        rows.as_array().expect("rows").clone()
    }

    /// Returns the only matching record.
    pub async fn one(&self, model: &str, domain: Value, fields: &[&str]) -> Value {
        let rows = self.search(model, domain.clone(), fields).await;
        assert_eq!(rows.len(), 1, "{model} {domain}: {rows:?}");
        rows[0].clone()
    }

    pub async fn create(&self, model: &str, values: Value) -> i64 {
        let created = self.call(&format!("model.{model}.create"), json!([[values], context()])).await;
        created[0].as_i64().expect("an id")
    }

    pub async fn write(&self, model: &str, id: i64, values: Value) {
        self.call(&format!("model.{model}.write"), json!([[id], values, context()])).await;
    }

    pub async fn delete(&self, model: &str, id: i64) {
        self.call(&format!("model.{model}.delete"), json!([[id], context()])).await;
    }

    /// Creates free places and an appointment by staff. All professionals have places on the day from `midnight` on,
    /// the first one on three days.
    pub async fn seed(&self, midnight: i64) {
        for (professional, days) in [(1, 3), (2, 1), (3, 1)] {
            for day in 0..days {
                for n in 0..OPEN {
                    let start = midnight + day * 86_400 + 9 * 3_600 + n * 1_800;
                    let place = json!({"state": "free", "patient": null, "healthprof": professional, "institution": 1, "comments": null,
                        "appointment_date": moment(start), "appointment_date_end": moment(start + 1_800)});
                    self.create("gnuhealth.appointment", place).await;
                }
            }
        }
        // Staff book the first place of the second professional.
        let first = json!([["healthprof", "=", 2], ["appointment_date", "=", moment(midnight + 9 * 3_600)]]);
        let id = self.one("gnuhealth.appointment", first, &["id"]).await["id"].as_i64().expect("an id");
        let taken = json!({"patient": 1, "state": "confirmed", "comments": "by telephone"});
        self.write("gnuhealth.appointment", id, taken).await;
        self.invoice(1, "95.00", &today()).await;
    }

    /// Posts an invoice to a patient and returns its id.
    pub async fn invoice(&self, patient: i64, amount: &str, date: &str) -> i64 {
        let party = self.one("gnuhealth.patient", json!([["id", "=", patient]]), &["party"]).await["party"].clone();
        let id = async |model, domain| self.search(model, domain, &["id"]).await[0]["id"].clone();
        let account = async |name: &str| id("account.account", json!([["name", "=", name]])).await;
        let address = json!({"party": party, "street": "1 Main Street"});
        let address = match self.search("party.address", json!([["party", "=", party]]), &["id"]).await.first() {
            Some(address) => address["id"].clone(),
            None => self.create("party.address", address).await.into(),
        };
        let revenue = account("Main Revenue").await;
        let currency = id("currency.currency", json!([["code", "=", "USD"]])).await;
        let invoice = json!({
            "type": "out", "party": party, "company": 1, "currency": currency,
            "journal": id("account.journal", json!([["type", "=", "revenue"]])).await,
            "account": account("Main Receivable").await, "invoice_address": address, "invoice_date": day(date),
            "description": "Prophylaxis",
            "lines": [["create", [{"type": "line", "company": 1, "currency": currency, "description": "Prophylaxis", "quantity": 1,
                "unit_price": {"__class__": "Decimal", "decimal": amount}, "account": revenue}]]],
        });
        let context = json!({"company": 1});
        let created = self.call("model.account.invoice.create", json!([[invoice], context])).await;
        self.call("model.account.invoice.post", json!([created, context])).await;
        created[0].as_i64().expect("an id")
    }
}

pub fn today() -> String {
    chrono::DateTime::from_timestamp(runtime::clock::now().0 / 1_000, 0).expect("near").date_naive().to_string()
}

/// Returns a date such as `2026-12-01` in GNU Health's format.
pub fn day(text: &str) -> Value {
    let date: chrono::NaiveDate = text.parse().expect("a date");
    use chrono::Datelike;
    json!({"__class__": "date", "year": date.year(), "month": date.month(), "day": date.day()})
}

/// Returns a time, given in seconds since 1970, in GNU Health's format.
pub fn moment(at: i64) -> Value {
    use chrono::{Datelike, Timelike};
    let at = chrono::DateTime::from_timestamp(at, 0).expect("a moment near the present");
    json!({"__class__": "datetime", "year": at.year(), "month": at.month(), "day": at.day(), "hour": at.hour(), "minute": at.minute(),
        "second": at.second(), "microsecond": 0})
}

/// Includes inactive records.
fn context() -> Value {
    json!({"active_test": false})
}

/// Returns the interpreter with GNU Health and the folder of the practice.
async fn practice() -> (PathBuf, PathBuf) {
    let python = Project::new("gnuhealth", "gnuhealth", SUITE).python().await;
    let project = Project::new("gnuhealth-practice", "gnuhealth", SUITE);
    let practice = project.installed(&SOURCES, async |folder| {
        let mut prepare = Command::new(&python);
        prepare.args(["-W", "ignore"]).arg(project.sources.join("prepare.py")).arg(folder);
        run(prepare, PREPARE_LIMIT).await.map(drop)
    });
    let practice = practice.await;
    (python, practice)
}
