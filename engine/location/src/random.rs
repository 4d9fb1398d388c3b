//! Randomness, derived from the random number of a command.

use crate::Millis;

/// Derives a random number for each of several uses (splitmix64).
pub(crate) fn mix(random: u64, salt: u64) -> u64 {
    let mut z = random.wrapping_add(salt.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a random time between one millisecond and `base * 2^(tries - 1)`, at most `cap`.
pub(crate) fn jittered(base: Millis, cap: Millis, tries: u32, random: u64) -> Millis {
    let doubled = base.saturating_mul(1_i64 << tries.saturating_sub(1).min(30)).clamp(1, cap.max(1));
    1 + i64::try_from(random % doubled.unsigned_abs()).unwrap_or(0)
}
