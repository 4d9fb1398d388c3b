//! JSON bodies in one pass: the bytes become the declared fields of an input. Duplicate keys and deep nesting are
//! refused everywhere, also in fields that are not declared.

use std::{collections::BTreeSet, fmt, mem};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, map::Entry};

use crate::values::{
    expected::{Also, Expected},
    kinds::echo,
    limits::{MAX_DEPTH, MAX_VALUES},
};

/// Message of the error for a value that is nested too deeply.
pub(super) const TOO_DEEP: &str = "is nested too deeply";

/// Names of the fields that a body may contain, as a tree.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<Name>);

#[derive(Clone, Debug)]
struct Name {
    name: String,
    /// Fields of the object, or of each object of the list.
    inside: Names,
    is_list: bool,
}

impl Names {
    pub(super) const NONE: &'static Names = &Names(Vec::new());

    pub fn new(fields: &[Expected]) -> Names {
        let mut names = Names::default();
        fields.iter().for_each(|field| names.add(&field.name));
        for (field, also) in fields.iter().filter_map(|field| Some((field, field.also?))) {
            let inside = names.position(&field.name).map(|at| names.0[at].inside.clone()).unwrap_or_default();
            match also {
                Also::Alias(alias) => names.0.push(Name { name: alias.to_owned(), inside, is_list: false }),
                Also::Unwrapped => names.0.extend(inside.0),
            }
        }
        names
    }

    /// Adds a path such as `patient.bio.gender` or `allergies[].item_id`.
    fn add(&mut self, path: &str) {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let (name, is_list) = first.strip_suffix("[]").map_or((first, false), |name| (name, true));
        let at = self.position(name).unwrap_or_else(|| {
            self.0.push(Name { name: name.to_owned(), inside: Names::default(), is_list: false });
            self.0.len() - 1
        });
        if let Some(rest) = rest {
            self.0[at].is_list |= is_list;
            self.0[at].inside.add(rest);
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|known| known.name == name)
    }
}

/// The value of a declared field.
#[derive(Debug, Default)]
pub(super) enum Given {
    #[default]
    Missing,
    Value(Value),
    /// An object with declared fields.
    Object(Row),
    /// A list of objects with declared fields.
    List(Vec<Given>),
}

impl Given {
    fn is_missing(&self) -> bool {
        matches!(self, Given::Missing)
    }

    /// Returns a value that has no declared fields.
    fn into_value(self) -> Value {
        match self {
            Given::Value(value) => value,
            Given::Missing | Given::Object(_) | Given::List(_) => Value::Null,
        }
    }
}

/// The declared fields of an object, in the order of their declaration.
#[derive(Debug)]
pub(super) struct Row {
    names: &'static Names,
    fields: Vec<Given>,
    unknown: BTreeSet<String>,
}

impl Default for Row {
    fn default() -> Row {
        Row::new(Names::NONE)
    }
}

impl Row {
    fn new(names: &'static Names) -> Row {
        Row { names, fields: names.0.iter().map(|_| Given::Missing).collect(), unknown: BTreeSet::new() }
    }

    /// Returns the field at a path, including null. Returns `None` if it is missing.
    pub(super) fn get(&self, path: &str) -> Option<&Given> {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        match (&self.fields[self.names.position(name)?], rest) {
            (Given::Missing, _) => None,
            (given, None) => Some(given),
            (Given::Object(row), Some(rest)) => row.get(rest),
            (_, Some(_)) => None,
        }
    }

    /// Takes the field at a path out of the row.
    pub(super) fn take(&mut self, path: &str) -> Given {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let Some(at) = self.names.position(name) else { return Given::Missing };
        match (&mut self.fields[at], rest) {
            (given, None) => mem::take(given),
            (Given::Object(row), Some(rest)) => row.take(rest),
            (_, Some(_)) => Given::Missing,
        }
    }

    /// Moves the field `alias` to `name`, unless the body has both.
    pub(super) fn rename(&mut self, alias: &str, name: &str) {
        let Some((from, to)) = self.names.position(alias).zip(self.names.position(name)) else { return };
        let given = mem::take(&mut self.fields[from]);
        if given.is_missing() {
            return;
        }
        if self.fields[to].is_missing() {
            self.fields[to] = given;
        } else {
            self.unknown.insert(alias.to_owned());
        }
    }

