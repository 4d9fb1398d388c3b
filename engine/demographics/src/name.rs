//! Names of people, for comparison only. Case, accents, apostrophes, hyphens and spaces make no difference.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Limit on the words of one record.
pub const MAX_WORDS: usize = 24;
/// Limit on the letters of one word.
const MAX_LETTERS: usize = 64;
/// Words of a search that may be parts of one word of a name, such as `de la O Neill` of `Delaoneill`.
const MAX_PARTS: usize = 4;

/// Returns the letters and digits of a name, without case and accents. A name of signs alone is returned in lower case.
pub fn fold(name: &str) -> String {
    let letters: String = plain(name).filter(|letter| letter.is_alphanumeric()).collect();
    if letters.is_empty() { name.trim().to_lowercase() } else { letters }
}

/// Returns `true` if both are one name. An empty name equals none.
pub fn is_same(one: &str, other: &str) -> bool {
    // Equal texts are compared without a folded copy.
    if one == other {
        return !one.trim().is_empty();
    }
    let name = fold(one);
    !name.is_empty() && name == fold(other)
}

/// Returns the search words of a name. Each has the rest of the name attached, so that `vanderberg` begins `van der
/// Berg`.
pub fn words(name: &str) -> Vec<String> {
    let parts = parts(name);
    (0..parts.len().min(MAX_WORDS)).map(|from| joined(&parts[from..])).collect()
}

/// Returns one list for each word of a search: the word, and the word attached to those before it. A name is found if
/// one of its words begins with an element of every list.
pub fn beginnings(asked: &str) -> Vec<Vec<String>> {
    let parts = parts(asked);
    let first = |to: usize| (to + 1).saturating_sub(MAX_PARTS);
    (0..parts.len().min(MAX_WORDS))
        .map(|to| (first(to)..=to).rev().map(|from| joined(&parts[from..=to])).collect())
        .collect()
}

/// Returns `true` if a search finds a name.
pub fn is_found(name: &str, asked: &str) -> bool {
    let words = words(name);
    let begins = |beginning: &String| words.iter().any(|word| word.starts_with(beginning.as_str()));
    beginnings(asked).iter().all(|either| either.iter().any(begins))
}

/// Returns the parts of a name between signs, without case and accents.
pub fn parts(text: &str) -> Vec<String> {
    let plain: String = plain(text).collect();
    plain.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn joined(parts: &[String]) -> String {
    parts.iter().flat_map(|part| part.chars()).take(MAX_LETTERS).collect()
}

/// Returns a text in lower case without accents. Signs that Unicode counts as letters become blanks.
fn plain(text: &str) -> impl Iterator<Item = char> + '_ {
    let letters = text.nfkd().filter(|letter| !is_combining_mark(*letter)).flat_map(char::to_lowercase);
    letters.flat_map(|letter| {
        let spelled = spelled(letter);
        spelled.chars().chain(spelled.is_empty().then_some(letter))
    })
}

/// Returns the spelling of a letter that Unicode does not decompose, or an empty text for other letters.
fn spelled(letter: char) -> &'static str {
    match letter {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ŧ' => "t",
        'ı' => "i",
        'ς' => "σ",
        // Modifier letters that serve as apostrophes, such as the Hawaiian okina.
        '\u{2b9}'..='\u{2df}' | '\u{2ec}' | '\u{2ee}' | '\u{7f4}' | '\u{7f5}' | '\u{a78c}' => " ",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_equal_despite_case_accents_and_signs() {
        for spellings in [
            &[
                "O'Neill", "ONeill", "O Neill", "o’neill", "O‘NEILL", "O`Neill", "O´Neill", "Oʼneill", "Oʻneill",
                "O＇Neill",
            ][..],
            &[
                "O′Neill", "O\u{201b}Neill", "O\u{a78c}neill", "O-Neill", "O\u{2011}Neill", "O\u{ad}Neill", "O.Neill",
                " O  Neill ",
            ],
            &["D'Shaun", "D’Shaun", "DShaun", "D Shaun", "d-shaun"],
            &["José", "Jose\u{301}", "JOSE", "jose"],
            &["Zoë", "Zoe", "Zoe\u{308}", "ZOË"],
            &[
                "Anne-Marie", "Anne Marie", "AnneMarie", "Anne–Marie", "Anne\u{a0}Marie", "Anne\u{200b}Marie",
                "anne_marie",
            ],
            &["van der Berg", "Vanderberg", "Van Der Berg", "van-der-Berg"],
            &["Müller-Lüdenscheidt", "MULLER LUDENSCHEIDT", "mullerludenscheidt"],
            &["Strauß", "STRAUSS", "STRAUẞ"],
            &["Łukasz", "lukasz"],
            &["Søren", "Soren"],
            &["İbrahim", "ibrahim", "IBRAHIM"],
            &["ΓΙΏΡΓΟΣ", "Γιώργος"],
            &["Ａｄａ", "Ada"],
            &["李 小龍", "李小龍"],
            &["Nguyễn", "Nguyen", "NGUYÊ\u{303}N"],
        ] {
            for one in spellings {
                assert!(is_same(spellings[0], one), "{} and {one}", spellings[0]);
                assert!(is_found(one, spellings[0]) && is_found(spellings[0], one), "{} finds {one}", spellings[0]);
            }
        }
    }

    #[test]
    fn different_names_are_not_equal() {
        for (one, other) in [
            ("O'Neill", "Neill"),
            ("Anna", "Ann"),
            ("Müller", "Miller"),
            ("Mary Ann", "Mary"),
            ("李", "王"),
            ("", ""),
            (" ", " "),
            ("-", "Anna"),
            ("?", "."),
        ] {
            assert!(!is_same(one, other), "{one} and {other}");
        }
        assert!(is_same("-", " - ") && is_same("-", "-"), "a name of signs alone is compared as it is");
    }

    #[test]
    fn words_returns_one_word_for_each_part_of_a_name() {
        assert_eq!(words("  Zoë-Marie d'Arc "), ["zoemariedarc", "mariedarc", "darc", "arc"]);
        assert_eq!(words("ÅNGSTRÖM"), ["angstrom"]);
        assert!(words(" .-' ").is_empty());
        assert_eq!(words(&"ab ".repeat(100)).len(), MAX_WORDS);
        assert!(words(&"ab ".repeat(100)).iter().all(|word| word.len() <= MAX_LETTERS));
    }

    #[test]
    fn each_word_of_a_search_begins_a_word_of_the_name() {
        for (name, asked) in [
            ("Zoë Müller", "mull zo"),
            ("Zoë Müller", ""),
            ("Sean O'Neill", "neill"),
            ("Sean O'Neill", "oneill sean"),
            ("Sean ONeill", "o neill"),
            ("Sean ONeill", "sean o’nei"),
            ("Anne-Marie Lee", "marie"),
            ("Annemarie Lee", "anne marie lee"),
            ("Pia van der Berg", "vand"),
            ("Pia van der Berg", "van berg"),
            ("Pia Vanderberg", "van der berg"),
            ("Pia Delaoneill", "de la o'neill"),
        ] {
            assert!(is_found(name, asked), "{asked} finds {name}");
        }
        for (name, asked) in [
            ("Zoë Müller", "mull x"),
            ("Sean ONeill", "neill"),
            ("Anne-Marie Lee", "mariel x"),
            ("Anne Lee", "annex"),
            ("Ada Byron", "ron"),
        ] {
            assert!(!is_found(name, asked), "{asked} does not find {name}");
        }
    }
}
