//! The owners of values. The engine maps data sources and locations to institutions. The first mapping is
//! recorded in the database and stays valid, so that values are still found after a configuration change.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use parking_lot::RwLock;
use tokio_postgres::Error;

use super::session::Session;
use crate::key_owner::{self, KeyOwner};

/// The engine's mapping of records and locations to owners.
pub trait Owners: Send + Sync {
    /// Returns the owner of the records of a kind: an institution, a data source, a location, or `KeyOwner::Shared`.
    fn records_owner(&self, kind: u8, scope: u32) -> KeyOwner;
    /// Returns the institution. The result must be constant for the same argument, including unknown ones.
    /// `KeyOwner::Shared` must map to an id that no institution has.
    fn owner(&self, key_owner: KeyOwner) -> u64;
}

pub(super) struct Owned {
    configured: Arc<dyn Owners>,
    /// The owners of locations and data sources recorded in the database.
    settled: RwLock<HashMap<KeyOwner, i64>>,
}

impl Owned {
    pub(super) fn new(configured: Arc<dyn Owners>, rows: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let settled =
            rows.into_iter().map(|(key_owner, owner)| (key_owner::owner_for_stream(key_owner.cast_unsigned()), owner));
        Self { configured, settled: RwLock::new(settled.collect()) }
    }

    pub(super) fn shared(&self) -> i64 {
        self.id_for(KeyOwner::Shared)
    }

    pub(super) fn id_for_key(&self, key: &[u8]) -> i64 {
        self.id_for(key_owner::owner_for_key(key))
    }

    pub(super) fn id_for(&self, key_owner: KeyOwner) -> i64 {
        let key_owner = self.named(key_owner);
        let settled = self.settled.read().get(&key_owner).copied();
        settled.unwrap_or_else(|| self.configured.owner(key_owner).cast_signed())
    }

    fn named(&self, key_owner: KeyOwner) -> KeyOwner {
        match key_owner {
            KeyOwner::Records { kind, scope } => self.configured.records_owner(kind, scope),
            other => other,
        }
    }

    /// Returns the given owners for which this process knows no recorded mapping.
    pub(super) fn unsettled(&self, homes: impl IntoIterator<Item = KeyOwner>) -> BTreeSet<KeyOwner> {
        let settled = self.settled.read();
        let homes = homes.into_iter().map(|key_owner| self.named(key_owner));
        homes.filter(|key_owner| number(*key_owner).is_some() && !settled.contains_key(key_owner)).collect()
    }

    /// Records the mappings in the database, before the first value is written for them. A mapping recorded
    /// earlier by another process takes precedence.
    pub(super) async fn settle(&self, session: &Session, homes: BTreeSet<KeyOwner>) -> Result<(), Error> {
        let (client, statements) = (session.client(), &session.statements);
        for key_owner in homes {
            let Some(number) = number(key_owner) else { continue };
            let configured = self.configured.owner(key_owner).cast_signed();
            client.execute(&statements.owned, &[&number, &configured]).await?;
            let owner: i64 = client.query_one(&statements.owner, &[&number]).await?.get(0);
            if owner != configured {
                tracing::warn!(
                    ?key_owner,
                    owner,
                    configured,
                    "the configuration names another institution than at first: the first one counts"
                );
            }
            self.settled.write().insert(key_owner, owner);
        }
        Ok(())
    }
}

/// Returns the number of an owner in the database, in the format of stream numbers. Returns `None` for owners
/// without a mapping.
fn number(key_owner: KeyOwner) -> Option<i64> {
    match key_owner {
        KeyOwner::Source(id) => Some(1 << 32 | i64::from(id)),
        KeyOwner::Location(id) => Some(2 << 32 | i64::from(id)),
        KeyOwner::Institution(_) | KeyOwner::Records { .. } | KeyOwner::Shared => None,
    }
}
