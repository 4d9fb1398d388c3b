//! Keys and key ranges.

pub type Key = Vec<u8>;

/// Keys start with a byte below this one. Higher first bytes are reserved for store implementations.
pub const FIRST_RESERVED: u8 = 0xF0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// A half-open range: `start` is included, `end` is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub start: Key,
    pub end: Key,
}

impl KeyRange {
    pub fn new(start: Key, end: Key) -> Self {
        Self { start, end }
    }

    /// Returns the range of all keys that start with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self { start: prefix.to_vec(), end: prefix_end(prefix) }
    }

    /// Returns the rest of a scan in a direction after `key`.
    pub fn continued(self, direction: Direction, key: &[u8]) -> Self {
        match direction {
            Direction::Forward => self.after(key),
            Direction::Backward => Self { end: key.to_vec(), ..self },
        }
    }

    /// Returns the rest of a forward scan after `key`.
    pub fn after(mut self, key: &[u8]) -> Self {
        self.start = key.to_vec();
        self.start.push(0);
        self
    }

    /// Removes reserved keys from the range. Returns `None` if nothing is left.
    pub(crate) fn clamped(mut self) -> Option<Self> {
        if self.end.first().is_some_and(|first| *first >= FIRST_RESERVED) {
            self.end = vec![FIRST_RESERVED];
        }
        (self.start < self.end).then_some(self)
    }
}

/// Returns the first key after all keys that start with `prefix`.
pub fn prefix_end(prefix: &[u8]) -> Key {
    match prefix.iter().rposition(|byte| *byte != u8::MAX) {
        Some(last) => {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            end
        }
        None => vec![FIRST_RESERVED],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_end_is_the_first_key_after_the_prefix() {
        assert_eq!(prefix_end(b"ab"), b"ac");
        assert_eq!(prefix_end(&[1, 0xFF, 0xFF]), [2]);
        assert_eq!(prefix_end(&[]), [FIRST_RESERVED]);
        assert_eq!(prefix_end(&[0xFF]), [FIRST_RESERVED]);
        assert!(b"ab\xFF\xFF\xFF".as_slice() < prefix_end(b"ab").as_slice());
    }

    #[test]
    fn ranges_never_reach_reserved_keys() {
        assert_eq!(KeyRange::prefix(&[]).clamped(), Some(KeyRange::new(vec![], vec![FIRST_RESERVED])));
        assert_eq!(KeyRange::new(vec![1], vec![0xFF; 9]).clamped(), Some(KeyRange::new(vec![1], vec![FIRST_RESERVED])));
        assert_eq!(KeyRange::prefix(&[0xFE]).clamped(), None);
        assert_eq!(KeyRange::new(vec![2], vec![2]).clamped(), None);
        assert_eq!(KeyRange::new(vec![3], vec![2]).clamped(), None);
    }
}
