//! Reads TOML tables by the rows of `settings!`, and records the line of each problem. A key that was not read is
//! reported as unknown.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::PathBuf,
    sync::LazyLock,
};

use location::{
    ids::InstitutionId,
    key_kinds::{KeyKind, Presence, Problems, RawValue, Source, id},
    keys::{ConfigKey, KeyReader, KeyTable, ReloadClass},
};
use sha2::{Digest, Sha256};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    describe::ReferenceNotes,
    document::{Document, SourceText},
    values::{ConfigValue, Scope},
};

type TomlValue<'a> = Spanned<DeValue<'a>>;

const NO_LIST_CACHE: &str = "no longer exists: lists are not cached; remove it";
/// Keys of earlier releases: the name of the section in messages, the key, and the advice.
const RENAMED_KEYS: &[(&str, &str, &str)] = &[
    ("the file", "limits", "is now called `rate_limits`"),
    (
        "the file",
        "keys",
        "now have their own file: move each [[keys]] to keys.toml next to this file, or to the file of `keys_file`",
    ),
    ("[http]", "kept_pages", NO_LIST_CACHE),
    ("[http]", "list_cache_bytes", NO_LIST_CACHE),
    ("[http]", "user_agent_rule", "is now called `compatibility.user_agent_rule`"),
    ("[http]", "refused_user_agents", "is now called `compatibility.refused_user_agents`"),
];

/// The replacement for a missing table.
static NO_KEYS: LazyLock<DeTable<'static>> = LazyLock::new(DeTable::new);
/// The file of tables without contents.
static NO_FILE: SourceText = SourceText { path: PathBuf::new(), text: String::new() };

/// Parses a text. Returns `None` and reports the syntax errors if the text is not valid TOML.
pub(super) fn toml_table<'a>(text: &'a str, document: &Document<'_>) -> Option<DeTable<'a>> {
    let (table, broken) = DeTable::parse_recoverable(text);
    for error in &broken {
        document.report(error.span().map_or(0, |span| span.start), error.message().trim());
    }
    broken.is_empty().then(|| table.into_inner())
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
    /// `false` if a value is invalid, or a required one is missing.
    is_valid: Cell<bool>,
    pub(crate) document: Document<'a>,
    /// Collects the reference, if it is generated.
    notes: Option<ReferenceNotes>,
    /// `true` if the whole table is read only at startup.
    at_start: bool,
}

