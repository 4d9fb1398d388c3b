//! Names cut into words, and the digits by which phone numbers are compared.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Words of one record, and letters of a word: more are not looked at.
pub const MOST: usize = 24;
const LETTERS: usize = 64;
/// A phone number has at least this many digits; of longer ones the last ten count, so that the country code makes no difference.
const FEWEST_DIGITS: usize = 7;
const DIGITS: usize = 10;

/// The words of a text: lower case, without accents, cut at everything that is neither letter nor digit.
pub fn of(text: &str) -> Vec<String> {
    let plain: String = text.nfkd().filter(|letter| !is_combining_mark(*letter)).flat_map(char::to_lowercase).collect();
    let words = plain.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(MOST).map(|word| word.chars().take(LETTERS).collect()).collect()
}

/// Whether each word of `asked` begins one of the name's words.
pub fn begin(name: &str, asked: &str) -> bool {
    let words = of(name);
    of(asked).iter().all(|asked| words.iter().any(|word| word.starts_with(asked.as_str())))
}

/// The digits by which phone numbers are compared; none when it has too few of them.
pub fn phone(number: &str) -> Option<String> {
    let digits: Vec<char> = number.chars().filter(char::is_ascii_digit).collect();
    let from = digits.len().saturating_sub(DIGITS);
    (digits.len() >= FEWEST_DIGITS).then(|| digits[from..].iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_by_their_plain_words() {
        assert_eq!(of("  Zoë-Marie d'Arc "), ["zoe", "marie", "d", "arc"]);
        assert_eq!(of("ÅNGSTRÖM"), ["angstrom"]);
        assert_eq!(of("Ａｄａ ﬁ"), ["ada", "fi"]);
        assert_eq!(of("李 小龍"), ["李", "小龍"]);
        assert!(of(" .-' ").is_empty());
        assert!(begin("Zoë Müller", "mull zo"));
        assert!(!begin("Zoë Müller", "mull x"));
        assert!(begin("Zoë Müller", ""));
    }

    #[test]
    fn phones_compare_by_their_digits() {
        assert_eq!(phone("+1 (555) 010-2030"), phone("5550102030"));
        assert_ne!(phone("5550102030"), phone("5550102031"));
        assert_eq!(phone("12-34"), None);
    }
}
