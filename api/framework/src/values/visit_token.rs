//! Visit tokens: `vis_` and hex of an authentication tag and an encrypted appointment. Stateless; a token can be
//! neither altered nor guessed, and it shows no ids to its holder.
//!
//! The tag authenticates the plain text, which contains a nonce, and is the input of the key stream. Two tokens thus
//! never share a key stream.

use location::{
    ids::{AppointmentId, InstitutionId, LocationId, PatientId},
    time::{MINUTE, Millis, Timestamp},
};

use crate::values::secret::{MacKey, Secret, random};

/// Lifetime of a visit token.
pub const LIFETIME: Millis = 30 * MINUTE;

const PREFIX: &str = "vis_";
/// Bytes of the authentication tag in a token.
const TAG: usize = 16;
/// Bytes of the plain text: as many as one block of the key stream.
const VISIT: usize = 4 + 4 + 8 + 4 + 8 + 4;

pub struct VisitTokens {
    tag: MacKey,
    stream: MacKey,
}

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
        VisitTokens { tag: secret.key("visit token"), stream: secret.key("visit token cipher") }
    }

    /// Returns a token for a visit. Two calls return two tokens.
    pub fn seal(&self, visit: SealedVisit) -> String {
        let mut bytes = encode(visit, random::<4>());
        let tag = self.tag.tag(&[&bytes]);
        self.apply_stream(&tag[..TAG], &mut bytes);
        format!("{PREFIX}{}{}", hex::encode(&tag[..TAG]), hex::encode(bytes))
    }

    /// Returns `None` for tokens that were not sealed with this secret. The caller checks the expiry.
    pub fn open(&self, token: &str) -> Option<SealedVisit> {
        let digits = token.strip_prefix(PREFIX).filter(|digits| digits.len() == 2 * (TAG + VISIT))?;
        let sealed = hex::decode(digits).ok()?;
        let (tag, sealed) = sealed.split_at(TAG);
        let mut bytes: [u8; VISIT] = sealed.try_into().ok()?;
        self.apply_stream(tag, &mut bytes);
        if !self.tag.verifies(&[&bytes], tag) {
            return None;
        }
        decode(&bytes)
    }

    /// Encrypts or decrypts.
    fn apply_stream(&self, tag: &[u8], bytes: &mut [u8; VISIT]) {
        let stream = self.stream.tag(&[tag]);
        bytes.iter_mut().zip(stream).for_each(|(byte, mask)| *byte ^= mask);
    }
}

fn encode(visit: SealedVisit, nonce: [u8; 4]) -> [u8; VISIT] {
    let mut bytes = [0; VISIT];
    bytes[..4].copy_from_slice(&visit.institution.0.to_be_bytes());
    bytes[4..8].copy_from_slice(&visit.location.0.to_be_bytes());
    bytes[8..16].copy_from_slice(&visit.appointment.0.to_be_bytes());
    bytes[16..20].copy_from_slice(&visit.patient.0.to_be_bytes());
    bytes[20..28].copy_from_slice(&visit.expires.0.to_be_bytes());
    bytes[28..].copy_from_slice(&nonce);
    bytes
}

fn decode(bytes: &[u8; VISIT]) -> Option<SealedVisit> {
    let (institution, rest) = bytes.split_first_chunk::<4>()?;
    let (location, rest) = rest.split_first_chunk::<4>()?;
    let (appointment, rest) = rest.split_first_chunk::<8>()?;
    let (patient, rest) = rest.split_first_chunk::<4>()?;
    let (expires, _) = rest.split_first_chunk::<8>()?;
    Some(SealedVisit {
        institution: InstitutionId(u32::from_be_bytes(*institution)),
        location: LocationId(u32::from_be_bytes(*location)),
        appointment: AppointmentId(u64::from_be_bytes(*appointment)),
        patient: PatientId(u32::from_be_bytes(*patient)),
        expires: Timestamp(i64::from_be_bytes(*expires)),
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
        let plain = encode(visit(), [0; 4]);
        for part in [&plain[..8], &plain[8..16], &plain[20..28]] {
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
