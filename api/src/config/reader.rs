//! Reads a TOML table key by key and records the line of each problem. A key that was not read is reported as unknown.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    fmt::Display,
    ops::RangeInclusive,
    path::Path,
    rc::Rc,
    sync::LazyLock,
    time::Duration,
};

use location::time::Millis;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    describe::{AcceptedValues, TableNotes},
    durations::{parse_duration, show_duration},
    problems::Problems,
    spelling::{TEXT, chosen, display_value, listed, quoted, span, within},
    values::{ConfigValue, Scope, Values},
};
use crate::values::{limits::INT32, words::WireEnum};

type TomlValue<'a> = Spanned<DeValue<'a>>;

/// The replacement for a missing table.
pub(super) static NO_KEYS: LazyLock<DeTable<'static>> = LazyLock::new(DeTable::new);

/// A value and its position in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located<T> {
    pub value: T,
    pub at: usize,
}

const NO_LIST_CACHE: &str = "no longer exists: lists are not cached; remove it";

/// Keys of earlier releases: the name of the section in messages, the key, and the advice.
const RENAMED_KEYS: &[(&str, &str, &str)] = &[
    ("the file", "limits", "is now called `rate_limits`"),
    (
        "the file",
        "keys",
        "has a file of its own now: move each [[keys]] to keys.toml beside this file, or to what `keys_file` names",
    ),
    ("[http]", "kept_pages", NO_LIST_CACHE),
    ("[http]", "list_cache_bytes", NO_LIST_CACHE),
    ("[http]", "user_agent_rule", "is now called `compatibility.user_agent_rule`"),
    ("[http]", "refused_user_agents", "is now called `compatibility.refused_user_agents`"),
];

/// One table of the file. Reports unread keys on drop.
pub(super) struct Section<'a, 't> {
    table: &'t DeTable<'a>,
    /// The name in messages, such as `[http]`.
    name: String,
    pub at: usize,
    /// The owner of the keys, and the prefix of their names, such as `http.`.
    subject: Scope,
    prefix: String,
    asked: RefCell<BTreeSet<String>>,
    pub problems: Problems<'a>,
    values: Rc<RefCell<Values>>,
    /// Collects the reference, if it is generated.
    notes: Option<TableNotes>,
    /// The description of the next key or table.
    about: Cell<Option<&'static str>>,
    /// Startup-only markers: pending for the next key or table, set for single keys, or set for the whole table.
    next_at_start: Cell<bool>,
    keys_at_start: RefCell<BTreeSet<String>>,
    all_at_start: bool,
}

impl Drop for Section<'_, '_> {
    fn drop(&mut self) {
        let asked = self.asked.borrow();
        for key in self.table.keys().filter(|key| !asked.contains(key.get_ref().as_ref())) {
            let known = asked.iter().cloned().collect::<Vec<_>>().join(", ");
            let key_name = key.get_ref();
            let earlier = RENAMED_KEYS.iter().find(|(section, old, _)| *section == self.name && old == key_name);
            let problem = match earlier {
                Some((_, _, became)) => format!("`{key_name}` in {} {became}", self.name),
                None => format!("unknown key `{key_name}` in {}; known are: {known}", self.name),
            };
            self.problems.add(key.span().start, problem);
        }
    }
}

impl<'a, 't> Section<'a, 't> {
    /// Creates the section of a whole file. Its values are added to `values`.
    pub(super) fn root(
        table: &'t DeTable<'a>,
        problems: Problems<'a>,
        values: &Rc<RefCell<Values>>,
    ) -> Section<'a, 't> {
        Section {
            table,
            name: "the file".into(),
            at: 0,
            subject: Scope::Server,
            prefix: String::new(),
            asked: RefCell::default(),
            problems,
            values: values.clone(),
            notes: None,
            about: Cell::new(None),
            next_at_start: Cell::new(false),
            keys_at_start: RefCell::default(),
            all_at_start: false,
        }
    }

