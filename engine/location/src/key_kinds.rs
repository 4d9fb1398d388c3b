//! Kinds of values of configuration keys: their notation in files, their checks, and their description in the
//! reference. A row of `settings!` names one of these functions, followed by methods of `KeyKind`.

use std::{
    fmt::Display,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use crate::time::{DAY, HOUR, MINUTE, Millis, SECOND};

/// The placeholder for an arbitrary text.
const TEXT: &str = "\"...\"";
const UNITS: [(&str, Millis); 5] = [("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1)];
/// Ids that fit into an int32.
const IDS: RangeInclusive<i64> = 1..=i32::MAX as i64;

/// A value of a file.
pub enum RawValue<'a> {
    /// A string.
    Text(&'a str),
    /// The digits of a number, and the radix of an integer.
    Number(&'a str, Option<u32>),
    Flag(bool),
    List(Vec<RawValue<'a>>),
    /// A value that no key accepts.
    Other,
}

impl RawValue<'_> {
    fn text(&self) -> Result<&str, String> {
        if let RawValue::Text(text) = self { Ok(text) } else { Err("must be a string".into()) }
    }

    fn integer<T: TryFrom<i64>>(&self, range: &RangeInclusive<i64>) -> Result<T, Problems> {
        let RawValue::Number(digits, Some(radix)) = self else { return Err("must be an integer".into()) };
        let number = i64::from_str_radix(&digits.replace('_', ""), *radix).ok().filter(|it| range.contains(it));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("must be between {} and {}", range.start(), range.end()).into())
    }

    /// Parses the elements of an array. `parse` returns `None` for an element of another type.
    fn elements<T>(
        &self,
        wrong: &str,
        parse: impl Fn(&RawValue<'_>) -> Option<Result<T, String>>,
    ) -> Result<Vec<T>, Problems> {
        let RawValue::List(elements) = self else { return Err(wrong.into()) };
        let parsed: Vec<_> = elements.iter().map(parse).collect::<Option<_>>().ok_or(wrong)?;
        let (mut values, mut problems) = (Vec::new(), Vec::new());
        for (n, element) in parsed.into_iter().enumerate() {
            match element {
                Ok(value) => values.push(value),
                Err(problem) => problems.push((Some(n), problem)),
            }
        }
        if problems.is_empty() { Ok(values) } else { Err(Problems(problems)) }
    }
}

/// The problems of a value, those of elements with their index. Each text continues a sentence that begins with the
/// key.
pub struct Problems(pub Vec<(Option<usize>, String)>);

impl From<String> for Problems {
    fn from(problem: String) -> Problems {
        Problems(vec![(None, problem)])
    }
}

impl From<&str> for Problems {
    fn from(problem: &str) -> Problems {
        problem.to_owned().into()
    }
}

/// The effect of a key that is not set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The value of the field is the default.
    Default,
    /// The value of the field is the default and depends on the machine. The reference describes it in these words.
    Machine(&'static str),
    /// There is no default.
    Unset,
    Required,
}

/// The place of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The configuration file.
    Inline,
    /// The configuration file, or the environment variable NAME for `env:NAME`.
    Environment,
    /// The file with this path.
    File,
}

type Parse<T> = Box<dyn Fn(&RawValue<'_>) -> Result<T, Problems>>;
type Show<T> = Box<dyn Fn(&T) -> String>;
type Rebase<T> = Box<dyn Fn(&mut T, &Path)>;

/// The values that a key accepts.
pub struct KeyKind<T> {
    /// The accepted values, in the reference.
    pub range: String,
    /// A sample value for a key without a default, as TOML.
    pub example: String,
    pub presence: Presence,
    pub source: Source,
    /// `true` if only a hash of the value is recorded.
    pub is_credential: bool,
    /// The name, in messages, of a value that may occur only once in a configuration.
    pub unique: Option<&'static str>,
    pub parse: Parse<T>,
    /// Formats a value, without quotes.
    pub show: Show<T>,
    /// Resolves a relative path from the folder of the file.
    pub rebase: Rebase<T>,
}

impl<T: 'static> KeyKind<T> {
    fn new(
        range: impl Into<String>,
        example: impl Into<String>,
        parse: impl Fn(&RawValue<'_>) -> Result<T, Problems> + 'static,
        show: impl Fn(&T) -> String + 'static,
    ) -> KeyKind<T> {
        KeyKind {
            range: range.into(),
            example: example.into(),
            presence: Presence::Default,
            source: Source::Inline,
            is_credential: false,
            unique: None,
            parse: Box::new(parse),
            show: Box::new(show),
            rebase: Box::new(|_: &mut T, _: &Path| ()),
        }
    }

    /// Replaces the description in the reference.
    pub fn described(self, range: &str, example: &str) -> KeyKind<T> {
        KeyKind { range: range.into(), example: example.into(), ..self }
    }

    /// Removes the default.
    pub fn without_default(self) -> KeyKind<T> {
        KeyKind { presence: Presence::Unset, ..self }
    }

    pub fn required(self) -> KeyKind<T> {
        KeyKind { presence: Presence::Required, ..self }
    }

    /// Refuses a value that another table has, too. `what` names the value in messages.
    pub fn unique(self, what: &'static str) -> KeyKind<T> {
        KeyKind { unique: Some(what), ..self }
    }

    /// Accepts `env:NAME`, too.
    pub fn env(self) -> KeyKind<T> {
        KeyKind { source: Source::Environment, ..self }
    }

    /// Hides the value from lists of changes. Accepts `env:NAME`, too.
    pub fn credential(self) -> KeyKind<T> {
        KeyKind { is_credential: true, ..self.env() }.described("a credential, or `env:NAME`", "\"env:NAME\"")
    }

    /// Removes the default, for a field that may be `None`.
    pub fn optional(self) -> KeyKind<Option<T>> {
        let KeyKind { range, example, source, is_credential, unique, parse, show, rebase, .. } = self;
        KeyKind {
            range,
            example,
            presence: Presence::Unset,
            source,
            is_credential,
            unique,
            parse: Box::new(move |value: &RawValue<'_>| parse(value).map(Some)),
            show: Box::new(move |value: &Option<T>| value.as_ref().map_or_else(|| "none".to_owned(), &show)),
            rebase: Box::new(move |value: &mut Option<T>, base: &Path| {
                value.iter_mut().for_each(|value| rebase(value, base));
            }),
        }
    }

    /// Accepts `"none"`, too, and has the value of the field as the default.
    pub fn or_none(self) -> KeyKind<Option<T>> {
        let range = format!("{}, or `none`", self.range);
        let kind = self.optional();
        let parse = kind.parse;
        let or_none = |(at, problem): (Option<usize>, String)| (at, format!("{problem}, or \"none\""));
        KeyKind {
            range,
            example: "\"none\"".into(),
            presence: Presence::Default,
            parse: Box::new(move |value: &RawValue<'_>| match value {
                RawValue::Text("none") => Ok(None),
                _ => parse(value).map_err(|Problems(all)| Problems(all.into_iter().map(or_none).collect())),
            }),
            ..kind
        }
    }

    /// Converts to another type or unit.
    fn convert<V: 'static>(
        self,
        to: impl Fn(T) -> Result<V, String> + 'static,
        from: impl Fn(&V) -> T + 'static,
    ) -> KeyKind<V> {
        let KeyKind { range, example, parse, show, .. } = self;
        KeyKind::new(range, example, move |value| Ok(to(parse(value)?)?), move |value: &V| show(&from(value)))
    }
}

/// An integer.
pub fn integer<T: TryFrom<i64> + Display + 'static>(range: RangeInclusive<i64>) -> KeyKind<T> {
    KeyKind::new(span(&range), range.start().to_string(), move |value| value.integer(&range), T::to_string)
}

/// A number of threads. The default is the number of cores.
pub fn cores(range: RangeInclusive<i64>) -> KeyKind<usize> {
    KeyKind { presence: Presence::Machine("number of cores"), example: "2".into(), ..integer(range) }
}

/// The id of another table.
pub fn id<T: TryFrom<i64> + Display + 'static>() -> KeyKind<T> {
    integer(IDS).described("an id", "1")
}

/// The id of the table, unique among those that `what` names.
pub fn own_id<T: TryFrom<i64> + Display + 'static>(what: &'static str) -> KeyKind<T> {
    id().described("a number that stays", "1").required().unique(what)
}

