//! The store in a database: connected as configured, with owners derived from the setup.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use records::{
    Scope,
    document::DocumentKind,
    schema::{RESOURCES, rules},
};
use setup::{
    Setup,
    database::{Database, DatabaseTls},
};
use store::{
    StoreError,
    key_owner::KeyOwner,
    postgres::{self, Checked, Owners, PostgresConfig, PostgresStore, Tls},
};

use crate::{Incomplete, data_dir::DataDir};

/// Owner of keys without institution.
const NOBODY: u64 = 0;

/// The institutions of locations and data sources.
#[derive(Default)]
pub struct OwnersOfSetup(RwLock<HashMap<KeyOwner, u32>>);

impl OwnersOfSetup {
    /// Adds the owners of a setup. Must be called before anything is written for them, because the database fixes the
    /// owner with the first value. Owners no longer in the setup are kept.
    pub(crate) fn learn(&self, setup: &Setup) {
        let locations = setup.locations.values().map(|it| (KeyOwner::Location(it.id.0), it.institution.0));
        let sources = setup.sources.values().map(|it| (KeyOwner::Source(it.id), it.institution.0));
        self.0.write().extend(locations.chain(sources));
    }
}

impl Owners for OwnersOfSetup {
    fn records_owner(&self, kind: u8, scope: u32) -> KeyOwner {
        if [DocumentKind::Write.byte(), DocumentKind::FailedWrite.byte()].contains(&kind) {
            return KeyOwner::Location(scope);
        }
        let resource = RESOURCES.iter().find(|resource| rules(**resource).tag == kind);
        match resource.map(|resource| rules(*resource).scope) {
            Some(Scope::Institution) => KeyOwner::Institution(scope),
            Some(Scope::Source) => KeyOwner::Source(scope),
            Some(Scope::Location) => KeyOwner::Location(scope),
            // The scope of their keys has no owner.
            Some(Scope::Everywhere) | None => KeyOwner::Shared,
        }
    }

    /// Locations and data sources that the setup does not name have no owner. Data source 0 means none.
    fn owner(&self, key_owner: KeyOwner) -> u64 {
        match key_owner {
            KeyOwner::Location(_) | KeyOwner::Source(_) => {
                let known = self.0.read();
                known.get(&key_owner).map_or(NOBODY, |id| u64::from(*id))
            }
            KeyOwner::Institution(id) => id.into(),
            KeyOwner::Records { .. } | KeyOwner::Shared => NOBODY,
        }
    }
}

pub(crate) fn config(database: &Database) -> Result<PostgresConfig, StoreError> {
    let Some(url) = &database.url else {
        return Err(StoreError::Database { why: "its address is missing: set `url` in [postgres]".into() });
    };
    Ok(PostgresConfig {
        readers: database.readers,
        connect_timeout: database.connect_timeout,
        statement_timeout: database.statement_timeout,
        tls: match database.tls {
            DatabaseTls::Off => Tls::Off,
            DatabaseTls::Verify => Tls::Verify { ca: database.ca_file.clone() },
        },
        ..PostgresConfig::new(url.expose())
    })
}

/// Returns the owners of keys, for a store in a database.
pub fn owners_of(setup: &Setup) -> Arc<OwnersOfSetup> {
    let owners = Arc::new(OwnersOfSetup::default());
    owners.learn(setup);
    owners
}

/// Opens the store of the setup. Creates it in an empty database, unless one was created before.
pub(crate) async fn open(
    setup: &Setup,
    data: &DataDir,
    owners: Arc<OwnersOfSetup>,
) -> Result<PostgresStore, Incomplete> {
    let config = config(&setup.engine.database)?;
    let made = postgres::is_made(&config).await?;
    let key = data.database_key(made, setup.engine.accept_empty_store)?;
    if !made {
        postgres::migrate(&config, &key).await?;
    }
    Ok(PostgresStore::open(&config, &key, owners)?)
}

/// Migrates the database to the version of this program, and returns both versions. Creates a store if there is none.
pub async fn migrate_database(setup: &Setup, data_dir: &std::path::Path) -> Result<(u32, u32), Incomplete> {
    let data = DataDir::new(data_dir);
    let config = config(&setup.engine.database)?;
    let made = postgres::is_made(&config).await?;
    data.make()?;
    let key = data.database_key(made, false)?;
    Ok(postgres::migrate(&config, &key).await?)
}

/// Checks everything in the database.
pub async fn check_database(setup: &Setup, data_dir: &std::path::Path) -> Result<Checked, Incomplete> {
    let config = config(&setup.engine.database)?;
    let key = DataDir::new(data_dir).database_key(true, false)?;
    Ok(postgres::check(&config, &key).await?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use location::{InstitutionId, LocationId};
    use store::{key_owner, keys};

    use super::*;

    fn owners() -> OwnersOfSetup {
        OwnersOfSetup(RwLock::new([(KeyOwner::Location(101), 7), (KeyOwner::Source(11), 7)].into()))
    }

    /// Removed locations and sources keep their institution.
    #[test]
    fn owners_of_a_later_setup_are_added() {
        let owners = owners();
        let more = testing::location(LocationId(102), 8, 12);
        owners.learn(&testing::setup([], [more], [testing::source(12, 8)]));
        let homes = [
            KeyOwner::Location(101),
            KeyOwner::Source(11),
            KeyOwner::Location(102),
            KeyOwner::Source(12),
            KeyOwner::Source(0),
        ];
        assert_eq!(homes.map(|key_owner| owners.owner(key_owner)), [7, 7, 8, 8, NOBODY]);
    }

    /// Everything a turn writes belongs to its institution, except records that are found by their id alone.
    #[test]
    fn keys_of_a_location_belong_to_its_institution() {
        let owners = owners();
        let owner = |key: &[u8]| match key_owner::owner_for_key(key) {
            KeyOwner::Records { kind, scope } => owners.owner(owners.records_owner(kind, scope)),
            key_owner => owners.owner(key_owner),
        };
        let (institution, source, location) = (InstitutionId(7), 11, LocationId(101));
        for resource in RESOURCES {
            let scope = rules(*resource).scope;
            let of = scope.number(institution.0, Some(source), location.0);
            let expected = if scope == Scope::Everywhere { NOBODY } else { 7 };
            assert_eq!(owner(&keys::record(rules(*resource).tag, of, 5)), expected, "{resource:?}");
            assert_eq!(owner(&keys::before(rules(*resource).tag, of, 5)), expected, "{resource:?}");
        }
        assert_eq!(owner(&keys::record(DocumentKind::Write.byte(), 101, 5)), 7);
        assert_eq!(owner(&keys::record(DocumentKind::LastSync.byte(), 0, 101)), NOBODY);
        for key in [keys::journal(101, 1), keys::wake(5, 101), keys::claim(7, &[0; 32]), keys::link(11, 1, b"a")] {
            assert_eq!(owner(&key), 7);
        }
        for key in [keys::journal(102, 1), keys::link(0, 1, b"a"), keys::feed(1 << 32, 1), keys::counter("patient")] {
            assert_eq!(owner(&key), NOBODY);
        }
    }

    #[test]
    fn streams_of_one_reader_have_one_owner() {
        let owners = owners();
        let streams = [
            query::stream::Stream::Location(101),
            query::stream::Stream::Source(11),
            query::stream::Stream::Institution(7),
        ];
        let of: BTreeSet<u64> =
            streams.iter().map(|stream| owners.owner(key_owner::owner_for_stream(stream.number()))).collect();
        assert_eq!(of, [7].into());
    }
}
