//! Words of an EHR and what they mean, as one table for both directions.
//!
//! ```
//! use adapter_sdk::{records::Weekday, vocabulary::Vocabulary};
//!
//! const DAYS: Vocabulary<Weekday> = Vocabulary(&[
//!     ("mon", Weekday::Monday),
//!     ("monday", Weekday::Monday),
//!     ("tue", Weekday::Tuesday),
//! ]);
//!
//! assert_eq!((DAYS.meaning("monday"), DAYS.meaning("someday")), (Some(Weekday::Monday), None));
//! assert_eq!((DAYS.word(Weekday::Monday), DAYS.word(Weekday::Sunday)), (Some("mon"), None));
//! ```

/// Of words that mean the same the first is written.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Vocabulary<T> {
    /// What a word means.
    pub fn meaning(&self, word: &str) -> Option<T> {
        self.0.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
    }

    /// The word for it.
    pub fn word(&self, meaning: T) -> Option<&'static str> {
        self.0.iter().find(|(_, known)| *known == meaning).map(|(word, _)| *word)
    }
}
