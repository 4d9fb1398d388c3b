//! What an EHR says, without what it may say of a person.

/// A word of an EHR's own vocabulary, such as a refusal's code: letters, digits and separators of a word, and short. Sentences of an EHR
/// may name the patient; its codes do not.
///
/// ```
/// assert_eq!(adapter_sdk::redact::word("slot_taken"), "slot_taken");
/// assert_eq!(adapter_sdk::redact::word("Zoë\n\"1990\""), "Zo1990");
/// ```
pub fn word(said: &str) -> String {
    said.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')).take(40).collect()
}
