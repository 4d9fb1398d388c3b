//! A short hash of some bytes, the same in every call. It distinguishes versions of a row if the EHR's own version is
//! coarse, and identifies rows without an id. The hash does not resist deliberate collisions.
//!
//! ```
//! assert_eq!(adapter_sdk::mark::digest(b"confirmed 9:30".iter().copied()).len(), 16);
//! ```

/// Returns the hash as hexadecimal digits.
pub fn digest(bytes: impl IntoIterator<Item = u8>) -> String {
    format!("{:016x}", number(bytes))
}

/// The FNV-1a hash of 64 bits.
pub(crate) fn number(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    #[test]
    fn marks_are_those_of_the_standard() {
        for (text, mark) in [("", "cbf29ce484222325"), ("a", "af63dc4c8601ec8c"), ("foobar", "85944171f73967e8")] {
            assert_eq!(super::digest(text.bytes()), mark);
        }
    }
}
