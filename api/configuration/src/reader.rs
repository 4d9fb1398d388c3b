//! Reads a TOML table key by key and records the line of each problem. A key that was not read is reported as unknown.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use framework::values::limits::INT32;
use location::{
    keys::{ConfigKey, KeyReader, KeyTable, ReloadClass, not_empty},
    time::Millis,
};
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::{
    describe::{KeyNote, ReferenceNotes, TableNotes},
    document::{Document, SourceText},
    kinds::{
        KeyKind, choice, display_value, duration, flag, integer, number, one_of, or_none, parsed, show_duration, span,
        text,
    },
    renamed::RENAMED_KEYS,
    values::{ConfigValue, Scope},
};

type TomlValue<'a> = Spanned<DeValue<'a>>;

/// The replacement for a missing table.
static NO_KEYS: LazyLock<DeTable<'static>> = LazyLock::new(DeTable::new);
/// The file of tables without contents.
static NO_FILE: SourceText = SourceText { path: PathBuf::new(), text: String::new() };

/// An element of a list or the name of an entry, and its position in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located<T> {
    pub value: T,
    pub at: usize,
}

/// One table of the file. Reports unread keys on drop.
pub(crate) struct Section<'a, 't> {
    table: &'t DeTable<'a>,
    /// The name in messages, such as `[http]`.
    name: String,
    at: usize,
    /// The owner of the keys, and the prefix of their names, such as `http.`.
    subject: Scope,
    prefix: String,
    asked: RefCell<BTreeSet<String>>,
    pub document: Document<'a>,
    /// Collects the reference, if it is generated.
    notes: Option<TableNotes>,
    /// `true` if the whole table is read only at startup.
    at_start: bool,
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
            self.document.report(key.span().start, problem);
        }
    }
}

impl<'a, 't> Section<'a, 't> {
    /// Creates the section of a whole file.
    pub(crate) fn root(table: &'t DeTable<'a>, document: Document<'a>) -> Section<'a, 't> {
        Section {
            table,
            name: "the file".into(),
            at: 0,
            subject: Scope::Server,
            prefix: String::new(),
            asked: RefCell::default(),
            document,
            notes: None,
            at_start: false,
        }
    }

    /// Creates the section of a file without contents, which adds its keys to `notes`.
    pub(crate) fn described(notes: &ReferenceNotes) -> Section<'static, 'static> {
        let mut root = Section::root(&NO_KEYS, Document::new(&NO_FILE));
        root.notes = Some(notes.root());
        root
    }

