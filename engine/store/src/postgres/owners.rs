//! Under whom a value lies. The engine says which institution a data source or a location is of; what was said first stays true in the
//! database, so that nothing is looked for in the wrong place when a configuration changes.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use tokio_postgres::Error;

use super::session::Session;
use crate::home::{self, Home};

/// What the store has to be told of the engine's setup.
pub trait Owners: Send + Sync {
    /// Whose the records of a kind are: an institution's, a data source's, a location's or nobody's.
    fn of_records(&self, kind: u8, scope: u32) -> Home;
    /// The institution. The same for the same place, also for one that is unknown; `Home::Shared` is one that no institution has.
    fn owner(&self, home: Home) -> u64;
}

pub(super) struct Owned {
    told: Arc<dyn Owners>,
    /// Locations and data sources, as the database has them.
    settled: RwLock<HashMap<Home, i64>>,
}

impl Owned {
    pub(super) fn new(told: Arc<dyn Owners>, rows: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let settled = rows.into_iter().map(|(home, owner)| (home::of_stream(home.cast_unsigned()), owner));
        Self { told, settled: RwLock::new(settled.collect()) }
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
        settled.unwrap_or_else(|| self.told.owner(home).cast_signed())
    }

    fn named(&self, home: Home) -> Home {
        match home {
            Home::Records { kind, scope } => self.told.of_records(kind, scope),
            other => other,
        }
    }

    /// Those of these places that nothing was written for yet, as far as this process knows.
    pub(super) fn unsettled(&self, homes: impl IntoIterator<Item = Home>) -> BTreeSet<Home> {
        let settled = self.settled.read().unwrap_or_else(PoisonError::into_inner);
        let homes = homes.into_iter().map(|home| self.named(home));
        homes.filter(|home| number(*home).is_some() && !settled.contains_key(home)).collect()
    }

    /// Says in the database whose they are, before the first value is written for them. Another process may have said it already.
    pub(super) async fn settle(&self, session: &Session, homes: BTreeSet<Home>) -> Result<(), Error> {
        let (client, statements) = (session.client(), &session.statements);
        for home in homes {
            let Some(number) = number(home) else { continue };
            let told = self.told.owner(home).cast_signed();
            client.execute(&statements.owned, &[&number, &told]).await?;
            let owner: i64 = client.query_one(&statements.owner, &[&number]).await?.get(0);
            if owner != told {
                tracing::warn!(
                    ?home,
                    owner,
                    told,
                    "the configuration names another institution than at first: the first one counts"
                );
            }
            self.settled.write().unwrap_or_else(PoisonError::into_inner).insert(home, owner);
        }
        Ok(())
    }
}

/// In the database: as streams are numbered. None for what is its own owner.
fn number(home: Home) -> Option<i64> {
    match home {
        Home::Source(id) => Some(1 << 32 | i64::from(id)),
        Home::Location(id) => Some(2 << 32 | i64::from(id)),
        Home::Institution(_) | Home::Records { .. } | Home::Shared => None,
    }
}
