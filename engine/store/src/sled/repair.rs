//! Repair of a copy of sled's log. sled drops a message with a wrong checksum together with its page, or
//! refuses the whole log. A single flipped bit is located by the checksum and corrected. Other damaged
//! messages get a valid checksum if their boundaries are known, because the seal of each value reveals
//! damaged values. Messages without known boundaries are cut out.
//!
//! Segment: checksum 4, number of the first byte 8, stable number 8, messages. Message: checksum 4, kind 1,
//! length, segment and page as varints, body. The format is that of sled 0.34, which no longer changes.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

const SEGMENT: usize = 512 << 10;
const SEGMENT_HEADER: usize = 20;
/// Maximum size of a message header. No message begins later than this before the end of a segment.
const MESSAGE_HEADER: usize = 32;
const CANCELED: u8 = 1;
const CAP: u8 = 2;
const KINDS: std::ops::RangeInclusive<u8> = 1..=11;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Number of corrected bits.
    pub corrected: u64,
    /// Number of damaged messages made readable.
    pub made_readable: u64,
    /// Number of bytes cut out.
    pub cut_out: u64,
    /// Number of segments whose place in the log is unknown.
    pub lost_segments: u64,
}

pub(super) fn repair(log: &Path) -> io::Result<Repaired> {
    let file = File::options().read(true).write(true).open(log)?;
    let (length, mut at, mut repaired) = (file.metadata()?.len(), 0, Repaired::default());
    while at < length {
        let size = usize::try_from(length - at).unwrap_or(SEGMENT).min(SEGMENT);
        let mut segment = vec![0; size];
        file.read_exact_at(&mut segment, at)?;
        let before = repaired;
        repair_segment(&mut segment, &mut repaired);
        if repaired != before {
            file.write_all_at(&segment, at)?;
        }
        at += size as u64;
    }
    file.sync_all()?;
    Ok(repaired)
}

fn repair_segment(segment: &mut [u8], repaired: &mut Repaired) {
    let Some(header) = segment.first_chunk_mut::<SEGMENT_HEADER>() else { return };
    // An unused segment.
    if header.iter().all(|byte| *byte == 0) {
        return;
    }
    if !header_fits(header) {
        if !flip_one(header, header_fits) {
            repaired.lost_segments += 1;
            return;
        }
        repaired.corrected += 1;
    }
    let first = u64::from_le_bytes(header[4..12].try_into().unwrap_or_default()) ^ i64::MAX as u64;
    let number = first / SEGMENT as u64;
    let mut at = SEGMENT_HEADER;
    while at + MESSAGE_HEADER <= segment.len() {
        let Some(message) = sound(&segment[at..], number) else {
            match repair_message(segment, at, number, repaired) {
                true => continue,
                false => return,
            }
        };
        if message.kind == CAP {
            return;
        }
        at += message.size();
    }
}

