//! The owners of values. The engine maps data sources and locations to institutions. The first mapping is
//! recorded in the database and stays valid, so that values are still found after a configuration change.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use tokio_postgres::Error;

use super::session::Session;
use crate::home::{self, Home};

/// The engine's mapping of records and locations to owners.
pub trait Owners: Send + Sync {
    /// Returns the owner of the records of a kind: an institution, a data source, a location, or `Home::Shared`.
    fn of_records(&self, kind: u8, scope: u32) -> Home;
    /// Returns the institution. The result must be constant for the same argument, including unknown ones.
    /// `Home::Shared` must map to an id that no institution has.
    fn owner(&self, home: Home) -> u64;
}

pub(super) struct Owned {
    configured: Arc<dyn Owners>,
    /// The owners of locations and data sources recorded in the database.
    settled: RwLock<HashMap<Home, i64>>,
}

impl Owned {
    pub(super) fn new(configured: Arc<dyn Owners>, rows: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let settled = rows.into_iter().map(|(home, owner)| (home::of_stream(home.cast_unsigned()), owner));
        Self { configured, settled: RwLock::new(settled.collect()) }
    }

    pub(super) fn shared(&self) -> i64 {
        self.of(Home::Shared)
    }

    pub(super) fn of_key(&self, key: &[u8]) -> i64 {
        self.of(home::of_key(key))
    }

    pub(super) fn of(&self, home: Home) -> i64 {
        let home = self.named(home);
        let settled = self.settled.read().unwrap_or_else(PoisonError::into_inner).get(&home).copied();
        settled.unwrap_or_else(|| self.configured.owner(home).cast_signed())
    }

    fn named(&self, home: Home) -> Home {
        match home {
            Home::Records { kind, scope } => self.configured.of_records(kind, scope),
            other => other,
        }
    }

    /// Returns the given owners for which this process knows no recorded mapping.
    pub(super) fn unsettled(&self, homes: impl IntoIterator<Item = Home>) -> BTreeSet<Home> {
        let settled = self.settled.read().unwrap_or_else(PoisonError::into_inner);
        let homes = homes.into_iter().map(|home| self.named(home));
        homes.filter(|home| number(*home).is_some() && !settled.contains_key(home)).collect()
    }

    /// Records the mappings in the database, before the first value is written for them. A mapping recorded
    /// earlier by another process takes precedence.
    pub(super) async fn settle(&self, session: &Session, homes: BTreeSet<Home>) -> Result<(), Error> {
        let (client, statements) = (session.client(), &session.statements);
        for home in homes {
            let Some(number) = number(home) else { continue };
            let configured = self.configured.owner(home).cast_signed();
            client.execute(&statements.owned, &[&number, &configured]).await?;
            let owner: i64 = client.query_one(&statements.owner, &[&number]).await?.get(0);
            if owner != configured {
                tracing::warn!(
                    ?home,
                    owner,
                    configured,
                    "the configuration names another institution than at first: the first one counts"
                );
            }
            self.settled.write().unwrap_or_else(PoisonError::into_inner).insert(home, owner);
        }
        Ok(())
    }
}

/// Returns the number of an owner in the database, in the format of stream numbers. Returns `None` for owners
/// without a mapping.
fn number(home: Home) -> Option<i64> {
    match home {
        Home::Source(id) => Some(1 << 32 | i64::from(id)),
        Home::Location(id) => Some(2 << 32 | i64::from(id)),
        Home::Institution(_) | Home::Records { .. } | Home::Shared => None,
    }
}