    /// Returns the folder that relative paths refer to.
    pub(crate) fn base(&self) -> &'a Path {
        self.document.source.base()
    }

    /// Reports a problem of this table.
    pub(crate) fn report(&self, problem: impl Into<String>) {
        self.document.report(self.at, problem);
    }

    /// Reports a problem of a key that is set.
    pub(crate) fn report_key(&self, key: &str, problem: impl Into<String>) {
        if let Some(value) = self.get(key) {
            self.document.report(value.span().start, problem);
        }
    }

    /// Reports a value of this key that another table has, too.
    pub(crate) fn unique(&self, key: &str, what: &'static str, value: Option<&impl ToString>) {
        if let (Some(set), Some(value)) = (self.get(key), value) {
            self.document.unique(set.span().start, what, value.to_string());
        }
    }

    // Keys.

    fn is_at_start(&self, key: ConfigKey<'_>) -> bool {
        self.at_start || key.class != ReloadClass::Reload
    }

    fn note(&self, key: ConfigKey<'_>, default: Option<&str>, example: &str, range: &str) {
        if let Some(notes) = &self.notes {
            notes.key(KeyNote {
                key: key.name.to_owned(),
                required: false,
                at_start: self.is_at_start(key),
                default: default.map(str::to_owned),
                example: example.to_owned(),
                range: range.to_owned(),
                meaning: key.about,
            });
        }
    }

    fn record(&self, key: ConfigKey<'_>, value: ConfigValue) {
        let name = format!("{}{}", self.prefix, key.name);
        self.document.record(&self.subject, name, value, self.is_at_start(key));
    }

    /// Records a value that follows from another one, or from the position of the table.
    pub(crate) fn derived(&self, key: ConfigKey<'_>, value: impl Display) {
        self.record(key, ConfigValue::Shown(value.to_string()));
    }

    fn get(&self, key: &str) -> Option<&'t TomlValue<'a>> {
        self.asked.borrow_mut().insert(key.to_owned());
        self.table.iter().find(|(name, _)| name.get_ref().as_ref() == key).map(|(_, value)| value)
    }

    /// Reads a key without describing or recording it.
    fn parse<T>(&self, key: &str, kind: &KeyKind<'_, T>) -> Option<T> {
        let read = (kind.parse)(self.get(key)?.get_ref());
        read.map_err(|problem| self.report_key(key, format!("`{key}` {problem}"))).ok()
    }

    /// Reads a key without describing it.
    fn read_unnoted<T>(&self, key: ConfigKey<'_>, kind: &KeyKind<'_, T>) -> Option<T> {
        let shown = display_value(self.get(key.name)?.get_ref());
        let value = if kind.is_credential { ConfigValue::credential(shown) } else { ConfigValue::Shown(shown) };
        self.record(key, value);
        self.parse(key.name, kind)
    }

    /// Reads a key without a default.
    pub(crate) fn read<T>(&self, key: ConfigKey<'_>, kind: &KeyKind<'_, T>) -> Option<T> {
        self.note(key, None, &kind.example, &kind.range);
        self.read_unnoted(key, kind)
    }

    /// Reads a key that must be present.
    pub(crate) fn required<T>(&self, key: ConfigKey<'_>, kind: &KeyKind<'_, T>) -> Option<T> {
        let value = self.read(key, kind);
        self.require(key.name);
        value
    }

    /// Reports a key as missing if it is absent. An invalid value does not count as missing.
    pub(crate) fn require(&self, key: &str) {
        self.notes.iter().for_each(|notes| notes.required(key));
        if !self.has(key) {
            self.report_missing(key);
        }
    }

    pub(crate) fn report_missing(&self, key: &str) {
        self.report(format!("`{key}` is missing in {}", self.name));
    }

    /// Reads a key with a default. `show` formats a value without quotes. The effective value of a server key is
    /// recorded always; that of an inheritable key only where it is set.
    fn setting<T>(&self, key: ConfigKey<'_>, value: &mut T, kind: &KeyKind<'_, T>, show: impl Fn(&T) -> String) {
        let default = kind.toml(&show(value));
        self.note(key, Some(&default), &default, &kind.range);
        let set = self.read_unnoted(key, kind);
        let is_set = set.is_some();
        set.into_iter().for_each(|set| *value = set);
        if is_set || self.subject == Scope::Server {
            self.derived(key, show(value));
        }
    }

    /// Reads the `id` of the table, which becomes the owner of its keys and of those in nested tables.
    pub(crate) fn identified(&mut self, what: &'static str, subject: fn(u32) -> Scope) -> Option<u32> {
        let key = ConfigKey::reload("id", "The id, which records refer to. It must not change.");
        self.note(key, None, "1", "a number that stays");
        let id = self.parse(key.name, &integer(INT32));
        self.require(key.name);
        self.unique(key.name, what, id.as_ref());
        (self.subject, self.prefix) = (subject(id.unwrap_or(0)), String::new());
        id
    }

    /// Reads a file with a credential. Only a hash of its contents is recorded.
    pub(super) fn credential_file<T>(
        &self,
        key: ConfigKey<'_>,
        kind: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Option<T> {
        let read = |file: &str| {
            let bytes = std::fs::read(self.base().join(file)).map_err(|error| format!("cannot be read: {error}"))?;
            let contents = format!("{} contents", key.name);
            self.record(ConfigKey { name: &contents, ..key }, ConfigValue::credential(&bytes));
            kind(&bytes)
        };
        self.read(key, &KeyKind { range: "a file".to_owned(), ..parsed(read) })
    }

    /// Reads a list of strings.
    pub(crate) fn strings(&self, key: ConfigKey<'_>) -> Option<Vec<Located<String>>> {
        self.note(key, None, "[\"...\"]", "texts");
        self.elements(key, "strings", |value| value.as_str().map(str::to_owned))
    }

    /// Reads a list of ids.
    pub(crate) fn ids(&self, key: ConfigKey<'_>) -> Option<Vec<Located<u32>>> {
        self.note(key, None, "[1]", "ids");
        let id = integer::<u32>(INT32);
        self.elements(key, "ids", |value| (id.parse)(value).ok())
    }

    fn elements<T>(
        &self,
        key: ConfigKey<'_>,
        what: &str,
        kind: impl Fn(&DeValue<'a>) -> Option<T>,
    ) -> Option<Vec<Located<T>>> {
        let value = self.get(key.name)?;
        self.derived(key, display_value(value.get_ref()));
        let of = |element: &TomlValue<'a>| Some(Located { value: kind(element.get_ref())?, at: element.span().start });
        let elements = value.get_ref().as_array().and_then(|array| array.iter().map(of).collect());
        if elements.is_none() {
            self.report_key(key.name, format!("`{}` must be an array of {what}", key.name));
        }
        elements
    }

    /// Reads a table with user-defined keys, which `key` describes. An invalid value is `None`.
    pub(crate) fn entries<T>(&self, key: ConfigKey<'_>, kind: &KeyKind<'_, T>) -> Vec<(Located<String>, Option<T>)> {
        self.note(key, None, &kind.example, &kind.range);
        let entry = |name: &Spanned<DeString<'a>>| {
            let value = self.read_unnoted(ConfigKey { name: name.get_ref(), ..key }, kind);
            (Located { value: name.get_ref().to_string(), at: name.span().start }, value)
        };
        self.table.keys().map(entry).collect()
    }

    /// Returns `true` if the key is present, valid or not.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    // Tables.

    pub(crate) fn table(&self, key: ConfigKey<'_>) -> Option<Section<'a, 't>> {
        if self.notes.is_some() {
            return Some(self.section(&NO_KEYS, key, false, self.at));
        }
        let value = self.get(key.name)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.report_key(key.name, format!("`{}` must be a table", key.name));
        }
        table.map(|table| self.section(table, key, false, value.span().start))
    }

    /// Returns the table, or an empty one if it is missing.
    pub(super) fn table_or_empty(&self, key: ConfigKey<'_>) -> Section<'a, 't> {
        self.table(key).unwrap_or_else(|| self.section(&NO_KEYS, key, false, self.at))
    }

    pub(crate) fn tables(&self, key: ConfigKey<'_>) -> Vec<Section<'a, 't>> {
        if self.notes.is_some() {
            return vec![self.section(&NO_KEYS, key, true, self.at)];
        }
        let Some(value) = self.get(key.name) else { return Vec::new() };
        let wrong = |at| self.document.report(at, format!("`{0}` must be written as [[{0}]]", key.name));
        let Some(array) = value.get_ref().as_array() else {
            wrong(value.span().start);
            return Vec::new();
        };
        let section = |element: &'t TomlValue<'a>| match element.get_ref().as_table() {
            Some(table) => Some(self.section(table, key, true, element.span().start)),
            None => {
                wrong(element.span().start);
                None
            }
        };
        array.iter().filter_map(section).collect()
    }

    fn section(&self, table: &'t DeTable<'a>, key: ConfigKey<'_>, is_list: bool, at: usize) -> Section<'a, 't> {
        let (name, prefix) = match is_list {
            true => (format!("[[{}]]", key.name), String::new()),
            false => (format!("[{}]", key.name), format!("{}{}.", self.prefix, key.name)),
        };
        Section {
            table,
            name,
            at,
            subject: self.subject.clone(),
            prefix,
            asked: RefCell::default(),
            document: self.document.clone(),
            notes: self.notes.as_ref().map(|notes| notes.below(key.name, is_list, key.about)),
            at_start: self.is_at_start(key),
        }
    }
}

