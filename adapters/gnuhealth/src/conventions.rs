//! Representation of values that have no field in the EHR.

use adapter_sdk::{
    notes::{Note, Style},
    records::Gender,
    vocabulary::Vocabulary,
};

/// Format of a footer in the last line of a free text. It contains the key of the write that created the record, and
/// values that have no field in the EHR.
pub const NOTES: Style = Style { gap: "\n\n", begin: "[practice-sync ", between: "; ", equals: "=" };

pub fn note(text: Option<&str>) -> Note {
    NOTES.read(text.unwrap_or_default())
}

/// The EHR has one field for all given names. A no-break space before the middle name separates it and looks like a
/// space.
pub const MIDDLE: char = '\u{a0}';

pub const GENDERS: Vocabulary<Gender> = Vocabulary(&[
    ("m", Gender::Male),
    ("f-m", Gender::Male),
    ("f", Gender::Female),
    ("m-f", Gender::Female),
    ("other", Gender::Other),
    ("nb", Gender::Other),
]);

/// Types of a party's identifiers, stored in their comment: our write key, and the numbers of a payer. `ref` is
/// unsuitable, because the EHR requires it to be unique per party.
pub const KEY: &str = "practice-sync";
pub const PAYER: &str = "payer";
pub const GROUP: &str = "group";
pub const EMPLOYER: &str = "employer";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    Mobile,
    Home,
    Work,
    Email,
}
