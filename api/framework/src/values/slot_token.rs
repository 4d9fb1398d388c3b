//! Slot tokens: `slt_` and hex over an offer and its authentication tag. Stateless; a token can be neither altered nor
//! guessed, and the engine's `hold` is derived from it.

use engine::commands::Offer;
use location::{AppointmentTypeId, InstitutionId, LocationId, OperatoryId, ProviderId, Slot, Span, Timestamp};

use crate::values::secret::{MacKey, Secret, random};

const PREFIX: &str = "slt_";
/// Bytes of the authentication tag in a token.
const TAG: usize = 16;
/// Bytes of an offer without the digest of its booking rules.
const OFFER: usize = 1 + 3 * 4 + 8 + 4 + 3 * 8 + 8;
/// Bytes of the digest of booking rules.
const DIGEST: usize = 8;
const HAS_OPERATORY: u8 = 1;
const HAS_TYPE: u8 = 2;
const JOINS_BLOCKS: u8 = 4;
/// The digest of the booking rules follows the other fields. Offers without rules have none, like the tokens of earlier
/// releases, so that nodes of both releases open them.
const HAS_DIGEST: u8 = 8;

pub struct SlotTokens(MacKey);

/// The common properties of the slots of one search.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub institution: InstitutionId,
    pub location: LocationId,
    pub appointment_type: Option<AppointmentTypeId>,
    pub expires: Timestamp,
    pub join_blocks: bool,
    /// Digest of the booking rules for the type; 0 without rules.
    pub rules: u64,
}

impl SlotTokens {
    pub fn new(secret: &Secret) -> SlotTokens {
        SlotTokens(secret.key("slot token"))
    }

    /// Returns a token for each slot. Two searches that find the same slot give it two tokens, so that a hold belongs
    /// to one client.
    pub fn seal<'a>(
        &'a self,
        terms: Terms,
        slots: impl IntoIterator<Item = Slot> + 'a,
    ) -> impl Iterator<Item = String> + 'a {
        let nonce = random::<8>();
        slots.into_iter().map(move |slot| {
            let offer = encode(&terms, &slot, nonce);
            let tag = self.0.tag(&[&offer]);
            format!("{PREFIX}{}{}", hex::encode(&offer), hex::encode(&tag[..TAG]))
        })
    }

    /// Returns `None` for tokens that were not sealed with this secret.
    pub fn open(&self, token: &str) -> Option<Offer> {
        let bytes = unsealed(token)?;
        let (offer, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG)?)?;
        if !self.0.verifies(&[offer], tag) {
            return None;
        }
        decode(offer, hold_of(tag)?)
    }

    /// Decodes a token without verification: its location, and the hold that identifies a booking made with it. The
    /// returned time is in the past, so that it cannot be booked or held.
    pub fn recall(&self, token: &str) -> Option<Offer> {
        let bytes = unsealed(token)?;
        let (offer, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG)?)?;
        let past = Span::new(Timestamp(0), Timestamp(1))?;
        Some(Offer { span: past, expires: past.end, ..decode(offer, hold_of(tag)?)? })
    }
}

/// Decodes a token into the offer and its tag.
fn unsealed(token: &str) -> Option<Vec<u8>> {
    let lengths = [OFFER + TAG, OFFER + DIGEST + TAG].map(|bytes| 2 * bytes);
    let digits = token.strip_prefix(PREFIX).filter(|digits| lengths.contains(&digits.len()))?;
    // Only one spelling is accepted, because the token also identifies a hold.
    if digits.bytes().any(|digit| digit.is_ascii_uppercase()) {
        return None;
    }
    hex::decode(digits).ok()
}

fn hold_of(tag: &[u8]) -> Option<u64> {
    tag.first_chunk().map(|first| u64::from_be_bytes(*first))
}

fn encode(terms: &Terms, slot: &Slot, nonce: [u8; 8]) -> Vec<u8> {
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    let flags = flag(slot.operatory.is_some(), HAS_OPERATORY)
        | flag(terms.appointment_type.is_some(), HAS_TYPE)
        | flag(terms.join_blocks, JOINS_BLOCKS)
        | flag(terms.rules != 0, HAS_DIGEST);
    let mut bytes = Vec::with_capacity(OFFER + DIGEST);
    bytes.push(flags);
    bytes.extend(terms.institution.0.to_be_bytes());
    bytes.extend(terms.location.0.to_be_bytes());
    bytes.extend(slot.provider.0.to_be_bytes());
    bytes.extend(slot.operatory.map_or(0, |id| id.0).to_be_bytes());
    bytes.extend(terms.appointment_type.map_or(0, |id| id.0).to_be_bytes());
    bytes.extend(slot.span.start.0.to_be_bytes());
    bytes.extend(slot.span.end.0.to_be_bytes());
    bytes.extend(terms.expires.0.to_be_bytes());
    bytes.extend(nonce);
    if terms.rules != 0 {
        bytes.extend(terms.rules.to_be_bytes());
    }
    bytes
}

fn decode(bytes: &[u8], hold: u64) -> Option<Offer> {
    let mut fields = ByteReader(bytes);
    let flags = fields.take::<1>()?[0];
    let set = |bit: u8| flags & bit != 0;
    let (institution, location) = (InstitutionId(fields.u32()?), LocationId(fields.u32()?));
    let provider = ProviderId(fields.u32()?);
    let operatory = OperatoryId(fields.u64()?);
    let appointment_type = AppointmentTypeId(fields.u32()?);
    let span = Span::new(fields.time()?, fields.time()?)?;
    let expires = fields.time()?;
    fields.take::<8>()?; // the nonce
    let rules = if set(HAS_DIGEST) { fields.u64()? } else { 0 };
    if !fields.0.is_empty() {
        return None;
    }
    Some(Offer {
        institution,
        location,
        provider,
        operatory: set(HAS_OPERATORY).then_some(operatory),
        span,
        appointment_type: set(HAS_TYPE).then_some(appointment_type),
        expires,
        join_blocks: set(JOINS_BLOCKS),
        hold,
        // Known to the caller's key only.
        channel: None,
        rules: Some(rules),
    })
}