    /// Collects the keys in `notes`, for tables without contents.
    pub(super) fn described(mut self, notes: TableNotes) -> Section<'a, 't> {
        self.notes = Some(notes);
        self
    }

    /// Sets the description of the next key or table in the reference.
    pub(super) fn about(&self, meaning: &'static str) -> &Section<'a, 't> {
        self.about.set(Some(meaning));
        self
    }

    /// Marks the next key or table as read only at startup.
    pub(super) fn at_start(&self) -> &Section<'a, 't> {
        self.next_at_start.set(true);
        self
    }

    fn is_at_start(&self, key: &str) -> bool {
        let mut said = self.keys_at_start.borrow_mut();
        if self.next_at_start.take() {
            said.insert(key.to_owned());
        }
        self.all_at_start || said.contains(key)
    }

    fn note_key(&self, key: &str, takes: impl FnOnce() -> AcceptedValues) {
        if let Some(notes) = &self.notes {
            notes.key(key, takes(), self.is_at_start(key), self.about.take());
        }
    }

    /// Describes a key with a user-defined name.
    pub(super) fn note_any(&self, key: &str, range: &str, example: &str) {
        self.note_key(key, || AcceptedValues::like(example, range));
    }

    /// Returns the folder that relative paths refer to.
    pub(super) fn base(&self) -> &'a Path {
        self.problems.document.base()
    }

    /// Reads the `id` of the table, which becomes the owner of its keys and of those in nested tables.
    pub(super) fn identified(&mut self, subject: fn(i64) -> Scope) -> Option<Located<i64>> {
        self.about("The id, which records refer to. It must not change.")
            .note_key("id", || AcceptedValues::like("1", "a number that stays"));
        let id = self.required("id", self.read_unseen("id", |value| within(value, &INT32)));
        (self.subject, self.prefix) = (subject(id.map_or(0, |id| id.value)), String::new());
        id
    }

    /// Records a value that follows from the position of the table.
    pub(super) fn note(&self, key: &str, value: impl Display) {
        self.say(key, ConfigValue::Shown(value.to_string()));
    }

    fn say(&self, key: &str, said: ConfigValue) {
        let at_start = self.is_at_start(key);
        self.values.borrow_mut().set(&self.subject, format!("{}{key}", self.prefix), said, at_start);
    }

    /// Records the effective value of a server key, whether it is set or not. Inheritable keys are recorded only where
    /// they are set.
    fn in_force(&self, key: &str, set: bool, value: impl Display) {
        if set || self.subject == Scope::Server {
            self.say(key, ConfigValue::Shown(value.to_string()));
        }
    }

    fn get(&self, key: &str) -> Option<&'t TomlValue<'a>> {
        self.asked.borrow_mut().insert(key.to_owned());
        // Consumes the startup-only marker even if the key is missing.
        self.is_at_start(key);
        self.table.iter().find(|(name, _)| name.get_ref().as_ref() == key).map(|(_, value)| value)
    }

    fn read<T>(&self, key: &str, kind: impl Fn(&DeValue<'a>) -> Result<T, String>) -> Option<Located<T>> {
        self.say(key, ConfigValue::Shown(display_value(self.get(key)?.get_ref())));
        self.read_unseen(key, kind)
    }

    /// Reads a key without recording its value.
    fn read_unseen<T>(&self, key: &str, kind: impl Fn(&DeValue<'a>) -> Result<T, String>) -> Option<Located<T>> {
        let value = self.get(key)?;
        match kind(value.get_ref()) {
            Ok(read) => Some(Located { value: read, at: value.span().start }),
            Err(problem) => {
                self.problems.add(value.span().start, format!("`{key}` {problem}"));
                None
            }
        }
    }

    pub(super) fn missing(&self, key: &str) {
        self.problems.add(self.at, format!("`{key}` is missing in {}", self.name));
    }

    /// Returns `value`, and reports the key as missing if it is absent. An invalid value does not count as missing.
    pub(super) fn required<T>(&self, key: &str, value: Option<T>) -> Option<T> {
        self.notes.iter().for_each(|notes| notes.required(key));
        if value.is_none() && self.get(key).is_none() {
            self.missing(key);
        }
        value
    }

    pub(super) fn text(&self, key: &str) -> Option<Located<String>> {
        self.parsed(key, not_empty)
    }

    /// Reads a string and parses it with `kind`.
    pub(super) fn parsed<T>(&self, key: &str, kind: impl Fn(&str) -> Result<T, String>) -> Option<Located<T>> {
        self.note_key(key, || AcceptedValues::like(TEXT, "text"));
        self.read(key, |value| kind(value.as_str().ok_or("must be a string")?))
    }

    /// Reads a credential or `env:NAME`, the name of its environment variable. Only a hash of the value is recorded.
    pub(super) fn credential<T>(&self, key: &str, kind: impl Fn(String) -> Result<T, String>) -> Option<Located<T>> {
        self.note_key(key, || AcceptedValues::like("\"env:NAME\"", "a credential, or `env:NAME`"));
        self.say(key, ConfigValue::credential(display_value(self.get(key)?.get_ref())));
        self.read_unseen(key, |value| kind(from_environment(value.as_str().ok_or("must be a string")?)?))
    }

    /// Reads a file with a credential. Only a hash of its contents is recorded.
    pub(super) fn credential_file<T>(
        &self,
        key: &str,
        kind: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Option<Located<T>> {
        self.note_key(key, || AcceptedValues::like(TEXT, "a file"));
        self.parsed(key, |file| {
            let bytes = std::fs::read(self.base().join(file)).map_err(|error| format!("cannot be read: {error}"))?;
            self.say(&format!("{key} contents"), ConfigValue::credential(&bytes));
            kind(&bytes)
        })
    }

    pub(super) fn integer(&self, key: &str, range: RangeInclusive<i64>) -> Option<Located<i64>> {
        self.note_key(key, || AcceptedValues::like(range.start().to_string(), span(&range)));
        self.read(key, |value| within(value, &range))
    }

    pub(super) fn float(&self, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let number = |value: &DeValue<'a>| {
            let digits = value.as_float().map(|n| n.as_str()).or_else(|| value.as_integer().map(|n| n.as_str()));
            let number = digits.and_then(|digits| digits.parse::<f64>().ok()).ok_or("must be a number")?;
            let inside = range.contains(&number);
            if inside { Ok(number) } else { Err(format!("must be between {} and {}", range.start(), range.end())) }
        };
        self.note_key(key, || AcceptedValues::like("0.0", format!("{} to {}", range.start(), range.end())));
        self.read(key, number).map(|placed| placed.value)
    }

    pub(super) fn texts(&self, key: &str) -> Option<Vec<Located<String>>> {
        self.note_key(key, || AcceptedValues::like(format!("[{TEXT}]"), "texts"));
        self.elements(key, "strings", |value| value.as_str().map(str::to_owned))
    }

    /// Reads strings and parses each with `kind`.
    pub(super) fn texts_as<T>(&self, key: &str, kind: impl Fn(&str) -> Result<T, String>) -> Option<Vec<T>> {
        let read = |text: Located<String>| {
            kind(&text.value).map_err(|problem| self.problems.add(text.at, format!("`{key}` {problem}"))).ok()
        };
        Some(self.texts(key)?.into_iter().filter_map(read).collect())
    }

    /// Returns the position of a key's value, valid or not.
    pub(super) fn at_of(&self, key: &str) -> Option<usize> {
        self.get(key).map(|value| value.span().start)
    }

    /// Returns `true` if the key is present, valid or not.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn integers(&self, key: &str, range: RangeInclusive<i64>) -> Option<Vec<Located<i64>>> {
        self.note_key(key, || AcceptedValues::like("[1]", "ids"));
        self.elements(key, "ids", |value| within(value, &range).ok())
    }

    fn elements<T>(&self, key: &str, what: &str, kind: impl Fn(&DeValue<'a>) -> Option<T>) -> Option<Vec<Located<T>>> {
        let value = self.get(key)?;
        self.say(key, ConfigValue::Shown(display_value(value.get_ref())));
        let of = |element: &TomlValue<'a>| Some(Located { value: kind(element.get_ref())?, at: element.span().start });
        let elements = value.get_ref().as_array().and_then(|array| array.iter().map(of).collect());
        if elements.is_none() {
            self.problems.add(value.span().start, format!("`{key}` must be an array of {what}"));
        }
        elements
    }

    pub(super) fn table(&self, key: &str) -> Option<Section<'a, 't>> {
        if self.notes.is_some() {
            return Some(self.empty(key));
        }
        let value = self.get(key)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.problems.add(value.span().start, format!("`{key}` must be a table"));
        }
        table.map(|table| self.section(table, key, false, value.span().start))
    }

    /// Returns the table, or an empty one if it is missing.
    pub(super) fn settings(&self, key: &str) -> Section<'a, 't> {
        self.table(key).unwrap_or_else(|| self.empty(key))
    }

    fn empty(&self, key: &str) -> Section<'a, 't> {
        self.section(&NO_KEYS, key, false, self.at)
    }

    pub(super) fn tables(&self, key: &str) -> Vec<Section<'a, 't>> {
        if self.notes.is_some() {
            return vec![self.section(&NO_KEYS, key, true, self.at)];
        }
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.problems.add(value.span().start, format!("`{key}` must be written as [[{key}]]"));
            return Vec::new();
        };
        let section = |element: &'t TomlValue<'a>| match element.get_ref().as_table() {
            Some(table) => Some(self.section(table, key, true, element.span().start)),
            None => {
                self.problems.add(element.span().start, format!("`{key}` must be written as [[{key}]]"));
                None
            }
        };
        array.iter().filter_map(section).collect()
    }

    fn section(&self, table: &'t DeTable<'a>, key: &str, is_list: bool, at: usize) -> Section<'a, 't> {
        let (name, prefix) = match is_list {
            true => (format!("[[{key}]]"), String::new()),
            false => (format!("[{key}]"), format!("{}{key}.", self.prefix)),
        };
        Section {
            table,
            name,
            at,
            subject: self.subject.clone(),
            prefix,
            asked: RefCell::default(),
            problems: self.problems.clone(),
            values: self.values.clone(),
            notes: self.notes.as_ref().map(|notes| notes.below(key, is_list, self.about.take())),
            about: Cell::new(None),
            next_at_start: Cell::new(false),
            keys_at_start: RefCell::default(),
            all_at_start: self.is_at_start(key),
        }
    }

    /// Returns the keys of a table with user-defined names.
    pub(super) fn keys(&self) -> Vec<Located<String>> {
        self.table.keys().map(|key| Located { value: key.get_ref().to_string(), at: key.span().start }).collect()
    }

    // Knobs: keep the current value unless the file sets another.

    pub(super) fn knob<T: TryFrom<i64> + Display>(&self, key: &str, range: RangeInclusive<i64>, knob: &mut T) {
        self.note_key(key, || AcceptedValues::by_default(knob.to_string(), span(&range)));
        let set = self.integer(key, range).and_then(|placed| T::try_from(placed.value).ok());
        let is_set = set.is_some();
        set.into_iter().for_each(|value| *knob = value);
        self.in_force(key, is_set, knob);
    }

    /// Reads a number of threads. The default is the number of cores.
    pub(super) fn cores(&self, key: &str, range: RangeInclusive<i64>, knob: &mut usize) {
        let takes = || AcceptedValues {
            default: Some("number of cores".to_owned()),
            ..AcceptedValues::like("2", span(&range))
        };
        self.note_key(key, takes);
        self.knob(key, range, knob);
    }

    pub(super) fn flag(&self, key: &str, knob: &mut bool) {
        self.note_key(key, || AcceptedValues::by_default(knob.to_string(), "true or false"));
        let set = self.read(key, |value| value.as_bool().ok_or("must be true or false".into()));
        set.iter().for_each(|placed| *knob = placed.value);
        self.in_force(key, set.is_some(), knob);
    }

    fn one_of<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<Located<T>> {
        self.note_key(key, || AcceptedValues::like(quoted(words.first().map_or("", |(word, _)| word)), listed(words)));
        self.parsed(key, |text| chosen(words, text))
    }

    /// Reads a word of a closed list.
    pub(super) fn word<T: WireEnum>(&self, key: &str) -> Option<Located<T>> {
        self.one_of(key, &words())
    }

    /// Reads one of the given words.
    pub(super) fn choice<T: Copy + PartialEq>(
        &self,
        key: &str,
        words: &[(&str, T)],
        knob: &mut T,
    ) -> Option<Located<T>> {
        let word = |knob: &T| words.iter().find(|(_, value)| value == knob).map_or("", |(word, _)| word).to_owned();
        self.note_key(key, || AcceptedValues::by_default(quoted(word(knob)), listed(words)));
        let chosen = self.one_of(key, words);
        chosen.iter().for_each(|placed| *knob = placed.value);
        self.in_force(key, chosen.is_some(), word(knob));
        chosen
    }

    /// Reads a string with `kind`, and records the parsed value.
    pub(super) fn setting<T: Display>(&self, key: &str, kind: impl Fn(&str) -> Result<T, String>, knob: &mut T) {
        self.note_key(key, || AcceptedValues::by_default(quoted(&knob), "text"));
        let set = self.parsed(key, kind);
        let is_set = set.is_some();
        set.into_iter().for_each(|placed| *knob = placed.value);
        self.in_force(key, is_set, knob);
    }

    pub(super) fn duration(&self, key: &str, range: RangeInclusive<Millis>, knob: &mut Millis) {
        let show = |length: &Millis| show_duration(*length);
        let span = || format!("{} to {}", show(range.start()), show(range.end()));
        self.note_key(key, || AcceptedValues::by_default(quoted(show(knob)), span()));
        let kind = |text: &str| {
            let length = parse_duration(text).ok_or("must be a duration such as \"30s\", \"5m\" or \"72h\"")?;
            if range.contains(&length) {
                Ok(length)
            } else {
                Err(format!("must be between {} and {}", show(range.start()), show(range.end())))
            }
        };
        let set = self.parsed(key, kind);
        set.iter().for_each(|placed| *knob = placed.value);
        self.in_force(key, set.is_some(), show_duration(*knob));
    }

    pub(super) fn std_duration(&self, key: &str, range: RangeInclusive<Millis>, knob: &mut Duration) {
        let mut length = knob.as_millis() as Millis;
        self.duration(key, range, &mut length);
        *knob = Duration::from_millis(length.unsigned_abs());
    }
}

pub(super) fn not_empty(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("must not be empty".into()) } else { Ok(text.to_owned()) }
}

/// Returns the words of a closed list with their values.
pub(super) fn words<T: WireEnum>() -> Vec<(&'static str, T)> {
    T::ALL.iter().map(|value| (value.word(), *value)).collect()
}

/// Returns the text, or for `env:NAME` the value of the environment variable.
pub(super) fn from_environment(text: &str) -> Result<String, String> {
    match text.strip_prefix("env:") {
        Some(variable) => {
            std::env::var(variable).map_err(|_| format!("names the environment variable {variable}, which is not set"))
        }
        None => Ok(text.to_owned()),
    }
}