impl Drop for Section<'_, '_> {
    fn drop(&mut self) {
        let asked = self.asked.borrow();
        for key in self.table.keys().filter(|key| !asked.contains(key.get_ref().as_ref())) {
            let key_name = key.get_ref();
            let earlier = RENAMED_KEYS.iter().find(|(section, old, _)| *section == self.name && old == key_name);
            let problem = match earlier {
                Some((_, _, became)) => format!("`{key_name}` in {} {became}", self.name),
                None => {
                    let known = asked.iter().cloned().collect::<Vec<_>>().join(", ");
                    format!("unknown key `{key_name}` in {}; known are: {known}", self.name)
                }
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
            is_valid: Cell::new(true),
            document,
            notes: None,
            at_start: false,
        }
    }

    /// Creates the section of a file without contents, which adds its keys to `notes`.
    pub(crate) fn described(notes: &ReferenceNotes) -> Section<'static, 'static> {
        let mut root = Section::root(&NO_KEYS, Document::new(&NO_FILE));
        root.notes = Some(notes.clone());
        root
    }

    /// Returns `false` if a value is invalid, or a required one is missing.
    pub(crate) fn is_valid(&self) -> bool {
        self.is_valid.get()
    }

    /// Reads the keys of a table. Returns `None` if a value is invalid, or a required one is missing.
    pub(crate) fn read_table<T: KeyTable>(&self) -> Option<T> {
        let mut table = T::default();
        table.read_keys(self);
        self.is_valid().then_some(table)
    }

    /// Reports a problem of a key that is set.
    pub(crate) fn report(&self, key: &str, problem: impl Into<String>) {
        if let Some(value) = self.get(key) {
            self.document.report(value.span().start, problem);
        }
    }

    /// Reports a problem of an element of a list.
    pub(crate) fn report_element(&self, key: &str, element: usize, problem: impl Into<String>) {
        if let Some(value) = self.get(key) {
            self.document.report(position(value, Some(element)), problem);
        }
    }

    pub(crate) fn report_missing(&self, key: &str) {
        self.is_valid.set(false);
        self.document.report(self.at, format!("`{key}` is missing in {}", self.name));
    }

    /// Records the institution that the table belongs to. Records are stored under it, so a reload cannot change it.
    pub(crate) fn record_institution(&self, institution: InstitutionId) {
        self.record(ConfigKey::restart("institution", ""), institution.to_string(), false);
    }

    // Keys.

    fn is_at_start(&self, key: ConfigKey<'_>) -> bool {
        self.at_start || key.class != ReloadClass::Reload
    }

    fn note<T>(&self, key: ConfigKey<'_>, kind: &KeyKind<T>, value: &str) {
        self.notes.iter().for_each(|notes| notes.key(key, kind, value, self.is_at_start(key)));
    }

    fn record(&self, key: ConfigKey<'_>, text: String, is_credential: bool) {
        let text = if is_credential { hash(&text) } else { text };
        let value = ConfigValue { text, is_credential, at_start: self.is_at_start(key) };
        self.document.record(&self.subject, format!("{}{}", self.prefix, key.name), value);
    }

    fn get(&self, key: &str) -> Option<&'t TomlValue<'a>> {
        self.asked.borrow_mut().insert(key.to_owned());
        self.table.get(key)
    }

    /// Parses a value that is set. Returns `None` and reports the problems if it is not valid.
    fn parse<T>(&self, key: ConfigKey<'_>, set: &TomlValue<'a>, kind: &KeyKind<T>) -> Option<T> {
        let given = raw(set.get_ref());
        self.record(key, display_value(&given), kind.is_credential);
        let referenced = match (kind.source, &given) {
            (Source::Environment, RawValue::Text(text)) => text.strip_prefix("env:").map(environment_variable),
            (Source::File, RawValue::Text(file)) => Some(self.contents(key, file)),
            _ => None,
        };
        let parsed = match referenced {
            Some(text) => text.map_err(Problems::from).and_then(|text| (kind.parse)(&RawValue::Text(&text))),
            None => (kind.parse)(&given),
        };
        match parsed {
            Ok(value) => {
                if let Some(what) = kind.unique {
                    self.document.unique(set.span().start, what, (kind.show)(&value));
                }
                Some(value)
            }
            Err(Problems(problems)) => {
                self.is_valid.set(false);
                for (element, problem) in problems {
                    self.document.report(position(set, element), format!("`{}` {problem}", key.name));
                }
                None
            }
        }
    }

    /// Reads a file with a credential, and records a hash of its contents.
    fn contents(&self, key: ConfigKey<'_>, file: &str) -> Result<String, String> {
        let text = fs::read_to_string(self.document.source.base().join(file));
        let text = text.map_err(|error| format!("cannot be read: {error}"))?;
        let name = format!("{} contents", key.name);
        self.record(ConfigKey { name: &name, ..key }, text.clone(), true);
        Ok(text)
    }

    // Tables.

    /// Returns the table if it exists. The reference has every table.
    pub(crate) fn table(&self, key: ConfigKey<'_>) -> Option<Section<'a, 't>> {
        if self.notes.is_some() {
            return Some(self.section(&NO_KEYS, key, false, self.at));
        }
        let value = self.get(key.name)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.report(key.name, format!("`{}` must be a table", key.name));
        }
        table.map(|table| self.section(table, key, false, value.span().start))
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
        let owner: Option<fn(u32) -> Scope> = match key.name {
            "institutions" if is_list => Some(Scope::Institution),
            "institution" if self.prefix.is_empty() => Some(Scope::Institution),
            "sources" if is_list => Some(Scope::Source),
            "locations" if is_list => Some(Scope::Location),
            _ => None,
        };
        let mut section = Section::root(table, self.document.clone());
        section.name = if is_list { format!("[[{}]]", key.name) } else { format!("[{}]", key.name) };
        section.at = at;
        section.subject = self.subject.clone();
        if let Some(owner) = owner {
            let id = table.get("id").and_then(|it| (id::<u32>().parse)(&raw(it.get_ref())).ok());
            section.subject = owner(id.unwrap_or(0));
        } else if !is_list {
            section.prefix = format!("{}{}.", self.prefix, key.name);
        }
        section.notes = self.notes.as_ref().map(|notes| notes.below(key.name, is_list, key.about));
        section.at_start = self.is_at_start(key);
        section
    }
}

