//! How is written in the EHR what it has no field of its own for.

/// The EHR has one field for all given names. A no-break space marks where the middle name begins: it reads as before.
pub const MIDDLE: char = '\u{a0}';

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
