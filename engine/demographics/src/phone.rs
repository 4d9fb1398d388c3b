//! Telephone numbers as people and systems write them, for comparison only: national or international, with an
//! extension or without.

mod plans;

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use self::plans::Plan;

/// Shorter texts are no telephone numbers.
const MIN_DIGITS: usize = 7;
/// An international prefix, a trunk prefix and the 15 digits of E.164.
const MAX_DIGITS: usize = 20;
const MAX_EXTENSION: usize = 11;
/// Number of last digits by which numbers are found, however they are written.
const LAST_DIGITS: usize = 10;
/// Names of an extension, in front of its digits.
const EXTENSIONS: &[&str] = &["x", "ex", "xt", "ext", "extn", "extension", "isub", "int", "anexo", "poste", "доб"];

/// A telephone number without its extension. Two numbers are equal if they reach the same line.
#[derive(Clone, PartialEq, Eq)]
pub struct Number {
    /// `None` if the calling code is unknown.
    code: Option<u16>,
    /// Digits after calling code and trunk prefix.
    national: String,
}

/// Redacted, because numbers are patient data.
impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Number(redacted)")
    }
}

impl Number {
    /// Reads a number as dialled in a country, a code of two capital letters. Returns `None` if the text has too few
    /// digits.
    pub fn read(text: &str, country: &str) -> Option<Number> {
        let written = ParsedNumber::parse(text)?;
        let plan = plans::for_country(country);
        let (plan, national) = match written.international {
            true => plans::for_digits(&written.digits).map(|(plan, rest)| (Some(plan), rest)),
            false => plan.map(|plan| dialled(&written.digits, plan)),
        }
        .unwrap_or((None, written.digits.as_str()));
        let national = plan.map_or_else(|| national.to_owned(), |plan| without_prefixes(national, plan));
        Some(Number { code: plan.map(|plan| plan.code), national })
    }

    /// Returns the last digits of every form in which the number may be written, for an index.
    pub fn last_digits(&self) -> Vec<String> {
        let mut forms = vec![self.national.clone()];
        if let Some(code) = self.code {
            let trunk = plans::for_code(code).map_or("", |plan| plan.trunk);
            forms.push(format!("{trunk}{}", self.national));
            for prefix in ["", "00", "011"] {
                forms.push(format!("{prefix}{code}{}", self.national));
                forms.push(format!("{prefix}{code}{trunk}{}", self.national));
            }
        }
        let mut last: Vec<String> = forms.iter().filter_map(|form| last(form)).collect();
        last.sort_unstable();
        last.dedup();
        last
    }
}

/// Returns the last digits of a number as written, for an index. Returns `None` if the text has too few digits.
pub fn last_digits(text: &str) -> Option<String> {
    last(&digits(text)?)
}

/// Returns the digits of a number as written, without its extension. Returns `None` if the text has too few digits.
pub fn digits(text: &str) -> Option<String> {
    ParsedNumber::parse(text).map(|written| written.digits)
}

/// Returns `true` if the text is a telephone number, with or without extension, and nothing else.
pub fn is_number(text: &str) -> bool {
    ParsedNumber::parse(text).is_some_and(|written| written.is_clean && written.digits.len() <= MAX_DIGITS)
}

fn last(digits: &str) -> Option<String> {
    (digits.len() >= MIN_DIGITS).then(|| digits[digits.len().saturating_sub(LAST_DIGITS)..].to_owned())
}

/// The parts of a number as written.
struct ParsedNumber {
    /// `true` if the number begins with a plus sign.
    international: bool,
    /// ASCII digits without those of the extension.
    digits: String,
    /// `true` if the text contains only the number and an extension.
    is_clean: bool,
}

