//! Visit tokens: `vis_` and hex of a nonce and an appointment sealed with XAES-256-GCM, the cipher of the store.
//! Stateless; a token can be neither altered nor guessed, and it shows no ids to its holder.
//!
//! A nonce has 24 random bytes, so that two tokens never share one.

use location::{AppointmentId, InstitutionId, LocationId, MINUTE, Millis, PatientId, Timestamp};
use xaes_256_gcm::{
    Key, Nonce, Tag, Xaes256Gcm,
    aead::{AeadInOut, KeyInit, inout::InOutBuf},
};

use crate::values::{
    secret::{Secret, random},
    slot_token::ByteReader,
};

pub const LIFETIME: Millis = 30 * MINUTE;

const PREFIX: &str = "vis_";
const NONCE: usize = 24;
/// Bytes of the encrypted appointment.
const VISIT: usize = 4 + 4 + 8 + 4 + 8;
/// Bytes of the authentication tag.
const TAG: usize = 16;

pub struct VisitTokens(Xaes256Gcm);

/// The appointment that a token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedVisit {
    pub institution: InstitutionId,
    pub location: LocationId,
    pub appointment: AppointmentId,
    /// The found patient. Staff may give the appointment to another one.
    pub patient: PatientId,
    pub expires: Timestamp,
}

impl VisitTokens {
    pub fn new(secret: &Secret) -> VisitTokens {
        let key: Key = secret.derive("visit token seal").into();
        VisitTokens(Xaes256Gcm::new(&key))
    }

    /// Returns a token for a visit. Two calls return two tokens.
    pub fn seal(&self, visit: SealedVisit) -> String {
        let (nonce, mut bytes) = (random::<NONCE>(), encode(visit));
        let tag = self
            .0
            .encrypt_inout_detached(&Nonce::from(nonce), &[], InOutBuf::from(&mut bytes[..]))
            .expect("an appointment is far shorter than the limit of the cipher");
        format!("{PREFIX}{}{}{}", hex::encode(nonce), hex::encode(bytes), hex::encode(tag))
    }

    /// Returns `None` for tokens that were not sealed with this secret. The caller checks the expiry.
    pub fn open(&self, token: &str) -> Option<SealedVisit> {
        let mut sealed = [0; NONCE + VISIT + TAG];
        // Fails for a text of another length.
        hex::decode_to_slice(token.strip_prefix(PREFIX)?, &mut sealed).ok()?;
        let (nonce, rest) = sealed.split_first_chunk_mut::<NONCE>()?;
        let (visit, tag) = rest.split_first_chunk_mut::<VISIT>()?;
        let (nonce, tag) = (Nonce::from(*nonce), Tag::from(*tag.first_chunk::<TAG>()?));
        self.0.decrypt_inout_detached(&nonce, &[], InOutBuf::from(&mut visit[..]), &tag).ok()?;
        decode(visit)
    }
}

fn encode(visit: SealedVisit) -> [u8; VISIT] {
    let mut bytes = [0; VISIT];
    bytes[..4].copy_from_slice(&visit.institution.0.to_be_bytes());
    bytes[4..8].copy_from_slice(&visit.location.0.to_be_bytes());
    bytes[8..16].copy_from_slice(&visit.appointment.0.to_be_bytes());
    bytes[16..20].copy_from_slice(&visit.patient.0.to_be_bytes());
    bytes[20..].copy_from_slice(&visit.expires.0.to_be_bytes());
    bytes
}

fn decode(bytes: &[u8; VISIT]) -> Option<SealedVisit> {
    let mut fields = ByteReader(bytes);
    Some(SealedVisit {
        institution: InstitutionId(fields.u32()?),
        location: LocationId(fields.u32()?),
        appointment: AppointmentId(fields.u64()?),
        patient: PatientId(fields.u32()?),
        expires: fields.time()?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn visit() -> SealedVisit {
        SealedVisit {
            institution: InstitutionId(3),
            location: LocationId(7),
            appointment: AppointmentId(4_711),
            patient: PatientId(12),
            expires: Timestamp(1_800_000_900_000),
        }
    }

    #[test]
    fn a_visit_token_opens_to_the_sealed_visit() {
        let tokens = VisitTokens::new(&Secret::from_bytes([1; 32]));
        let (one, other) = (tokens.seal(visit()), tokens.seal(visit()));
        assert_eq!((tokens.open(&one), tokens.open(&other)), (Some(visit()), Some(visit())));
        assert_ne!(one, other);
    }

    #[test]
    fn a_visit_token_shows_no_ids() {
        let tokens = VisitTokens::new(&Secret::from_bytes([1; 32]));
        let plain = encode(visit());
        for part in [&plain[..8], &plain[8..16], &plain[20..]] {
            assert!(!tokens.seal(visit()).contains(&hex::encode(part)));
        }
    }

    #[test]
    fn no_altered_visit_token_opens() {
        let tokens = VisitTokens::new(&Secret::from_bytes([1; 32]));
        let token = tokens.seal(visit());
        for at in 0..token.len() {
            let mut altered = token.clone().into_bytes();
            altered[at] = if altered[at] == b'0' { b'1' } else { b'0' };
            assert_eq!(tokens.open(&String::from_utf8(altered).unwrap()), None, "byte {at}");
        }
        assert_eq!(VisitTokens::new(&Secret::from_bytes([2; 32])).open(&token), None);
        for wrong in ["", "vis_", "vis_00", &token[..token.len() - 2], &format!("{token}00"), "vis_é", &token[4..]] {
            assert_eq!(tokens.open(wrong), None, "{wrong:.60}");
        }
    }
}
