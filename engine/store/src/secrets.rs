//! Secrets the engine makes for itself, kept encrypted in its store.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use runtime::clock;
use sha2::Sha256;

use crate::{batch::Batch, contract::Store, error::CommitError, keys};

/// A secret per purpose, derived from one random seed.
#[derive(Clone)]
pub struct Secrets {
    seed: [u8; 32],
}

impl Secrets {
    /// Reads the seed, or makes it at the first start.
    pub async fn load(store: &Arc<dyn Store>) -> Result<Secrets, CommitError> {
        let key = keys::secret("seed");
        loop {
            if let Some(seed) = store.get(&key)?.and_then(|bytes| bytes.try_into().ok()) {
                return Ok(Secrets { seed });
            }
            let mut batch = Batch::new();
            batch.expect_absent(key.clone()).put(key.clone(), clock::random::<32>().to_vec());
            match store.commit(batch).await {
                Ok(()) | Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub fn from_seed(seed: [u8; 32]) -> Secrets {
        Secrets { seed }
    }

    /// A key for a purpose of its own, for example to seal slot tokens.
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        self.digest(&[b"derive", purpose.as_bytes()])
    }

    /// A keyed digest of parts, each told apart by its length.
    pub fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.seed).expect("HMAC takes keys of any length");
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// `bkg_` and hex: the appointment's id and a proof, so that a reference needs no index and cannot be guessed.
    pub fn booking_ref(&self, appointment: u64) -> String {
        let proof = self.digest(&[b"booking", &appointment.to_be_bytes()]);
        format!("bkg_{appointment:014x}{}", hex::encode(&proof[..10]))
    }

    /// The appointment a reference names; none when it was not made here.
    pub fn booking_of(&self, reference: &str) -> Option<u64> {
        let id = u64::from_str_radix(reference.strip_prefix("bkg_")?.get(..14)?, 16).ok()?;
        (self.booking_ref(id) == reference).then_some(id)
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_its_appointment_and_cannot_be_made_up() {
        let secrets = Secrets::from_seed([7; 32]);
        let reference = secrets.booking_ref(4711);
        assert_eq!(secrets.booking_of(&reference), Some(4711));
        let neighbour = reference.replace("00000000001267", "00000000001268");
        assert_ne!(neighbour, reference);
        for bad in [neighbour.as_str(), "bkg_", "", "bkg_zz", "slt_00000000001267"] {
            assert_eq!(secrets.booking_of(bad), None, "{bad}");
        }
        assert_eq!(Secrets::from_seed([8; 32]).booking_of(&reference), None);
    }
}