impl KeyReader for Section<'_, '_> {
    /// The effective value of a server's key is recorded always, that of an inheritable key only where it is set.
    fn read<T: 'static>(&self, key: ConfigKey<'_>, value: &mut T, kind: KeyKind<T>) {
        self.note(key, &kind, &(kind.show)(value));
        let set = self.get(key.name);
        if set.is_none() && kind.presence == Presence::Required {
            self.report_missing(key.name);
        }
        let parsed = set.and_then(|set| self.parse(key, set, &kind));
        let is_set = parsed.is_some();
        parsed.into_iter().for_each(|parsed| *value = parsed);
        let has_default = matches!(kind.presence, Presence::Default | Presence::Machine(_));
        if has_default && (is_set || self.subject == Scope::Server) {
            self.record(key, (kind.show)(value), false);
        }
        if has_default || is_set {
            (kind.rebase)(value, self.document.source.base());
        }
    }

    fn nested<T: KeyTable>(&self, key: ConfigKey<'_>, table: &mut T) {
        table.read_keys(&self.table(key).unwrap_or_else(|| self.section(&NO_KEYS, key, false, self.at)));
        table.read_parts(self);
    }

    fn optional_table<T: KeyTable>(&self, key: ConfigKey<'_>, table: &mut Option<T>) {
        if let Some(read) = self.table(key).and_then(|section| section.read_table()) {
            *table = Some(read);
        }
    }

    fn map<T: 'static>(
        &self,
        key: ConfigKey<'_>,
        values: &mut impl Extend<(String, T)>,
        (placeholder, about): (&str, &'static str),
        check: impl Fn(&str) -> Result<(), String>,
        kind: KeyKind<T>,
    ) {
        let Some(section) = self.table(key) else { return };
        let kind = kind.without_default();
        section.note(ConfigKey { name: placeholder, about, ..key }, &kind, "");
        for (name, set) in section.table.iter() {
            let at = name.span().start;
            let name: &str = name.get_ref();
            section.get(name);
            if let Err(problem) = check(name) {
                section.document.report(at, problem);
            } else if let Some(mut value) = section.parse(ConfigKey { name, about, ..key }, set, &kind) {
                (kind.rebase)(&mut value, section.document.source.base());
                values.extend([(name.to_owned(), value)]);
            }
        }
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
            outer.get(name);
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

    fn has_key(&self, name: &str) -> bool {
        self.notes.is_some() || self.get(name).is_some()
    }

    fn problem(&self, within: &[&str], keys: &[&str], problem: &str) {
        let inner = within.iter().try_fold(self.table, |table, name| table.get(*name)?.get_ref().as_table());
        let mut tables = inner.into_iter().chain([self.table]);
        if let Some(value) = tables.find_map(|table| keys.iter().find_map(|key| table.get(*key))) {
            self.document.report(value.span().start, problem);
        }
    }
}

/// Returns the position of a value, or of an element in it.
fn position(value: &TomlValue<'_>, element: Option<usize>) -> usize {
    let element = element.and_then(|n| value.get_ref().as_array()?.get(n));
    element.unwrap_or(value).span().start
}

fn raw<'v>(value: &'v DeValue<'_>) -> RawValue<'v> {
    match value {
        DeValue::String(text) => RawValue::Text(text),
        DeValue::Integer(number) => RawValue::Number(number.as_str(), Some(number.radix())),
        DeValue::Float(number) => RawValue::Number(number.as_str(), None),
        DeValue::Boolean(flag) => RawValue::Flag(*flag),
        DeValue::Array(elements) => RawValue::List(elements.iter().map(|element| raw(element.get_ref())).collect()),
        DeValue::Datetime(_) | DeValue::Table(_) => RawValue::Other,
    }
}

/// Formats a value on one line for messages.
fn display_value(value: &RawValue<'_>) -> String {
    match value {
        RawValue::Text(text) => text.escape_debug().to_string(),
        RawValue::Number(digits, _) => (*digits).to_owned(),
        RawValue::Flag(flag) => flag.to_string(),
        RawValue::List(all) => format!("[{}]", all.iter().map(display_value).collect::<Vec<_>>().join(", ")),
        // Refused by every key, and therefore never compared.
        RawValue::Other => String::new(),
    }
}

fn hash(text: &str) -> String {
    format!("{:?}", <[u8; 32]>::from(Sha256::digest(text)))
}

fn environment_variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("names the environment variable {name}, which is not set"))
}