/// Makes the message at `at` readable for sled. Returns `false` at the end of the written part.
fn repair_message(segment: &mut [u8], at: usize, number: u64, repaired: &mut Repaired) -> bool {
    // The rest belongs to an earlier use of the segment.
    if let Some(other) = LogMessage::parse(&segment[at..])
        && other.segment != number
        && other.fits(&segment[at..])
    {
        return false;
    }
    let placed = LogMessage::parse(&segment[at..]).filter(|message| message.segment == number);
    if placed.is_some_and(|message| message.flip(&mut segment[at..])) || flip_in_header(&mut segment[at..], number) {
        repaired.corrected += 1;
        return true;
    }
    let Some(next) = (at + 1..segment.len()).find(|next| sound(&segment[*next..], number).is_some()) else {
        // Torn at the end of the log, so it was never reported as durable.
        return false;
    };
    match placed.filter(|message| at + message.size() == next) {
        Some(message) => {
            let checksum = message.checksum(&segment[at..]);
            segment[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
            repaired.made_readable += 1;
        }
        None => {
            let canceled = canceled(next - at, number);
            segment[at..at + canceled.len()].copy_from_slice(&canceled);
            let body = LogMessage::parse(&segment[at..]).map(|message| message.checksum(&segment[at..]));
            segment[at..at + 4].copy_from_slice(&body.unwrap_or_default().to_le_bytes());
            repaired.cut_out += (next - at) as u64;
        }
    }
    sound(&segment[at..], number).is_some()
}

/// Returns the header of a canceled message that occupies `size` bytes.
fn canceled(size: usize, number: u64) -> Vec<u8> {
    for header in 0..MESSAGE_HEADER {
        let mut bytes = vec![0, 0, 0, 0, CANCELED];
        write_varint(&mut bytes, size.saturating_sub(header) as u64);
        write_varint(&mut bytes, number);
        write_varint(&mut bytes, 0);
        if bytes.len() == header {
            return bytes;
        }
    }
    // The gap is too small for a header. It stays unchanged, and the rest of the segment is not read.
    Vec::new()
}

#[derive(Clone, Copy)]
struct LogMessage {
    kind: u8,
    header: usize,
    body: usize,
    segment: u64,
}

impl LogMessage {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let kind = *bytes.get(4)?;
        let mut at = 5;
        let body = usize::try_from(read_varint(bytes, &mut at)?).ok()?;
        let segment = read_varint(bytes, &mut at)?;
        read_varint(bytes, &mut at)?;
        let whole = body.checked_add(at).is_some_and(|size| size <= bytes.len());
        (KINDS.contains(&kind) && whole).then_some(Self { kind, header: at, body, segment })
    }

    fn size(self) -> usize {
        self.header + self.body
    }

    /// Returns the bytes in the order of sled's checksum: the body, then the header after the checksum.
    fn summed(self, bytes: &[u8]) -> impl Iterator<Item = u8> {
        bytes[self.header..self.size()].iter().chain(&bytes[4..self.header]).copied()
    }

    fn checksum(self, bytes: &[u8]) -> u32 {
        !crc32(self.summed(bytes))
    }

    fn fits(self, bytes: &[u8]) -> bool {
        self.checksum(bytes) == stored(bytes)
    }

    /// Corrects the single bit whose flip explains the checksum. The effect of a bit on the checksum depends only
    /// on its distance from the end.
    fn flip(self, bytes: &mut [u8]) -> bool {
        let wrong = self.checksum(bytes) ^ stored(bytes);
        if wrong.is_power_of_two() {
            // The flipped bit is in the checksum itself.
            let checksum = self.checksum(bytes);
            bytes[..4].copy_from_slice(&checksum.to_le_bytes());
            return true;
        }
        let positions: Vec<usize> = (self.header..self.size()).chain(4..self.header).collect();
        let mut effects: [u32; 8] = std::array::from_fn(|bit| TABLE[1 << bit]);
        for at in positions.into_iter().rev() {
            if let Some(bit) = effects.iter().position(|effect| *effect == wrong) {
                bytes[at] ^= 1 << bit;
                // A bit in the header changes how the rest is parsed, so the result is verified.
                if LogMessage::parse(bytes).is_some_and(|message| message.fits(bytes)) {
                    return true;
                }
                bytes[at] ^= 1 << bit;
            }
            effects = effects.map(|effect| effect >> 8 ^ TABLE[(effect & 0xFF) as usize]);
        }
        false
    }
}

/// Corrects a flipped bit of the header that changed the length, kind or segment.
fn flip_in_header(bytes: &mut [u8], number: u64) -> bool {
    let Some((header, _)) = bytes.split_at_checked(MESSAGE_HEADER.min(bytes.len())) else { return false };
    for bit in 32..header.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        if sound(bytes, number).is_some() {
            return true;
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    false
}

fn sound(bytes: &[u8], number: u64) -> Option<LogMessage> {
    LogMessage::parse(bytes).filter(|message| message.segment == number && message.fits(bytes))
}

fn stored(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |sum| u32::from_le_bytes(*sum))
}

fn header_fits(header: &[u8; SEGMENT_HEADER]) -> bool {
    stored(header) == !crc32(header[4..].iter().copied())
}

fn flip_one<const N: usize>(bytes: &mut [u8; N], fits: impl Fn(&[u8; N]) -> bool) -> bool {
    for bit in 0..N * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        if fits(bytes) {
            return true;
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    false
}

fn read_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    let byte = |offset: usize| bytes.get(*at + offset).copied().map(u64::from);
    let (value, size) = match first {
        0..=240 => (u64::from(first), 1),
        241..=248 => (240 + 256 * (u64::from(first) - 241) + byte(1)?, 2),
        249 => (2_288 + 256 * byte(1)? + byte(2)?, 3),
        250.. => {
            let size = usize::from(first) - 247;
            let mut value = [0; 8];
            value[..size].copy_from_slice(bytes.get(*at + 1..=*at + size)?);
            (u64::from_le_bytes(value), size + 1)
        }
    };
    *at += size;
    Some(value)
}