pub fn ids() -> KeyKind<Vec<u32>> {
    let id = |element: &RawValue<'_>| element.integer::<u32>(&IDS).ok().map(Ok::<u32, String>);
    KeyKind::new("ids", "[1]", move |list| list.elements("must be an array of ids", id), |_: &Vec<u32>| String::new())
}

/// One of the given integers.
pub fn one_of(known: &'static [u16]) -> KeyKind<u16> {
    let range = known.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    let wrong = format!("must be one of {range}");
    let parse = move |value: &RawValue<'_>| {
        let number = value.integer::<u16>(&(0..=u16::MAX.into())).ok();
        number.filter(|number| known.contains(number)).ok_or_else(|| Problems::from(wrong.as_str()))
    };
    KeyKind::new(range, "1", parse, u16::to_string)
}

/// A number with or without a fraction.
pub fn number(range: RangeInclusive<f64>) -> KeyKind<f64> {
    let (least, most) = (*range.start(), *range.end());
    let parse = move |value: &RawValue<'_>| -> Result<f64, Problems> {
        let digits = if let RawValue::Number(digits, _) = value { *digits } else { "" };
        let number = digits.parse::<f64>().map_err(|_| "must be a number")?;
        if range.contains(&number) { Ok(number) } else { Err(format!("must be between {least} and {most}").into()) }
    };
    KeyKind::new(format!("{least} to {most}"), "0.0", parse, f64::to_string)
}

