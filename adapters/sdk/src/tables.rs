//! An adapter as tables of the records it reads and writes. [`Adapter`]'s four calls follow from them.
//!
//! ```
//! use adapter_sdk::{
//!     Description, Fault, Receipt, Record, Resource, http,
//!     records::Operatory,
//!     streams::{Ask, List, Listed, Mapped, Rows, Stream},
//!     tables::Tables,
//!     writes::Handler,
//! };
//! use serde_json::Value;
//!
//! /// The EHR for one call: settings, requested credentials, cached lookups.
//! struct Example;
//!
//! impl Tables for Example {
//!     const STREAMS: &'static [Stream<Example>] = &[Stream::whole(Resource::Operatories, ROOMS)];
//!     const WRITES: &'static [Handler<Example>] = &[];
//!
//!     fn open() -> Result<Example, Fault> {
//!         Ok(Example)
//!     }
//!
//!     fn about(&self, by_tables: Description) -> Result<Description, Fault> {
//!         let version = env!("CARGO_PKG_VERSION").into();
//!         Ok(Description { name: "Example".into(), version, operatories: true, ..by_tables })
//!     }
//! }
//!
//! const ROOMS: &[List<Example>] = &[List { prefix: "", page: rooms, rows: Rows { id: "id", map: room } }];
//!
//! fn rooms(_: &Example, asked: &Ask) -> Result<Listed, Fault> {
//!     let rows = http::get_json(format!("/rooms?offset={}&limit={}", asked.number()?, asked.limit))?;
//!     Listed::offset(rows, asked)
//! }
//!
//! fn room(_: &Example, _: Resource, row: Value) -> Mapped {
//!     let text = |name: &str| row[name].as_str().map(str::to_owned).ok_or(format!("`{name}` is missing"));
//!     let (id, name) = (text("id")?, text("name")?);
//!     Ok(Record::Operatory(Operatory { id, name, active: true, ..Default::default() }).into())
//! }
//!
//! adapter_sdk::export_adapter!(Example);
//! ```

use crate::{
    Adapter, Description, Fault, Page, PatientField, Receipt, Resource, Write, WriteKind, change, streams::Stream,
    warn, writes::Handler,
};

/// One EHR behind the contract, as tables. Every call creates a new instance.
pub trait Tables: Sized + 'static {
    /// The readable resources, ordered so that records follow those they refer to.
    const STREAMS: &'static [Stream<Self>];
    /// The supported writes.
    const WRITES: &'static [Handler<Self>];
    /// Patient fields that the EHR does not store. A write that loses one is logged.
    const UNKEPT: &'static [PatientField] = &[];

    /// Creates the instance for one call. Reads the settings and sends no request that the call may not need.
    fn open() -> Result<Self, Fault>;

    /// Checks that this practice's EHR accepts such a write, if that has to be checked before each write.
    fn takes(&self, _: WriteKind) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns the EHR's capabilities. `by_tables` follows from the tables; the adapter adds its name and removes what
    /// this practice's EHR does not support.
    fn about(&self, by_tables: Description) -> Result<Description, Fault>;
}

impl<T: Tables> Adapter for T {
    fn describe() -> Result<Description, Fault> {
        let writes: Vec<_> = T::WRITES.iter().map(Handler::kind).collect();
        T::open()?.about(Description {
            pulls: T::STREAMS.iter().map(Stream::ability).collect(),
            new_patients: writes.contains(&WriteKind::CreatePatient),
            writes,
            unkept_patient_fields: T::UNKEPT.to_vec(),
            ..Description::default()
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        let stream = T::STREAMS.iter().find(|stream| stream.resource == resource);
        let stream = stream.ok_or_else(|| Fault::unsupported("this adapter does not read such records"))?;
        stream.pull(&T::open()?, cursor.as_deref(), limit)
    }

    fn push(write_key: String, write: Write) -> Result<Receipt, Fault> {
        let handler = handler_of::<T>(&write)?;
        let ehr = T::open()?;
        ehr.takes(handler.kind())?;
        if let Write::CreatePatient(patient) | Write::UpdatePatient(crate::PatientChange { patient, .. }) = &write {
            let lost = change::lost(patient, T::UNKEPT);
            if !lost.is_empty() {
                warn!("the EHR has no field for {}", lost.join(", "));
            }
        }
        handler.push(&ehr, &write_key, &write)
    }

    fn find(write_key: String, write: Write) -> Result<Option<Receipt>, Fault> {
        match handler_of::<T>(&write)?.find(&T::open()?, &write_key, &write) {
            // A refused lookup does not prove that nothing was written, so it is retried.
            Err(Fault::Rejected(why)) => Err(Fault::retry_later(why, None)),
            found => found,
        }
    }
}

fn handler_of<T: Tables>(write: &Write) -> Result<&'static Handler<T>, Fault> {
    let handler = T::WRITES.iter().find(|handler| handler.writes(write));
    handler.ok_or_else(|| Fault::unsupported("this adapter does not write such records"))
}
