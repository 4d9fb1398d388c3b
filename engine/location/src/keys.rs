//! Configuration keys, declared by `settings!`: one row has the field of a key, its default, the accepted values, the
//! reload class and the sentence of the reference.

use std::{collections::BTreeMap, fmt::Display, ops::RangeInclusive, path::PathBuf, time::Duration};

use crate::{MINUTE, Millis, SECOND};

/// The effect of a change of a key on a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadClass {
    /// A reload applies the change.
    Reload,
    /// The running server depends on the value: the change needs a restart.
    Restart,
    /// Only a start reads the value. A running server ignores the change.
    Start,
}

/// A key of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigKey<'a> {
    /// The name in its table.
    pub name: &'a str,
    /// The sentence of the reference.
    pub about: &'static str,
    /// The effect of a change.
    pub class: ReloadClass,
}

impl<'a> ConfigKey<'a> {
    /// Creates a key whose changes a reload applies.
    pub const fn reload(name: &'a str, about: &'static str) -> ConfigKey<'a> {
        ConfigKey { name, about, class: ReloadClass::Reload }
    }

    /// Creates a key whose changes need a restart.
    pub const fn restart(name: &'a str, about: &'static str) -> ConfigKey<'a> {
        ConfigKey { name, about, class: ReloadClass::Restart }
    }

    /// Creates a key that only a start reads.
    pub const fn start(name: &'a str, about: &'static str) -> ConfigKey<'a> {
        ConfigKey { name, about, class: ReloadClass::Start }
    }
}