impl ParsedNumber {
    fn parse(text: &str) -> Option<ParsedNumber> {
        let text: String = text.nfkd().flat_map(char::to_lowercase).filter(|c| !is_invisible(*c)).collect();
        let text = text.trim();
        let text = text.strip_prefix("tel:").unwrap_or(text);
        let start = text.find(|c: char| c == '+' || c.is_ascii_digit())?;
        let (label, rest) = text.split_at(start);
        let (number, tail) = rest.split_at(rest.find(|c: char| !is_dialled(c)).unwrap_or(rest.len()));
        // The rest of a local number of RFC 3966.
        let context = tail.split(';').find_map(|parameter| parameter.strip_prefix("phone-context="));
        let context = context.filter(|context| context.starts_with('+') && !number.starts_with('+'));
        let all = context.unwrap_or_default().chars().chain(number.chars());
        let digits: String = all.filter(char::is_ascii_digit).collect();
        let is_clean = label.chars().all(|c| "( ".contains(c))
            && (tail.split(';').filter(|part| !part.starts_with("phone-context=")).all(is_extension));
        let international = context.is_some() || number.starts_with('+');
        (digits.len() >= MIN_DIGITS).then_some(ParsedNumber { international, digits, is_clean })
    }
}

/// Returns `true` for marks of writing direction and joiners, which copied texts contain.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn is_dialled(c: char) -> bool {
    c.is_ascii_digit() || " +-.()/[]\t".contains(c) || matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// Returns `true` for `x45`, `ext. 7`, `#12`, `,,3`, and `ext=45` after a semicolon.
fn is_extension(text: &str) -> bool {
    let name: String = text.chars().filter(|c| c.is_alphabetic()).collect();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let signs = text.chars().all(|c| c.is_alphabetic() || c.is_ascii_digit() || " .,:=#*-()+/".contains(c));
    signs && digits <= MAX_EXTENSION && (name.is_empty() || EXTENSIONS.contains(&name.as_str()))
}

/// Returns the plan and the national part of digits without a plus sign.
fn dialled<'a>(digits: &'a str, plan: &'static Plan) -> (Option<&'static Plan>, &'a str) {
    let fits = |(plan, rest): &(&Plan, &str)| plan.lengths.contains(&without_prefixes(rest, plan).len());
    let abroad = |rest: &'a str| plans::for_digits(rest).filter(fits);
    let national = |digits: &str| plan.lengths.contains(&digits.len());
    let trunk = digits.strip_prefix(plan.trunk).filter(|_| !plan.trunk.is_empty());

    let prefixes = plans::international_prefixes(plan);
    if let Some((plan, rest)) = prefixes.filter_map(|prefix| digits.strip_prefix(prefix)).find_map(abroad) {
        return (Some(plan), rest);
    }
    if trunk.is_some_and(national) {
        return (Some(plan), digits);
    }
    // An international number without its plus sign.
    let own = digits.strip_prefix(plan.code.to_string().as_str()).filter(|rest| fits(&(plan, *rest)));
    match own {
        Some(rest) if !national(digits) || !plan.trunk.is_empty() && trunk.is_none() => (Some(plan), rest),
        _ if national(digits) || national(&without_prefixes(digits, plan)) => (Some(plan), digits),
        _ => abroad(digits).map_or((Some(plan), digits), |(plan, rest)| (Some(plan), rest)),
    }
}

