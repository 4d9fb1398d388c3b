//! Languages: Open Dental writes ISO 639-2 (`spa`), the contract ISO 639-1 (`es`).

const CODES: [(&str, &str); 40] = [
    ("en", "eng"),
    ("es", "spa"),
    ("fr", "fra"),
    ("de", "deu"),
    ("zh", "zho"),
    ("vi", "vie"),
    ("ko", "kor"),
    ("ru", "rus"),
    ("ar", "ara"),
    ("pt", "por"),
    ("it", "ita"),
    ("tl", "tgl"),
    ("pl", "pol"),
    ("hi", "hin"),
    ("ja", "jpn"),
    ("hy", "hye"),
    ("fa", "fas"),
    ("ht", "hat"),
    ("uk", "ukr"),
    ("so", "som"),
    ("am", "amh"),
    ("ur", "urd"),
    ("gu", "guj"),
    ("pa", "pan"),
    ("bn", "ben"),
    ("te", "tel"),
    ("ta", "tam"),
    ("th", "tha"),
    ("he", "heb"),
    ("el", "ell"),
    ("nl", "nld"),
    ("sv", "swe"),
    ("ro", "ron"),
    ("cs", "ces"),
    ("hu", "hun"),
    ("tr", "tur"),
    ("km", "khm"),
    ("lo", "lao"),
    ("ne", "nep"),
    ("sw", "swa"),
];
/// Codes that libraries use beside those above.
const OTHERS: [(&str, &str); 9] = [
    ("fr", "fre"),
    ("de", "ger"),
    ("zh", "chi"),
    ("hy", "arm"),
    ("fa", "per"),
    ("el", "gre"),
    ("nl", "dut"),
    ("ro", "rum"),
    ("cs", "cze"),
];

pub fn three(two: &str) -> Option<&'static str> {
    CODES.iter().find(|(short, _)| short.eq_ignore_ascii_case(two)).map(|(_, long)| *long)
}

/// None for languages the office named itself.
pub fn two(three: &str) -> Option<&'static str> {
    CODES.iter().chain(&OTHERS).find(|(_, long)| long.eq_ignore_ascii_case(three.trim())).map(|(short, _)| *short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_there_and_back() {
        for (short, long) in CODES {
            assert_eq!((three(short), two(long)), (Some(long), Some(short)));
        }
        assert_eq!((two("GER"), two("Klingon"), two(""), three("xx")), (Some("de"), None, None, None));
    }
}
