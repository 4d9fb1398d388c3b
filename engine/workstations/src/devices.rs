//! Pairing codes for operators to hand out, paired workstations, and the fencing tokens of their leases. The store
//! contains only digests of codes and tokens.

use std::{net::IpAddr, sync::Arc};

use adapter_host::plain;
use location::{HOUR, LocationId, Timestamp};
use runtime::clock;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use store::{Batch, CommitError, Direction, Store, StoreError, Version, keys, secrets::Secrets};
use uuid::Uuid;

use super::{
    guesses::CodeRateLimiter,
    limits::{
        CODE_CHARACTERS, CODE_LIFETIME, CODES, ENROLMENT_CHARACTERS, ENROLMENT_HOURS, ENROLMENT_USES, NAME_BYTES,
        VERSION_BYTES, WORKSTATIONS,
    },
};

/// Without `0 1 I L O U`.
const LETTERS: &[u8; 30] = b"23456789ABCDEFGHJKMNPQRSTVWXYZ";
const TOKEN_PREFIX: &str = "psw_";
/// Number of attempts to commit after conflicts.
const TRIES: u32 = 20;

#[derive(Clone, Debug, thiserror::Error)]
pub enum WorkstationError {
    #[error("the location's EHR is not reached through workstations")]
    NotGated,
    #[error("the code is unknown, used or expired")]
    UnknownCode,
    #[error("too many wrong codes")]
    TooMany { retry_after: u32 },
    #[error("{0}")]
    Refused(&'static str),
    #[error(transparent)]
    Store(#[from] CommitError),
}

impl From<StoreError> for WorkstationError {
    fn from(error: StoreError) -> WorkstationError {
        WorkstationError::Store(error.into())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// One workstation, within ten minutes.
    Single,
    /// A roll-out to many workstations.
    Enrolment { uses: u32, hours: u32 },
}

/// A new code, shown only once.
#[derive(Clone, PartialEq, Eq)]
pub struct NewCode {
    pub code: String,
    pub uses: u32,
    pub expires: Timestamp,
}

impl std::fmt::Debug for NewCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NewCode({} uses, redacted)", self.uses)
    }
}

/// A paired workstation, with its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workstation {
    pub id: Uuid,
    pub location: LocationId,
    pub name: String,
    pub paired_at: Timestamp,
    pub last_seen: Option<Timestamp>,
    pub version: String,
    pub connected: bool,
    /// `true` if a user is logged in to the EHR there; `None` while not connected or not reported yet.
    pub logged_in: Option<bool>,
    pub paused: bool,
    /// Writes that wait for approval by staff at the workstation.
    pub awaiting: u32,
    /// `true` if requests of the location go to this workstation.
    pub holds_lease: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct Code {
    location: LocationId,
    uses: u32,
    expires: Timestamp,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Device {
    pub location: LocationId,
    pub name: String,
    pub paired_at: Timestamp,
    pub last_seen: Option<Timestamp>,
    pub version: String,
    token: [u8; 32],
}

/// The result of pairing, the only place where the token is returned.
pub struct NewDevice {
    pub id: Uuid,
    pub token: String,
    pub location: LocationId,
    /// The previous location of the installation.
    pub before: Option<LocationId>,
}

pub struct Devices {
    store: Arc<dyn Store>,
    secrets: Secrets,
    guesses: CodeRateLimiter,
}

impl Devices {
    pub fn new(store: Arc<dyn Store>, secrets: Secrets) -> Devices {
        Devices { store, secrets, guesses: CodeRateLimiter::default() }
    }

    pub async fn new_code(
        &self,
        location: LocationId,
        kind: CodeKind,
        now: Timestamp,
    ) -> Result<NewCode, WorkstationError> {
        let (characters, uses, lifetime) = match kind {
            CodeKind::Single => (CODE_CHARACTERS, 1, CODE_LIFETIME),
            CodeKind::Enrolment { uses, hours } => {
                if !(1..=ENROLMENT_USES).contains(&uses) || !(1..=ENROLMENT_HOURS).contains(&hours) {
                    return Err(WorkstationError::Refused(
                        "an enrolment code has 1 to 1000 uses and lives 1 to 720 hours",
                    ));
                }
                (ENROLMENT_CHARACTERS, uses, i64::from(hours) * HOUR)
            }
        };
        let code = random_code(characters);
        let (digest, expires) = (self.digest("pairing code", &code), now.plus(lifetime));
        let mut batch = Batch::new();
        let open = self.forget_codes(location, now, &mut batch)?;
        if open >= CODES {
            return Err(WorkstationError::Refused("the location has too many unused codes"));
        }
        batch.put(keys::pairing_code(&digest), json(&Code { location, uses, expires }));
        batch.put(keys::pairing_code_of(location.0, expires.0, &digest), Vec::new());
        self.store.commit(batch).await?;
        let code = if characters == CODE_CHARACTERS { format!("{}-{}", &code[..4], &code[4..]) } else { code };
        Ok(NewCode { code, uses, expires })
    }

    /// Deletes the location's expired codes. Returns the number of remaining ones.
    fn forget_codes(&self, location: LocationId, now: Timestamp, batch: &mut Batch) -> Result<usize, StoreError> {
        let known = self.store.scan_keys(keys::pairing_codes_of(location.0), Direction::Forward, 2 * CODES)?;
        let mut open = 0;
        for key in known {
            match keys::parse_pairing_code_of(&key) {
                Some((_, expires, digest)) if expires <= now.0 => {
                    batch.delete(keys::pairing_code(&digest)).delete(key);
                }
                _ => open += 1,
            }
        }
        Ok(open)
    }

    /// Pairs an installation with the code's location. Repeated pairing keeps the workstation's id and invalidates the
    /// old token.
    pub async fn pair(
        &self,
        peer: IpAddr,
        code: &str,
        name: &str,
        install: Uuid,
        now: Timestamp,
        is_gated: impl Fn(LocationId) -> bool,
    ) -> Result<NewDevice, WorkstationError> {
        let typed = normalised(code);
        let digest = self.digest("pairing code", typed.as_deref().unwrap_or_default());
        for _ in 0..TRIES {
            let look = || match typed {
                Some(_) => self.code(&digest, now),
                None => Ok(None),
            };
            let tried = self.guesses.attempt(peer, now, look);
            let found = tried.map_err(|retry_after| WorkstationError::TooMany { retry_after })??;
            let Some((code, seen)) = found else { return Err(WorkstationError::UnknownCode) };
            if !is_gated(code.location) {
                return Err(WorkstationError::NotGated);
            }
            let mut batch = Batch::new();
            self.use_code(&digest, code.clone(), seen, &mut batch);
            let made = self.make(code.location, name, install, now, &mut batch)?;
            match self.store.commit(batch).await {
                Ok(()) => return Ok(made),
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(WorkstationError::TooMany { retry_after: 1 })
    }

    fn code(&self, digest: &[u8; 32], now: Timestamp) -> Result<Option<(Code, Version)>, StoreError> {
        let key = keys::pairing_code(digest);
        let Some(found) = self.store.read(&key)? else { return Ok(None) };
        let code: Code = read(&key, &found.value)?;
        Ok((now < code.expires && code.uses > 0).then_some((code, found.version)))
    }

    fn use_code(&self, digest: &[u8; 32], code: Code, seen: Version, batch: &mut Batch) {
        let key = keys::pairing_code(digest);
        batch.expect_unchanged(key.clone(), Some(seen));
        if code.uses > 1 {
            batch.put(key, json(&Code { uses: code.uses - 1, ..code }));
        } else {
            batch.delete(key).delete(keys::pairing_code_of(code.location.0, code.expires.0, digest));
        }
    }

    fn make(
        &self,
        location: LocationId,
        name: &str,
        install: Uuid,
        now: Timestamp,
        batch: &mut Batch,
    ) -> Result<NewDevice, WorkstationError> {
        // The installation's own id is secret: a client that learned it from a list could take its place.
        let id = self.id_of(install);
        let key = keys::workstation(id.as_bytes());
        let seen = self.store.read(&key)?;
        let before = seen.as_ref().map(|seen| read::<Device>(&key, &seen.value)).transpose()?;
        let before = before.map(|device| device.location);
        if before != Some(location) {
            let there = self.store.scan_keys(keys::workstations_at(location.0), Direction::Forward, WORKSTATIONS)?;
            if there.len() >= WORKSTATIONS {
                return Err(WorkstationError::Refused("the location has too many workstations"));
            }
        }
        let token = format!("{TOKEN_PREFIX}{}{}", id.simple(), hex::encode(clock::random::<32>()));
        let name = plain(name.trim(), NAME_BYTES);
        let device = Device {
            location,
            name,
            paired_at: now,
            last_seen: None,
            version: String::new(),
            token: self.digest("workstation token", &token),
        };
        if let Some(before) = before {
            batch.delete(keys::workstation_at(before.0, id.as_bytes()));
        }
        batch.expect_unchanged(key.clone(), seen.map(|seen| seen.version)).put(key, json(&device));
        batch.put(keys::workstation_at(location.0, id.as_bytes()), Vec::new());
        Ok(NewDevice { id, token, location, before })
    }

    fn id_of(&self, install: Uuid) -> Uuid {
        let digest = self.secrets.digest(&[b"workstation", install.as_bytes()]);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }

    pub fn find_by_token(&self, token: &str) -> Result<Option<(Uuid, Device)>, StoreError> {
        let id = token.strip_prefix(TOKEN_PREFIX).and_then(|rest| Uuid::try_parse(rest.get(..32)?).ok());
        let Some(id) = id else { return Ok(None) };
        let device = self.get(id)?;
        // The digests use a secret key, so the duration of the comparison reveals nothing about the token.
        Ok(device.filter(|device| device.token == self.digest("workstation token", token)).map(|device| (id, device)))
    }

    pub fn get(&self, id: Uuid) -> Result<Option<Device>, StoreError> {
        let key = keys::workstation(id.as_bytes());
        self.store.get(&key)?.map(|bytes| read(&key, &bytes)).transpose()
    }

    pub fn at(&self, location: LocationId) -> Result<Vec<(Uuid, Device)>, StoreError> {
        let there = self.store.scan_keys(keys::workstations_at(location.0), Direction::Forward, 2 * WORKSTATIONS)?;
        let ids = there.iter().filter_map(|key| keys::parse_workstation_at(key)).map(|(_, id)| Uuid::from_bytes(id));
        let devices = ids.map(|id| Ok(self.get(id)?.map(|device| (id, device))));
        devices.filter_map(Result::transpose).collect()
    }

    /// Returns `false` if the location has no such workstation.
    pub async fn revoke(&self, location: LocationId, id: Uuid) -> Result<bool, WorkstationError> {
        let key = keys::workstation(id.as_bytes());
        for _ in 0..TRIES {
            let Some(seen) = self.store.read(&key)? else { return Ok(false) };
            if read::<Device>(&key, &seen.value)?.location != location {
                return Ok(false);
            }
            let mut batch = Batch::new();
            batch.expect_unchanged(key.clone(), Some(seen.version)).delete(key.clone());
            batch.delete(keys::workstation_at(location.0, id.as_bytes()));
            match self.store.commit(batch).await {
                Ok(()) => return Ok(true),
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(WorkstationError::TooMany { retry_after: 1 })
    }

    /// Stores the last-seen time. Gives up on conflict, because the concurrent change matters more.
    pub async fn seen(&self, id: Uuid, version: &str, now: Timestamp) -> Result<(), WorkstationError> {
        let key = keys::workstation(id.as_bytes());
        let Some(seen) = self.store.read(&key)? else { return Ok(()) };
        let device: Device = read(&key, &seen.value)?;
        let device = Device { last_seen: Some(now), version: plain(version, VERSION_BYTES), ..device };
        let mut batch = Batch::new();
        batch.expect_unchanged(key.clone(), Some(seen.version)).put(key, json(&device));
        match self.store.commit(batch).await {
            Ok(()) | Err(CommitError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Allocates the next fencing token of a location. It is durable before it is returned, and unique across
    /// processes.
    pub async fn next_lease(&self, location: LocationId) -> Result<u64, WorkstationError> {
        let key = keys::lease(location.0);
        for _ in 0..TRIES {
            let seen = self.store.read(&key)?;
            let last = seen.as_ref().map(|seen| number(&key, &seen.value)).transpose()?.unwrap_or(0);
            let mut batch = Batch::new();
            batch
                .expect_unchanged(key.clone(), seen.map(|seen| seen.version))
                .put(key.clone(), (last + 1).to_be_bytes().to_vec());
            match self.store.commit(batch).await {
                Ok(()) => return Ok(last + 1),
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(WorkstationError::TooMany { retry_after: 1 })
    }

    fn digest(&self, what: &str, secret: &str) -> [u8; 32] {
        self.secrets.digest(&[what.as_bytes(), secret.as_bytes()])
    }
}

fn random_code(characters: usize) -> String {
    let mut code = String::with_capacity(characters);
    // Bytes from 240 on would make the first letters more likely.
    while code.len() < characters {
        let bytes = clock::random::<32>();
        let letters = bytes.iter().filter(|byte| **byte < 240).map(|byte| char::from(LETTERS[usize::from(byte % 30)]));
        code.extend(letters.take(characters - code.len()));
    }
    code
}

/// Normalises a typed code. Returns `None` if it cannot be a code.
fn normalised(typed: &str) -> Option<String> {
    if typed.len() > 2 * ENROLMENT_CHARACTERS {
        return None;
    }
    let code: String = typed.chars().filter(|c| !matches!(c, '-' | ' ')).map(|c| c.to_ascii_uppercase()).collect();
    let made = [CODE_CHARACTERS, ENROLMENT_CHARACTERS].contains(&code.len());
    (made && code.bytes().all(|byte| LETTERS.contains(&byte))).then_some(code)
}

fn json<T: Serialize>(record: &T) -> Vec<u8> {
    serde_json::to_vec(record).expect("plain data makes JSON")
}

fn read<T: DeserializeOwned>(key: &[u8], bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|_| StoreError::damaged(key, "a workstation record cannot be decoded"))
}

fn number(key: &[u8], bytes: &[u8]) -> Result<u64, StoreError> {
    let bytes = bytes.try_into().map_err(|_| StoreError::damaged(key, "not a number"))?;
    Ok(u64::from_be_bytes(bytes))
}
