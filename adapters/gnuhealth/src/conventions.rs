//! How is written in the EHR what it has no field of its own for.

use adapter_sdk::{
    notes::{Note, Style},
    records::Gender,
    vocabulary::Vocabulary,
};

/// The last line of a free text holds the key of the write that made the record, and what the EHR's form has no place for.
pub const NOTES: Style = Style { gap: "\n\n", begin: "[practice-sync ", between: "; ", equals: "=" };

/// A free text, taken apart.
pub fn note(text: Option<&str>) -> Note {
    NOTES.read(text.unwrap_or_default())
}

/// The EHR has one field for all given names. A no-break space marks where the middle name begins: it reads as before.
pub const MIDDLE: char = '\u{a0}';

pub const GENDERS: Vocabulary<Gender> = Vocabulary(&[
    ("m", Gender::Male),
    ("f-m", Gender::Male),
    ("f", Gender::Female),
    ("m-f", Gender::Female),
    ("other", Gender::Other),
    ("nb", Gender::Other),
]);

/// What an identifier of a party is, in its comment: our write key, and the numbers of a payer. `ref` is not for them: the EHR wants it
/// to be one party's alone.
pub const KEY: &str = "practice-sync";
pub const PAYER: &str = "payer";
pub const GROUP: &str = "group";
pub const EMPLOYER: &str = "employer";

/// How the EHR tells one way to reach somebody from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    Mobile,
    Home,
    Work,
    Email,
}