/// `true` or `false`.
pub fn flag() -> KeyKind<bool> {
    let parse = |value: &RawValue<'_>| match value {
        RawValue::Flag(flag) => Ok(*flag),
        _ => Err(Problems::from("must be true or false")),
    };
    KeyKind::new("true or false", "true", parse, bool::to_string)
}

/// A string.
pub fn text<T: Display + 'static>(parse: impl Fn(&str) -> Result<T, String> + 'static) -> KeyKind<T> {
    text_as(parse, T::to_string)
}

/// A string, formatted by `show`.
pub fn text_as<T: 'static>(
    parse: impl Fn(&str) -> Result<T, String> + 'static,
    show: impl Fn(&T) -> String + 'static,
) -> KeyKind<T> {
    KeyKind::new("text", TEXT, move |value| Ok(parse(value.text()?)?), show)
}

/// A string that is not empty, for fields that every location has: it takes less memory than a `String`.
pub fn boxed_text() -> KeyKind<Box<str>> {
    text(|text| not_empty(text).map(String::into_boxed_str))
}

/// A string that fulfils a condition.
pub fn text_where(is_valid: fn(&str) -> bool, wrong: &'static str) -> KeyKind<String> {
    text(move |text| if is_valid(text) { Ok(text.to_owned()) } else { Err(wrong.to_owned()) })
}

/// A string in the notation of a type.
pub fn from_str<T: FromStr + Display + 'static>(wrong: &'static str) -> KeyKind<T> {
    text(move |text| text.parse::<T>().map_err(|_| wrong.to_owned()))
}

/// A string without a default.
pub fn parsed<T: 'static>(parse: impl Fn(&str) -> Result<T, String> + 'static) -> KeyKind<T> {
    text_as(parse, |_: &T| String::new()).without_default()
}

/// The contents of a file with a credential.
pub fn file<T: 'static>(parse: impl Fn(&str) -> Result<T, String> + 'static) -> KeyKind<T> {
    KeyKind { source: Source::File, ..parsed(parse) }.described("a file", TEXT)
}

/// A path, relative to the folder of the file.
pub fn path() -> KeyKind<PathBuf> {
    let kind = text_as(|text| not_empty(text).map(PathBuf::from), |path: &PathBuf| path.display().to_string());
    KeyKind { rebase: Box::new(|path: &mut PathBuf, base: &Path| *path = base.join(&*path)), ..kind }
}

/// One of the given words.
pub fn word<T: Copy + PartialEq + 'static>(words: &[(&'static str, T)]) -> KeyKind<T> {
    let listed = words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let example = format!("\"{}\"", words.first().map_or("", |(word, _)| word));
    let (known, shown) = (words.to_vec(), words.to_vec());
    let show = move |value: &T| shown.iter().find(|(_, it)| it == value).map_or("", |(word, _)| word).to_owned();
    text_as(move |text| chosen(&known, text), show).described(&listed, &example)
}

fn chosen<T: Copy>(words: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let (last, rest) = words.split_last().map_or(("", words), |((last, _), rest)| (*last, rest));
        let rest: Vec<String> = rest.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        format!("must be {} or \"{last}\"", rest.join(", "))
    })
}

