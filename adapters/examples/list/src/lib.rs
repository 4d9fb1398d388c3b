//! A minimal adapter: two lists of an EHR, providers and operatories, read and never written.

use adapter_sdk::{
    Description, Fault, Record, Resource, config, http,
    records::{Operatory, Provider},
    settings,
    streams::{Ask, Changes, Mapped, Stream},
    tables::Tables,
    writes::Handler,
};
use serde::Deserialize;
use serde_json::Value;

/// The EHR for one call.
#[derive(Deserialize)]
pub struct Practice {
    page_size: u32,
}

adapter_sdk::export_adapter!(Practice);

impl Tables for Practice {
    const STREAMS: &'static [Stream<Practice>] = &[
        Stream::changes(Resource::Providers, |ehr, asked| ehr.list("providers", asked), "id", provider),
        Stream::changes(Resource::Operatories, |ehr, asked| ehr.list("operatories", asked), "id", operatory),
    ];
    const WRITES: &'static [Handler<Practice>] = &[];

    fn open() -> Result<Practice, Fault> {
        settings::read()
    }

    fn about(&self, by_tables: Description) -> Result<Description, Fault> {
        Ok(Description { name: "Example".into(), version: env!("CARGO_PKG_VERSION").into(), ..by_tables })
    }
}

#[derive(Deserialize)]
struct ListResponse {
    records: Vec<Value>,
    deleted: Vec<String>,
    revision: u64,
    more: bool,
}

impl Practice {
    /// Reads changes after a revision of the EHR, or everything without one.
    fn list(&self, name: &str, asked: &Ask) -> Result<Option<Changes>, Fault> {
        let (location, since) = (http::encode(&config::require("location")?), asked.at.unwrap_or("0"));
        let limit = asked.limit.min(self.page_size);
        let list: ListResponse = http::get_json(format!("/v1/{name}?location={location}&since={since}&limit={limit}"))?;
        let mark = list.revision.to_string();
        Ok(Some(Changes { rows: list.records, deleted: list.deleted, mark, more: list.more, total: None }))
    }
}

fn text(row: &Value, field: &str) -> Result<String, String> {
    row[field].as_str().map(str::to_owned).ok_or_else(|| format!("`{field}` is no text"))
}

fn provider(_: &Practice, _: Resource, row: Value) -> Mapped {
    let (first_name, last_name) = (text(&row, "first_name")?, text(&row, "last_name")?);
    Ok(Record::Provider(Provider { id: text(&row, "id")?, first_name, last_name, ..Provider::default() }).into())
}

fn operatory(_: &Practice, _: Resource, row: Value) -> Mapped {
    let (active, bookable_online) = (row["in_use"] == true, row["web_booking"] == true);
    let (id, name) = (text(&row, "id")?, text(&row, "name")?);
    Ok(Record::Operatory(Operatory { id, name, active, bookable_online, ..Operatory::default() }).into())
}