/// Reader of big-endian numbers from the front.
pub(super) struct ByteReader<'a>(pub &'a [u8]);

impl ByteReader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    pub(super) fn time(&mut self) -> Option<Timestamp> {
        self.take().map(i64::from_be_bytes).map(Timestamp)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn terms() -> Terms {
        Terms {
            institution: InstitutionId(3),
            location: LocationId(7),
            appointment_type: Some(AppointmentTypeId(9)),
            expires: Timestamp(1_800_000_900_000),
            join_blocks: true,
            rules: 0,
        }
    }

    fn slot() -> Slot {
        let span = Span::new(Timestamp(1_800_000_000_000), Timestamp(1_800_001_800_000)).unwrap();
        Slot { span, provider: ProviderId(5), operatory: Some(OperatoryId(u64::MAX)) }
    }

    fn sealed(tokens: &SlotTokens, terms: Terms, slot: Slot) -> String {
        tokens.seal(terms, [slot]).next().unwrap()
    }

    #[test]
    fn a_slot_token_opens_to_the_sealed_offer() {
        let tokens = SlotTokens::new(&Secret::from_bytes([1; 32]));
        let token = sealed(&tokens, terms(), slot());
        assert!(token.starts_with("slt_") && token[4..].bytes().all(|b| b.is_ascii_hexdigit()));
        let offer = tokens.open(&token).unwrap();
        assert_eq!(
            (offer.institution, offer.location, offer.provider),
            (InstitutionId(3), LocationId(7), ProviderId(5))
        );
        assert_eq!((offer.operatory, offer.appointment_type), (slot().operatory, terms().appointment_type));
        assert_eq!((offer.span, offer.expires, offer.join_blocks), (slot().span, terms().expires, true));

        let bare = Terms { appointment_type: None, join_blocks: false, ..terms() };
        let offer = tokens.open(&sealed(&tokens, bare, Slot { operatory: None, ..slot() })).unwrap();
        assert_eq!((offer.operatory, offer.appointment_type, offer.join_blocks), (None, None, false));
    }

    #[test]
    fn a_slot_token_contains_the_digest_of_its_rules() {
        let tokens = SlotTokens::new(&Secret::from_bytes([1; 32]));
        let plain = sealed(&tokens, terms(), slot());
        let ruled = sealed(&tokens, Terms { rules: u64::MAX, ..terms() }, slot());
        assert_eq!(plain.len() + 2 * DIGEST, ruled.len());
        assert_eq!(tokens.open(&plain).unwrap().rules, Some(0));
        assert_eq!(tokens.open(&ruled).unwrap().rules, Some(u64::MAX));
        let recalled = SlotTokens::new(&Secret::from_bytes([2; 32])).recall(&ruled).unwrap();
        assert_eq!(recalled.hold, tokens.open(&ruled).unwrap().hold);
    }

    #[test]
    fn a_slot_token_without_rules_has_the_form_of_earlier_releases() {
        let offer = encode(&terms(), &slot(), [7; 8]);
        assert_eq!((offer.len(), offer[0]), (OFFER, HAS_OPERATORY | HAS_TYPE | JOINS_BLOCKS));
        assert!(offer.ends_with(&[7; 8]), "the nonce is last");
    }

    #[test]
    fn a_slot_token_of_another_secret_is_recalled_as_expired() {
        let token = sealed(&SlotTokens::new(&Secret::from_bytes([1; 32])), terms(), slot());
        let made_by = SlotTokens::new(&Secret::from_bytes([1; 32])).open(&token).unwrap();
        let recalled = SlotTokens::new(&Secret::from_bytes([2; 32])).recall(&token).unwrap();
        assert_eq!((recalled.location, recalled.hold), (made_by.location, made_by.hold));
        assert_eq!((recalled.span.end, recalled.expires), (Timestamp(1), Timestamp(1)));
        assert!(SlotTokens::new(&Secret::from_bytes([2; 32])).recall("slt_00").is_none());
    }

    #[test]
    fn each_search_has_separate_holds() {
        let tokens = SlotTokens::new(&Secret::from_bytes([1; 32]));
        let holds: Vec<u64> = (0..2).map(|_| tokens.open(&sealed(&tokens, terms(), slot())).unwrap().hold).collect();
        assert_ne!(holds[0], holds[1]);
    }

    #[test]
    fn no_altered_token_opens() {
        let tokens = SlotTokens::new(&Secret::from_bytes([1; 32]));
        let token = sealed(&tokens, terms(), slot());
        for at in 0..token.len() {
            for other in [b'0', b'f', b'A', b'z'] {
                let mut altered = token.clone().into_bytes();
                if altered[at] == other {
                    continue;
                }
                altered[at] = other;
                assert_eq!(tokens.open(&String::from_utf8(altered).unwrap()), None, "byte {at}");
            }
        }
        let elsewhere = SlotTokens::new(&Secret::from_bytes([2; 32]));
        assert_eq!(elsewhere.open(&token), None);
        let spelled = format!("slt_{}", token[4..].to_uppercase());
        for wrong in [
            "",
            "slt_",
            "slt_00",
            &token[..token.len() - 2],
            &format!("{token}00"),
            &format!("{token}{}", "00".repeat(DIGEST)),
            &spelled,
            "slt_é",
            &"slt_".repeat(999),
        ] {
            assert_eq!(tokens.open(wrong), None, "{wrong:.60}");
        }
    }
}