/// A list of strings without a default.
pub fn texts<T: 'static>(parse: impl Fn(&str) -> Result<T, String> + 'static) -> KeyKind<Vec<T>> {
    let element = move |element: &RawValue<'_>| element.text().ok().map(&parse);
    let parse = move |list: &RawValue<'_>| list.elements("must be an array of strings", &element);
    KeyKind::new("texts", "[\"...\"]", parse, |_: &Vec<T>| String::new()).without_default()
}

/// A list of strings. `range` describes them.
pub fn list<T: Display + 'static>(range: &str, parse: impl Fn(&str) -> Result<T, String> + 'static) -> KeyKind<Vec<T>> {
    let show = |all: &Vec<T>| format!("[{}]", all.iter().map(T::to_string).collect::<Vec<_>>().join(", "));
    KeyKind { presence: Presence::Default, show: Box::new(show), ..texts(parse).described(range, "[]") }
}

/// A duration in milliseconds.
pub fn duration(range: RangeInclusive<Millis>) -> KeyKind<Millis> {
    let [least, most] = [*range.start(), *range.end()].map(show_duration);
    let span = format!("{least} to {most}");
    let parse = move |text: &str| {
        let length = parse_duration(text).ok_or("must be a duration such as \"30s\", \"5m\" or \"72h\"")?;
        if range.contains(&length) { Ok(length) } else { Err(format!("must be between {least} and {most}")) }
    };
    text_as(parse, |length: &Millis| show_duration(*length)).described(&span, TEXT)
}

/// A duration in seconds.
pub fn seconds<T: Copy + Into<u64> + TryFrom<u64> + 'static>(range: RangeInclusive<Millis>) -> KeyKind<T> {
    let to = |length: Millis| T::try_from((length / SECOND).unsigned_abs()).map_err(|_| "is too long".to_owned());
    duration(range).convert(to, |seconds: &T| Into::<u64>::into(*seconds).cast_signed() * SECOND)
}

/// A duration of the standard library.
pub fn std_duration(range: RangeInclusive<Millis>) -> KeyKind<Duration> {
    let from = |length: &Duration| Millis::try_from(length.as_millis()).unwrap_or(Millis::MAX);
    duration(range).convert(|length| Ok(Duration::from_millis(length.unsigned_abs())), from)
}

/// A duration of the standard library. Zero is `None`.
pub fn duration_or_zero(range: RangeInclusive<Millis>) -> KeyKind<Option<Duration>> {
    let kind = std_duration(range);
    kind.convert(|it| Ok(Some(it).filter(|it| !it.is_zero())), |it: &Option<Duration>| it.unwrap_or_default())
}

/// A number of minutes, in milliseconds.
pub fn minutes(range: RangeInclusive<i64>) -> KeyKind<Millis> {
    integer(range).convert(|minutes: Millis| Ok(minutes * MINUTE), |length: &Millis| length / MINUTE)
}

/// A size in MiB, in bytes.
pub fn mib(range: RangeInclusive<i64>) -> KeyKind<u64> {
    integer(range).convert(|mib: u64| Ok(mib << 20), |bytes: &u64| bytes >> 20)
}

/// Parses a string that must not be empty.
pub fn not_empty(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("must not be empty".into()) } else { Ok(text.to_owned()) }
}

/// Parses a duration such as `90s`, `1h30m` or `500ms`.
pub fn parse_duration(text: &str) -> Option<Millis> {
    let (mut rest, mut sum) = (text.trim(), 0_i64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit_and_rest) = rest.split_at(digits);
        let unit = unit_and_rest.find(|c: char| c.is_ascii_digit()).unwrap_or(unit_and_rest.len());
        let (unit, after) = unit_and_rest.split_at(unit);
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
        sum = sum.checked_add(number.parse::<i64>().ok()?.checked_mul(*length)?)?;
        rest = after;
    }
    (!text.trim().is_empty()).then_some(sum)
}

/// Formats a duration in its largest unit without a remainder.
pub fn show_duration(length: Millis) -> String {
    let unit = UNITS.iter().find(|(_, unit)| length != 0 && length % unit == 0);
    unit.map_or_else(|| "0s".to_owned(), |(name, unit)| format!("{}{name}", length / unit))
}

/// Formats a range, with commas in large numbers.
fn span(range: &RangeInclusive<i64>) -> String {
    let grouped = |number: &i64| {
        let digits = number.to_string();
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
        groups.join(",")
    };
    format!("{} to {}", grouped(range.start()), grouped(range.end()))
}
