//! The statements of the store. They use standard features, so that databases that implement the PostgreSQL
//! protocol and shard tables by the first column can run them. Arrays pass many rows to one statement.

use tokio_postgres::{Client, Error, Statement};

use crate::Direction;

/// Locks rows in key order, so that two processes cannot deadlock. Returns the value of the store's internal
/// rows, too.
const LOCK: &str = "SELECT v.owner, v.key, v.version, CASE WHEN v.key >= $3 THEN v.value END \
     FROM practice_sync_values v JOIN UNNEST($1::bigint[], $2::bytea[]) AS wanted (owner, key) \
     ON v.owner = wanted.owner AND v.key = wanted.key ORDER BY v.owner, v.key FOR UPDATE OF v";
/// Inserts absent keys. If a key exists by now, the statement fails and the group is checked again.
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

/// The prepared statements of one connection.
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

/// The variant of a scan: result columns, owner and direction.
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

    /// Returns the SQL text. Scans over all owners use the index by key.
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
