//! Every statement the store runs. They are ordinary ones: databases that speak PostgreSQL's protocol and spread a table by its first
//! column can run them too. Arrays carry many rows in one statement.

use tokio_postgres::{Client, Error, Statement};

use crate::range::Direction;

/// Rows are locked in the order of their keys, so that two processes cannot wait for each other here. Of the store's own rows the value
/// is needed, too.
const LOCK: &str = "SELECT v.owner, v.key, v.version, CASE WHEN v.key >= $3 THEN v.value END \
     FROM practice_sync_values v JOIN UNNEST($1::bigint[], $2::bytea[]) AS wanted (owner, key) \
     ON v.owner = wanted.owner AND v.key = wanted.key ORDER BY v.owner, v.key FOR UPDATE OF v";
/// Of keys that hold nothing: one that holds something by now is an error, and the group is judged again.
const INSERT: &str = "INSERT INTO practice_sync_values (owner, key, value, version) \
     SELECT owner, key, value, version FROM UNNEST($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[]) \
     AS added (owner, key, value, version)";
const PUT: &str = "INSERT INTO practice_sync_values (owner, key, value, version) \
     SELECT owner, key, value, version FROM UNNEST($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[]) \
     AS added (owner, key, value, version) \
     ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value, version = excluded.version";
const DELETE: &str = "DELETE FROM practice_sync_values v USING UNNEST($1::bigint[], $2::bytea[]) AS gone (owner, key) \
     WHERE v.owner = gone.owner AND v.key = gone.key";
const READ: &str = "SELECT value FROM practice_sync_values WHERE owner = $1 AND key = $2";
const READ_MANY: &str = "SELECT v.key, v.value FROM practice_sync_values v \
     JOIN UNNEST($1::bigint[], $2::bytea[]) AS wanted (owner, key) ON v.owner = wanted.owner AND v.key = wanted.key";
const OWNED: &str = "INSERT INTO practice_sync_homes (home, owner) VALUES ($1, $2) ON CONFLICT (home) DO NOTHING";
const OWNER: &str = "SELECT owner FROM practice_sync_homes WHERE home = $1";

/// Of one connection.
pub(super) struct Statements {
    pub lock: Statement,
    pub insert: Statement,
    pub put: Statement,
    pub delete: Statement,
    pub read: Statement,
    pub read_many: Statement,
    pub owned: Statement,
    pub owner: Statement,
    scans: [Statement; 8],
}

/// What a scan answers, of whom, and from which end.
#[derive(Clone, Copy)]
pub(super) struct Scan {
    pub values: bool,
    pub one_owner: bool,
    pub direction: Direction,
}

impl Scan {
    fn number(self) -> usize {
        usize::from(self.values)
            | usize::from(self.one_owner) << 1
            | usize::from(self.direction == Direction::Backward) << 2
    }

    fn all() -> [Scan; 8] {
        std::array::from_fn(|n| Scan {
            values: n & 1 != 0,
            one_owner: n & 2 != 0,
            direction: if n & 4 != 0 { Direction::Backward } else { Direction::Forward },
        })
    }

    /// Over all owners a second index has the keys in their order.
    fn text(self) -> String {
        let value = if self.values { ", value" } else { "" };
        let owner = if self.one_owner { "owner = $4 AND " } else { "" };
        let order = match self.direction {
            Direction::Forward => "ASC",
            Direction::Backward => "DESC",
        };
        format!(
            "SELECT key{value} FROM practice_sync_values WHERE {owner}key >= $1 AND key < $2 ORDER BY key {order} LIMIT $3"
        )
    }
}

impl Statements {
    pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
        let mut scans = Vec::with_capacity(8);
        for scan in Scan::all() {
            scans.push(client.prepare(&scan.text()).await?);
        }
        let (lock, insert, put, delete, read, read_many, owned, owner) = tokio::try_join!(
            client.prepare(LOCK),
            client.prepare(INSERT),
            client.prepare(PUT),
            client.prepare(DELETE),
            client.prepare(READ),
            client.prepare(READ_MANY),
            client.prepare(OWNED),
            client.prepare(OWNER),
        )?;
        let scans = scans.try_into().unwrap_or_else(|_| unreachable!("there are eight"));
        Ok(Self { lock, insert, put, delete, read, read_many, owned, owner, scans })
    }

    pub(super) fn scan(&self, scan: Scan) -> &Statement {
        &self.scans[scan.number()]
    }
}
