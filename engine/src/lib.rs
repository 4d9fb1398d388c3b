//! The engine as the API sees it: start and stop, requests and replies, reads. All rules live behind it, in the crates beside this folder.
//!
//! ```text
//!  api ──► engine ──► processor ──► location, records, query, webhooks (outbox), store
//!             ├─────► query, webhooks, workstations, adapter-host
//!             └─────► setup, runtime
//! ```

pub mod config_history;
mod connections;
mod data_dir;
mod directory;
pub mod engine;
mod gate_news;
pub mod open;
mod reads;
pub mod sandbox_host;
#[cfg(test)]
mod tests;
mod write_request_calls;

pub use ::{records, setup, store};
pub use processor::{
    actor::LocationActor,
    error::{EngineError, Refused},
    requests::{BookRequest, Booked, FreeSlots, Offer, PatientDetails},
};
pub use query::lists::Stretch;
pub use records::sync_state::SyncState;

pub use crate::{
    config_history::SetUp,
    data_dir::{Incomplete, salvage_data},
    engine::Engine,
    open::{Opened, open},
    reads::Shown,
};

// Until the API and the tests name the crates themselves.
pub use ::sandbox_ehr;
pub use processor::{requests as saving, write_requests};
pub use query::{feed, lists, retention as upkeep};
pub use records::{ehr, entries, form_answers as forms};
pub use runtime::{clock, metrics};
pub use store::{files, secrets};
pub mod webhooks {
    pub use ::webhooks::*;
    pub mod limits {
        pub use ::webhooks::limits::*;
        pub use setup::WebhookRules;
    }
}
pub mod workstations {
    pub use ::workstations::*;
    pub use records::sync_state::{GateState, GateStatus, Holder, QueueNews};
}
pub mod adapter_host {
    pub use ::adapter_host::*;
    pub use setup::{guests::*, login::*, secret::Secret};
}
pub mod once {
    pub use query::idempotency::{IdempotencyKey as Once, *};
}
pub mod known {
    pub use crate::config_history::SetUp;
}
pub mod actor {
    pub use processor::{actor::*, book, id_pool as pool, push_payload as outgoing, request};
    pub mod turn {
        pub use processor::{
            note_keys::description_key,
            turn::{Deps as Env, Processor as Shell, *},
        };
    }
    pub mod docs {
        pub use processor::unit_of_work::*;
        pub use records::document::*;
    }
}
pub mod index {
    pub use query::index::{Facets, Writes, write};
    pub use records::index::*;
    pub mod places {
        pub use query::index::places::*;
        pub use records::index::OrderBy;
    }
}
pub mod stamps {
    pub use processor::change_counter::ChangeCounter as Stamps;
}
