//! The same component on plain wasmtime as documented: fresh instances from a pool, and imports that answer
//! immediately. Without limits, deadlines, permits, checks and conversions; the difference is the overhead of the
//! adapter host.

use std::{path::Path, sync::Arc};

use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
    component::{Component, ComponentExportIndex, HasSelf, InstancePre, Linker},
};

use self::{
    super::adapter::Canned,
    contract::{
        exports::practice_sync::ehr::ehr::{Description, Fault, Page, Resource},
        practice_sync::ehr::{clock, config, gate, http, log, types},
    },
};

const EHR: &str = "practice-sync:ehr/ehr@1.0.0";

mod contract {
    wasmtime::component::bindgen!({
        path: "../wit/v1",
        world: "practice-sync:ehr/adapter",
        imports: {
            "practice-sync:ehr/http.send": async | trappable,
            "practice-sync:ehr/gate.send": async | trappable,
            default: trappable,
        },
        exports: { default: async },
    });
}

/// A component, ready to be instantiated.
pub struct Raw {
    engine: Engine,
    pre: InstancePre<Alone>,
    describe: ComponentExportIndex,
    pull: ComponentExportIndex,
}

/// State of a call's imports.
struct Alone(Arc<Canned>);

impl Raw {
    pub fn load(file: &Path) -> wasmtime::Result<Raw> {
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(PoolingAllocationConfig::new()));
        let engine = Engine::new(&config)?;
        let mut linker = Linker::new(&engine);
        contract::Adapter::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut Alone| state)?;
        let component = Component::from_file(&engine, file)?;
        let missing = |name: &str| wasmtime::Error::msg(format!("{name} is missing"));
        let ehr = component.get_export_index(None, EHR).ok_or_else(|| missing(EHR))?;
        let export = |name: &str| component.get_export_index(Some(&ehr), name).ok_or_else(|| missing(name));
        let (describe, pull) = (export("describe")?, export("pull")?);
        Ok(Raw { pre: linker.instantiate_pre(&component)?, engine, describe, pull })
    }

    pub async fn describe(&self, ehr: Arc<Canned>) -> wasmtime::Result<Result<Description, Fault>> {
        let mut store = Store::new(&self.engine, Alone(ehr));
        let instance = self.pre.instantiate_async(&mut store).await?;
        let describe = instance.get_typed_func::<(), (Result<Description, Fault>,)>(&mut store, self.describe)?;
        Ok(describe.call_async(&mut store, ()).await?.0)
    }

    pub async fn patients(
        &self,
        ehr: Arc<Canned>,
        cursor: Option<&str>,
        limit: u32,
    ) -> wasmtime::Result<Result<Page, Fault>> {
        let mut store = Store::new(&self.engine, Alone(ehr));
        let instance = self.pre.instantiate_async(&mut store).await?;
        type PullArguments<'a> = (Resource, Option<&'a str>, u32);
        let pull = instance.get_typed_func::<PullArguments<'_>, (Result<Page, Fault>,)>(&mut store, self.pull)?;
        Ok(pull.call_async(&mut store, (Resource::Patients, cursor, limit)).await?.0)
    }
}

impl http::Host for Alone {
    async fn send(&mut self, request: http::Request) -> wasmtime::Result<Result<http::Response, http::Error>> {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let method = match request.method {
            http::Method::Get => "GET",
            http::Method::Post => "POST",
            http::Method::Put => "PUT",
            http::Method::Patch => "PATCH",
            http::Method::Delete => "DELETE",
        };
        let headers = request.headers.into_iter().map(|header| (header.name, header.value)).collect();
        let answer = self.0.answer(method.to_owned(), path, query, headers, request.body);
        let headers = answer.headers.into_iter().map(|(name, value)| http::Header { name, value }).collect();
        Ok(Ok(http::Response { status: answer.status, headers, body: answer.body }))
    }
}

impl gate::Host for Alone {
    fn current(&mut self) -> wasmtime::Result<gate::State> {
        Ok(gate::State::Closed)
    }

    async fn send(&mut self, _: http::Request) -> wasmtime::Result<Result<http::Response, http::Error>> {
        Ok(Err(http::Error::NotSent("there is no gate".into())))
    }
}

impl log::Host for Alone {
    fn write(&mut self, _: log::Level, _: String) -> wasmtime::Result<()> {
        Ok(())
    }
}

/// In UTC.
impl clock::Host for Alone {
    fn now(&mut self) -> wasmtime::Result<i64> {
        Ok(runtime::clock::now().0 / 1_000)
    }

    fn to_instant(&mut self, local: String) -> wasmtime::Result<Vec<i64>> {
        Ok(local.parse().map(|at: chrono::NaiveDateTime| vec![at.and_utc().timestamp()]).unwrap_or_default())
    }

    fn to_local(&mut self, at: i64) -> wasmtime::Result<clock::Local> {
        let at = chrono::DateTime::from_timestamp_secs(at).ok_or_else(|| wasmtime::Error::msg("no such instant"))?;
        Ok(clock::Local { text: at.format("%FT%T").to_string(), offset: 0, abbreviation: "UTC".into() })
    }
}

impl config::Host for Alone {
    fn get(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        Ok(match &*name {
            "location" => Some("main-street".into()),
            "time-zone" => Some("UTC".into()),
            _ => None,
        })
    }
}

impl types::Host for Alone {}