/// Formats a value without quotes, or `none`.
fn shown<T>(value: Option<&T>, show: impl Fn(&T) -> String) -> String {
    value.map_or_else(|| "none".to_owned(), show)
}

impl<'a, 't> KeyReader for Section<'a, 't> {
    fn integer<T: TryFrom<i64> + Display>(&self, key: ConfigKey<'_>, value: &mut T, range: RangeInclusive<i64>) {
        self.setting(key, value, &integer(range), T::to_string);
    }

    fn cores(&self, key: ConfigKey<'_>, value: &mut usize, range: RangeInclusive<i64>) {
        self.note(key, Some("number of cores"), "2", &span(&range));
        self.integer(key, value, range);
    }

    fn flag(&self, key: ConfigKey<'_>, value: &mut bool) {
        self.setting(key, value, &flag(), bool::to_string);
    }

    fn duration(&self, key: ConfigKey<'_>, value: &mut Millis, range: RangeInclusive<Millis>) {
        self.setting(key, value, &duration(range), |length| show_duration(*length));
    }

    fn word<T: Copy + PartialEq>(&self, key: ConfigKey<'_>, value: &mut T, words: &[(&'static str, T)]) {
        let word = |value: &T| words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word).to_owned();
        self.setting(key, value, &choice(words), word);
    }

    fn text<T: Display>(&self, key: ConfigKey<'_>, value: &mut T, parse: impl Fn(&str) -> Result<T, String>) {
        self.setting(key, value, &parsed(parse), T::to_string);
    }

    fn required_text<T>(&self, key: ConfigKey<'_>, value: &mut T, parse: impl Fn(&str) -> Result<T, String>) {
        self.required(key, &parsed(parse)).into_iter().for_each(|set| *value = set);
    }

    fn optional<T>(&self, key: ConfigKey<'_>, value: &mut Option<T>, parse: impl Fn(&str) -> Result<T, String>) {
        *value = self.read(key, &parsed(parse));
    }

    fn number(&self, key: ConfigKey<'_>, value: &mut Option<f64>, range: RangeInclusive<f64>) {
        *value = self.read(key, &number(range));
    }

    fn texts<T>(&self, key: ConfigKey<'_>, values: &mut Vec<T>, parse: impl Fn(&str) -> Result<T, String>) {
        let parsed = |text: Located<String>| {
            let wrong = |problem| self.document.report(text.at, format!("`{}` {problem}", key.name));
            parse(&text.value).map_err(wrong).ok()
        };
        *values = self.strings(key).into_iter().flatten().filter_map(parsed).collect();
    }

    fn integer_or_none<T: TryFrom<i64> + Display>(
        &self,
        key: ConfigKey<'_>,
        value: &mut Option<T>,
        range: RangeInclusive<i64>,
    ) {
        self.setting(key, value, &or_none(integer(range)), |value| shown(value.as_ref(), T::to_string));
    }

    fn one_of_or_none(&self, key: ConfigKey<'_>, value: &mut Option<u16>, known: &[u16]) {
        self.setting(key, value, &or_none(one_of(known)), |value| shown(value.as_ref(), u16::to_string));
    }

    fn text_or_none<T>(
        &self,
        key: ConfigKey<'_>,
        value: &mut Option<T>,
        range: &str,
        parse: impl Fn(&str) -> Result<T, String>,
        show: impl Fn(&T) -> String,
    ) {
        let kind = or_none(parsed(parse).described(range, ""));
        self.setting(key, value, &kind, |value| shown(value.as_ref(), &show));
    }

    fn list<T: Display>(
        &self,
        key: ConfigKey<'_>,
        values: &mut Vec<T>,
        range: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) {
        self.note(key, Some("[]"), "[]", range);
        let parsed = |text: Located<String>| {
            let wrong = |problem| self.document.report(text.at, format!("`{}` {problem}", key.name));
            parse(&text.value).map_err(wrong).ok()
        };
        if let Some(listed) = self.elements(key, "strings", |value| value.as_str().map(str::to_owned)) {
            *values = listed.into_iter().filter_map(parsed).collect();
        }
    }

    fn has_key(&self, name: &str) -> bool {
        self.notes.is_some() || self.has(name)
    }

    fn tables_by_name<N: Ord, T: KeyTable>(
        &self,
        key: ConfigKey<'_>,
        placeholder: &str,
        tables: &mut BTreeMap<N, T>,
        parse: impl Fn(&str) -> Result<N, String>,
    ) {
        let Some(outer) = self.table(key) else { return };
        if outer.notes.is_some() {
            T::default().read_keys(&outer.section(&NO_KEYS, ConfigKey { name: placeholder, ..key }, false, outer.at));
            return;
        }
        for (name, value) in outer.table.iter() {
            let at = name.span().start;
            let name: &str = name.get_ref();
            outer.asked.borrow_mut().insert(name.to_owned());
            let Some(table) = value.get_ref().as_table() else {
                self.document.report(at, format!("`{}.{name}` must be a table", key.name));
                continue;
            };
            match parse(name) {
                Ok(known) => {
                    let section = outer.section(table, ConfigKey { name, ..key }, false, at);
                    tables.entry(known).or_default().read_keys(&section);
                }
                Err(problem) => self.document.report(at, format!("`{}.{name}`: the name {problem}", key.name)),
            }
        }
    }

    fn problem(&self, within: &[&str], keys: &[&str], problem: &str) {
        let entry = |table: &'t DeTable<'a>, key: &str| {
            table.iter().find(|(name, _)| name.get_ref().as_ref() == key).map(|(_, value)| value)
        };
        let inner = within.iter().try_fold(self.table, |table, name| entry(table, name)?.get_ref().as_table());
        let tables = inner.into_iter().chain([self.table]);
        let set = tables.flat_map(|table| keys.iter().filter_map(move |key| entry(table, key))).next();
        if let Some(value) = set {
            self.document.report(value.span().start, problem);
        }
    }

    fn path(&self, key: ConfigKey<'_>, value: &mut Option<PathBuf>) {
        *value = self.read(key, &text()).map(|file| self.base().join(file));
    }

    fn path_or_default(&self, key: ConfigKey<'_>, value: &mut PathBuf) {
        let mut path = value.display().to_string();
        self.text(key, &mut path, not_empty);
        *value = self.base().join(path);
    }

    fn nested<T: KeyTable>(&self, key: ConfigKey<'_>, table: &mut T) {
        table.read_keys(&self.table_or_empty(key));
    }
}