/// Reads the values of keys. The value of a key that is not set, or not valid, stays unchanged.
pub trait KeyReader {
    /// Reads an integer.
    fn integer<T: TryFrom<i64> + Display>(&self, key: ConfigKey<'_>, value: &mut T, range: RangeInclusive<i64>);

    /// Reads a number of threads. The default is the number of cores.
    fn cores(&self, key: ConfigKey<'_>, value: &mut usize, range: RangeInclusive<i64>);

    /// Reads `true` or `false`.
    fn flag(&self, key: ConfigKey<'_>, value: &mut bool);

    /// Reads a duration into milliseconds.
    fn duration(&self, key: ConfigKey<'_>, value: &mut Millis, range: RangeInclusive<Millis>);

    /// Reads one of the given words.
    fn word<T: Copy + PartialEq>(&self, key: ConfigKey<'_>, value: &mut T, words: &[(&'static str, T)]);

    /// Reads a string with `parse`.
    fn text<T: Display>(&self, key: ConfigKey<'_>, value: &mut T, parse: impl Fn(&str) -> Result<T, String>);

    /// Reads a string that must be set.
    fn required_text<T>(&self, key: ConfigKey<'_>, value: &mut T, parse: impl Fn(&str) -> Result<T, String>);

    /// Reads a string without a default.
    fn optional<T>(&self, key: ConfigKey<'_>, value: &mut Option<T>, parse: impl Fn(&str) -> Result<T, String>);

    /// Reads a number without a default.
    fn number(&self, key: ConfigKey<'_>, value: &mut Option<f64>, range: RangeInclusive<f64>);

    /// Reads a list of strings.
    fn texts<T>(&self, key: ConfigKey<'_>, values: &mut Vec<T>, parse: impl Fn(&str) -> Result<T, String>);

    /// Reads a path without a default.
    fn path(&self, key: ConfigKey<'_>, value: &mut Option<PathBuf>);

    /// Reads a path with a default.
    fn path_or_default(&self, key: ConfigKey<'_>, value: &mut PathBuf);

    /// Reads an integer, or `"none"` for no value. A missing key keeps the value.
    fn integer_or_none<T: TryFrom<i64> + Display>(
        &self,
        key: ConfigKey<'_>,
        value: &mut Option<T>,
        range: RangeInclusive<i64>,
    );

    /// Reads one of the known integers, or `"none"` for no value. A missing key keeps the value.
    fn one_of_or_none(&self, key: ConfigKey<'_>, value: &mut Option<u16>, known: &[u16]);

    /// Reads a string, or `"none"` for no value. A missing key keeps the value. `range` describes the strings.
    fn text_or_none<T>(
        &self,
        key: ConfigKey<'_>,
        value: &mut Option<T>,
        range: &str,
        parse: impl Fn(&str) -> Result<T, String>,
        show: impl Fn(&T) -> String,
    );

    /// Reads a list of strings. A missing key keeps the list. `range` describes the strings.
    fn list<T: Display>(
        &self,
        key: ConfigKey<'_>,
        values: &mut Vec<T>,
        range: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    );

    /// Returns `true` if the table has the key, or if the reference of the keys is being written.
    fn has_key(&self, name: &str) -> bool;

    /// Reads the tables in a table by their names. Names that are not read keep their tables. `placeholder` is the name
    /// in the reference.
    fn tables_by_name<N: Ord, T: KeyTable>(
        &self,
        key: ConfigKey<'_>,
        placeholder: &str,
        tables: &mut BTreeMap<N, T>,
        parse: impl Fn(&str) -> Result<N, String>,
    );

    /// Reports a problem at the first of `keys` that is set: in the table at the path `within` this table, otherwise in
    /// this table. If none of the keys is set here, all are inherited, and the level that sets them reports the
    /// problem.
    fn problem(&self, within: &[&str], keys: &[&str], problem: &str);

    /// Reads a number of minutes into milliseconds.
    fn minutes(&self, key: ConfigKey<'_>, value: &mut Millis, range: RangeInclusive<i64>) {
        let mut minutes = *value / MINUTE;
        self.integer(key, &mut minutes, range);
        *value = minutes * MINUTE;
    }

    /// Reads the keys of a table in this table.
    fn nested<T: KeyTable>(&self, key: ConfigKey<'_>, table: &mut T);

    /// Reads a size in MiB into bytes.
    fn mib(&self, key: ConfigKey<'_>, bytes: &mut u64, range: RangeInclusive<i64>) {
        let mut mib = *bytes >> 20;
        self.integer(key, &mut mib, range);
        *bytes = mib << 20;
    }

    /// Reads a duration into seconds.
    fn seconds<T: Copy + Into<u64> + TryFrom<u64>>(
        &self,
        key: ConfigKey<'_>,
        seconds: &mut T,
        range: RangeInclusive<Millis>,
    ) {
        let stored: u64 = (*seconds).into();
        let mut length = stored.cast_signed() * SECOND;
        self.duration(key, &mut length, range);
        *seconds = T::try_from((length / SECOND).unsigned_abs()).unwrap_or(*seconds);
    }

    /// Reads a duration of the standard library.
    fn std_duration(&self, key: ConfigKey<'_>, value: &mut Duration, range: RangeInclusive<Millis>) {
        let mut length = Millis::try_from(value.as_millis()).unwrap_or(Millis::MAX);
        self.duration(key, &mut length, range);
        *value = Duration::from_millis(length.unsigned_abs());
    }
}

/// Parses a string that must not be empty.
pub fn not_empty(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("must not be empty".into()) } else { Ok(text.to_owned()) }
}

/// The keys of a table, implemented by `settings!`.
pub trait KeyTable: Default {
    /// Reads all keys in the order of their rows.
    fn read_keys(&mut self, keys: &impl KeyReader);

    /// Returns the keys with other values in `after`, by their names in the configuration.
    fn changed_keys(&self, after: &Self) -> Vec<ConfigKey<'static>>;

    /// Returns a default that is derived from keys that are already read.
    fn derived<T>(&self, default: impl Fn(&Self) -> T) -> T {
        default(self)
    }
}

/// Declares structs whose fields are keys of the configuration, with their defaults. Rows are read in their order.
///
/// ```text
/// field: Type = default, kind(arguments) => class "key", "sentence", default derived from earlier keys;
/// field: Type = default => class "name";
/// field: Type = default;
/// ```
///
/// `kind` is a method of [`KeyReader`](crate::keys::KeyReader) and `class` a constructor of
/// [`ConfigKey`](crate::keys::ConfigKey). Without `"key"` the key has the name of the field. The second form is a part
/// that is read elsewhere, whose change is reported under a name. The third form is not compared.
#[macro_export]
macro_rules! settings {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident($table:literal) {$(
            $(#[$note:meta])*
            $field:ident: $type:ty = $default:expr
            $(, $kind:ident($($argument:expr),*) => $class:ident $($key:literal)?, $about:literal $(, $derived:expr)?)?
            $(=> $part_class:ident $part:literal)?;
        )*}
    )*) => {$(
        $(#[$meta])*
        pub struct $name {$(
            $(#[doc = $about])?
            $(#[$note])*
            pub $field: $type,
        )*}

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default),* }
            }
        }

        impl $crate::keys::KeyTable for $name {
            fn read_keys(&mut self, keys: &impl $crate::keys::KeyReader) {$($(
                $(self.$field = $crate::keys::KeyTable::derived(self, $derived);)?
                let key = $crate::keys::ConfigKey::$class($crate::settings!(@name $field $($key)?), $about);
                keys.$kind(key, &mut self.$field $(, $argument)*);
            )?)*}

            fn changed_keys(&self, after: &$name) -> Vec<$crate::keys::ConfigKey<'static>> {
                let mut changed = Vec::new();
                $(
                    $(if self.$field != after.$field {
                        let name = concat!($table, ".", $crate::settings!(@name $field $($key)?));
                        changed.push($crate::keys::ConfigKey::$class(name, $about));
                    })?
                    $(if self.$field != after.$field {
                        changed.push($crate::keys::ConfigKey::$part_class($part, ""));
                    })?
                )*
                changed
            }
        }
    )*};
}
