//! An EHR's words and their meanings, as one table for both directions.
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

/// Words and meanings. Of several words with the same meaning the first is written.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Vocabulary<T> {
    /// Returns the meaning of a word.
    pub fn meaning(&self, word: &str) -> Option<T> {
        self.0.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
    }

    /// Returns the word for a meaning.
    pub fn word(&self, meaning: T) -> Option<&'static str> {
        self.0.iter().find(|(_, known)| *known == meaning).map(|(word, _)| *word)
    }
}