    /// Moves all fields into the object `name`, unless the body has that object.
    pub(super) fn wrap(&mut self, name: &str) {
        let Some(at) = self.names.position(name) else { return };
        let (inside, is_wrapped) = (&self.names.0[at].inside, !self.fields[at].is_missing());
        let mut wrapped = Row::new(inside);
        for (field, Name { name, .. }) in wrapped.fields.iter_mut().zip(&inside.0) {
            let given = self.names.position(name).map(|at| mem::take(&mut self.fields[at])).unwrap_or_default();
            if is_wrapped && !given.is_missing() {
                self.unknown.insert(name.clone());
            } else {
                *field = given;
            }
        }
        if !is_wrapped {
            wrapped.unknown = mem::take(&mut self.unknown);
            self.fields[at] = Given::Object(wrapped);
        }
    }

    /// Returns the paths of the fields that are not declared, in alphabetical order at each level.
    pub(super) fn unknown(&self) -> Vec<String> {
        let mut names: Vec<(&str, Vec<String>)> =
            self.unknown.iter().map(|name| (name.as_str(), vec![name.clone()])).collect();
        for (Name { name, .. }, given) in self.names.0.iter().zip(&self.fields) {
            if let Given::Object(row) = given {
                let inside = row.unknown();
                names.push((name.as_str(), inside.iter().map(|path| format!("{name}.{path}")).collect()));
            }
        }
        names.sort_unstable_by_key(|(name, _)| *name);
        names.into_iter().flat_map(|(_, paths)| paths).collect()
    }
}

/// Reads any value except those with duplicate keys, whose meaning would be ambiguous, and those nested too deeply.
/// Objects with declared fields become rows.
#[derive(Clone, Copy, Default)]
pub(super) struct StrictJson {
    /// The declared fields of the object or, with `is_list`, of each object of the list.
    names: Option<&'static Names>,
    is_list: bool,
    depth: usize,
}

impl StrictJson {
    /// Creates the reader of a whole body.
    pub(super) fn body(names: &'static Names) -> StrictJson {
        StrictJson { names: Some(names), ..StrictJson::default() }
    }

    /// Returns the reader of undeclared values inside the value.
    fn inside<E: de::Error>(self) -> Result<StrictJson, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(TOO_DEEP));
        }
        Ok(StrictJson { depth: self.depth + 1, ..StrictJson::default() })
    }
}

impl<'de> DeserializeSeed<'de> for StrictJson {
    type Value = Given;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Given, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! scalars {
    ($($visit:ident: $scalar:ty),*) => {$(
        fn $visit<E>(self, value: $scalar) -> Result<Given, E> {
            Ok(Given::Value(value.into()))
        }
    )*};
}

impl<'de> Visitor<'de> for StrictJson {
    type Value = Given;

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, visit_string: String);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Given, A::Error> {
        let undeclared = self.inside()?;
        let Some(names) = self.names.filter(|_| !self.is_list) else {
            let mut object = Map::new();
            while let Some(name) = map.next_key::<String>()? {
                let value = map.next_value_seed(undeclared)?.into_value();
                match object.entry(name) {
                    Entry::Vacant(entry) => entry.insert(value),
                    Entry::Occupied(twice) => return Err(duplicate(twice.key())),
                };
            }
            return Ok(Given::Value(Value::Object(object)));
        };
        let mut row = Row::new(names);
        while let Some(key) = map.next_key_seed(Key(names))? {
            let at = match key {
                Ok(at) => at,
                Err(unknown) => {
                    map.next_value_seed(undeclared)?;
                    if row.unknown.contains(&unknown) {
                        return Err(duplicate(&unknown));
                    }
                    row.unknown.insert(unknown);
                    continue;
                }
            };
            let Name { name, inside, is_list } = &names.0[at];
            let names = Some(inside).filter(|inside| !inside.0.is_empty());
            let given = map.next_value_seed(StrictJson { names, is_list: *is_list, ..undeclared })?;
            if !row.fields[at].is_missing() {
                return Err(duplicate(name));
            }
            row.fields[at] = given;
        }
        Ok(Given::Object(row))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Given, A::Error> {
        let one = StrictJson { names: self.names.filter(|_| self.is_list), ..self.inside()? };
        let mut all = Vec::new();
        while let Some(element) = elements.next_element_seed(one)? {
            // A row takes up to a hundred times the memory of its text, and longer lists are refused.
            if one.names.is_none() || all.len() <= MAX_VALUES {
                all.push(element);
            }
        }
        Ok(match one.names {
            Some(_) => Given::List(all),
            None => Given::Value(all.into_iter().map(Given::into_value).collect()),
        })
    }

    fn visit_unit<E>(self) -> Result<Given, E> {
        Ok(Given::Value(Value::Null))
    }
}

fn duplicate<E: de::Error>(name: &str) -> E {
    E::custom(format!("holds the key {:?} twice", echo(name)))
}

/// Reads the position of a declared key, or the name of another one.
struct Key(&'static Names);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Result<usize, String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Result<usize, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.position(name).ok_or_else(|| name.to_owned()))
    }
}