/// Returns the national digits without prefixes that are dialled only in some places.
fn without_prefixes(national: &str, plan: &Plan) -> String {
    let fits = |digits: &str| plan.lengths.contains(&digits.len());
    let trunk = if plan.trunk.is_empty() { "0" } else { plan.trunk };
    // `+44 (0)20 7946 0958`. Without a trunk prefix a zero may belong to the number, as in Italy.
    let is_trunk = plan.trunk == "0" || !fits(national);
    let rest = national.strip_prefix(trunk).filter(|_| is_trunk).unwrap_or(national);
    match (plan.code, rest.len()) {
        // Mexican mobiles.
        (52, 11) if rest.starts_with('1') => rest[1..].to_owned(),
        (52, 12 | 13) => rest[rest.len() - 10..].to_owned(),
        // Argentinian mobiles: `9` before the area from abroad, `15` behind it within the country.
        (54, 11) if rest.starts_with('9') => rest[1..].to_owned(),
        (54, 12) => match (2..=4).find(|area| rest[*area..].starts_with("15")) {
            Some(area) => format!("{}{}", &rest[..area], &rest[area + 2..]),
            None => rest.to_owned(),
        },
        // Brazilian codes of carriers.
        (55, 12 | 13) => rest[2..].to_owned(),
        _ => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &str = "212-555-0399";

    fn is_same(one: &str, other: &str, country: &str) -> bool {
        let number = Number::read(one, country);
        number.is_some() && number == Number::read(other, country)
    }

    /// Asserts that all texts are the same number in a country, and that each finds the others.
    fn same(country: &str, written: &[&str]) {
        for (one, other) in written.iter().flat_map(|one| written.iter().map(move |other| (one, other))) {
            assert!(is_same(one, other, country), "{one} and {other} in {country}");
            let found = Number::read(one, country)
                .is_some_and(|it| last_digits(other).is_some_and(|last| it.last_digits().contains(&last)));
            assert!(found, "{one} finds {other} in {country}");
        }
    }

    #[test]
    fn extensions_are_not_part_of_the_number() {
        for extension in [
            "x45", " x45", " x 45", " X45", "x.45", " ext 45", " ext. 45", " Ext.45", " EXT:45", " extn 45",
            " extension 45", " Extension: 45", ";ext=45", ";EXT=45", "; ext=45", " #45", "#45", ",45", ",,45#", ";45",
            " (ext. 45)", " (x45)", " - ext 45", "*45", " int. 45", " anexo 45", " poste 45", " доб. 45", "\u{a0}x45",
            " ｅｘｔ 45", ";ext=45;isub=12", " x", " x1234567",
        ] {
            let with = format!("{BARE}{extension}");
            assert!(is_number(&with), "{with}");
            same("US", &[BARE, &with]);
            assert_eq!(digits(&with).as_deref(), Some("2125550399"), "{with}");
        }
        same("US", &["+1-201-555-0123;ext=45", "tel:+1-201-555-0123;ext=7", "(201) 555-0123", "TEL:+12015550123"]);
        same("US", &["tel:555-0123;phone-context=+1-201", "201 555 0123", "tel:555-0123;ext=4;phone-context=+1201"]);
        same("US", &["(212) 555-0140 ext. 7", "+1 212 555 0140 ext. 12", "2125550140"]);
    }

    #[test]
    fn national_and_international_forms_are_equal() {
        same(
            "US",
            &[
                "2125550399",
                "(212) 555-0399",
                "212.555.0399",
                "1-212-555-0399",
                "+1 212 555 0399",
                "+12125550399",
                "001 212 555 0399",
                "011 1 212 555 0399",
                "212/555-0399",
                "[212] 555 0399",
                "212\u{2011}555\u{2011}0399",
                "\u{202a}+1 (212) 555-0399\u{202c}",
                "＋１ ２１２ ５５５ ０３９９",
                "212+555+0399",
                "Cell: 212-555-0399",
                "212-555-0399 (home)",
            ],
        );
        same(
            "US",
            &["+44 20 7946 0958", "+44 (0)20 7946 0958", "011 44 20 7946 0958", "0044 20 7946 0958", "44 20 7946 0958"],
        );
        same(
            "GB",
            &[
                "020 7946 0958", "(020) 7946 0958", "+44 20 7946 0958", "+44 (0)20 7946 0958", "0044 20 7946 0958",
                "44 20 7946 0958", "+44 020 7946 0958", "020 7946 0958 x3",
            ],
        );
        same("GB", &["+1 212 555 0399", "001 212 555 0399", "12125550399"]);
        same(
            "DE",
            &[
                "030 901820", "030/90 18 20", "+49 30 901820", "+49 (0)30 901820", "0049 30 901820", "49 30 901820",
                "30 901820",
            ],
        );
        same("DE", &["0151 23456789", "+49 151 23456789", "0049 (0)151 23456789"]);
        same(
            "FR",
            &["01 23 45 67 89", "+33 1 23 45 67 89", "0033 1 23 45 67 89", "+33 (0)1 23 45 67 89", "33123456789"],
        );
        same("IT", &["06 698 12345", "+39 06 698 12345", "0039 06 698 12345"]);
        same("ES", &["912 345 678", "+34 912 345 678", "0034 912345678", "34 912 345 678"]);
        same("AU", &["(02) 9876 5432", "+61 2 9876 5432", "0011 61 2 9876 5432", "61 2 9876 5432"]);
        same("JP", &["03-1234-5678", "+81 3-1234-5678", "010 81 3 1234 5678"]);
        same("RU", &["8 912 345-67-89", "+7 912 345-67-89", "7 912 345 67 89", "912 345 67 89", "810 7 912 345 67 89"]);
        same("HU", &["06 1 234 5678", "+36 1 234 5678", "0036 1 234 5678"]);
        same("IN", &["098765 43210", "98765 43210", "+91 98765 43210", "91 98765 43210"]);
        same("IN", &["9123456789", "+91 91234 56789", "09123456789"]);
        same("MX", &["55 1234 5678", "+52 55 1234 5678", "+52 1 55 1234 5678", "044 55 1234 5678", "01 55 1234 5678"]);
        same("BR", &["(11) 98765-4321", "011 98765-4321", "+55 11 98765-4321", "0 15 11 98765-4321"]);
        same("CH", &["044 668 18 00", "+41 44 668 18 00", "0041446681800"]);
        same("DK", &["32 12 34 56", "+45 32 12 34 56", "4532123456"]);
        same("SG", &["6123 4567", "+65 6123 4567"]);
        same("LU", &["27 12 34 56", "+352 27 12 34 56", "00352 27 12 34 56"]);
        assert!(is_same("011 15 2345-6789", "+54 9 11 2345 6789", "AR"));
    }

    #[test]
    fn numbers_of_different_lines_are_not_equal() {
        for (one, other, country) in [
            ("212-555-0399", "212-555-0398", "US"),
            ("212-555-0399", "555-0399", "US"),
            ("212-555-0399", "+44 212 555 0399", "US"),
            ("020 7946 0958", "+49 20 7946 0958", "GB"),
            ("212-555-0345", "212-555-0399 x45", "US"),
            ("06 698 12345", "+39 6 698 12345", "IT"),
            ("5550123", "5550124", "US"),
        ] {
            assert!(!is_same(one, other, country), "{one} and {other} in {country}");
        }
        assert!(!is_same("020 7946 0958", "+44 20 7946 0958", "US"), "a national form is the location's");
    }

    #[test]
    fn texts_with_too_few_digits_are_rejected() {
        for text in ["", "12-34", "x212", "ext. 1234", "555-012", "555 x4567890", "call me", "+", "tel:"] {
            assert_eq!((Number::read(text, "US"), last_digits(text)), (None, None), "{text}");
            assert!(!is_number(text), "{text}");
        }
    }

    #[test]
    fn number_with_other_text_is_read_but_fails_is_number() {
        for text in [
            "5550109; drop",
            "212-555-0399 or mail",
            "cell 212-555-0399",
            "212-555-0399 x123456789012",
            "212-555-0399 <b>",
        ] {
            assert!(!is_number(text) && digits(text).is_some(), "{text}");
        }
        assert!(!is_number(&"0".repeat(21)));
        for text in ["5550109", "+1 (555) 010-9999", "555.010.9999 x12", "+49 30 901820", "tel:+1-201-555-0123"] {
            assert!(is_number(text), "{text}");
        }
    }

    #[test]
    fn a_country_without_a_plan_compares_digits() {
        assert!(is_same("212-555-0399", "(212) 555 0399 x7", "ZZ"));
        assert!(is_same("+44 20 7946 0958", "+44 (0)20 7946 0958", "ZZ"));
    }
}