fn write_varint(bytes: &mut Vec<u8>, value: u64) {
    match value {
        0..=240 => bytes.push(value as u8),
        241..=2_287 => bytes.extend([((value - 240) / 256 + 241) as u8, ((value - 240) % 256) as u8]),
        2_288..=67_823 => bytes.extend([249, ((value - 2_288) / 256) as u8, ((value - 2_288) % 256) as u8]),
        67_824.. => {
            let size = (8 - value.leading_zeros() as usize / 8).max(3);
            bytes.push((247 + size) as u8);
            bytes.extend(&value.to_le_bytes()[..size]);
        }
    }
}

/// Returns the CRC-32 as used in zip files.
fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(u32::MAX, |sum, byte| sum >> 8 ^ TABLE[((sum ^ u32::from(byte)) & 0xFF) as usize])
}

const TABLE: [u32; 256] = {
    let (mut table, mut n) = ([0; 256], 0);
    while n < 256 {
        let (mut sum, mut bit) = (n as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
            bit += 1;
        }
        table[n] = sum;
        n += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zip_files() {
        assert_eq!(crc32(b"123456789".iter().copied()), 0xCBF4_3926);
    }

    #[test]
    fn varints_round_trip() {
        for value in [0, 240, 241, 2_287, 2_288, 67_823, 67_824, 0xFF_FFFF, 0x100_0000, u64::MAX] {
            let (mut bytes, mut at) = (Vec::new(), 0);
            write_varint(&mut bytes, value);
            assert_eq!((read_varint(&bytes, &mut at), at), (Some(value), bytes.len()), "{value}");
        }
    }

    /// Builds a segment with messages of many sizes, in sled's format.
    fn segment() -> Vec<u8> {
        let (number, mut bytes) = (3u64, vec![0; SEGMENT_HEADER]);
        bytes[4..12].copy_from_slice(&((number * SEGMENT as u64) ^ i64::MAX as u64).to_le_bytes());
        let sum = !crc32(bytes[4..].iter().copied());
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        for (n, size) in [0usize, 1, 200, 241, 3_000, 70_000].into_iter().enumerate() {
            let start = bytes.len();
            bytes.extend([0, 0, 0, 0, 10]);
            write_varint(&mut bytes, size as u64);
            write_varint(&mut bytes, number);
            write_varint(&mut bytes, n as u64 * 300);
            bytes.extend((0..size).map(|at| (at * 7 + n) as u8));
            let sum = LogMessage::parse(&bytes[start..]).unwrap().checksum(&bytes[start..]);
            bytes[start..start + 4].copy_from_slice(&sum.to_le_bytes());
        }
        bytes.resize(bytes.len() + 64, 0);
        bytes
    }

    #[test]
    fn any_single_flipped_bit_is_corrected() {
        let whole = segment();
        let mut untouched = (whole.clone(), Repaired::default());
        repair_segment(&mut untouched.0, &mut untouched.1);
        assert_eq!(untouched, (whole.clone(), Repaired::default()));
        for bit in (0..(whole.len() - 64) * 8).filter(|bit| *bit < 8 * 700 || bit % 1_009 == 0) {
            let (mut bent, mut repaired) = (whole.clone(), Repaired::default());
            bent[bit / 8] ^= 1 << (bit % 8);
            repair_segment(&mut bent, &mut repaired);
            assert!(bent == whole, "bit {bit}: {repaired:?}");
            assert_eq!(repaired.corrected, 1);
        }
    }

    #[test]
    fn messages_after_a_hole_stay_readable() {
        let whole = segment();
        // Holes in the body of the message of 3,000 bytes, and over the headers of two small messages.
        for (hole, expected) in [(1_000..1_512, (1, 0)), (22..60, (0, 1))] {
            let (mut bent, mut repaired) = (whole.clone(), Repaired::default());
            bent[hole].fill(0);
            repair_segment(&mut bent, &mut repaired);
            assert_eq!((repaired.made_readable, u64::from(repaired.cut_out > 0)), expected, "{repaired:?}");
            let mut again = Repaired::default();
            repair_segment(&mut bent, &mut again);
            assert_eq!(again, Repaired::default(), "everything is readable now");
        }
    }
}
