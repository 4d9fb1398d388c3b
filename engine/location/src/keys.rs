//! Configuration keys, declared by `settings!`: one row has the field of a key, its default, the accepted values, the
//! reload class and the sentence of the reference.

use std::collections::BTreeMap;

use crate::key_kinds::KeyKind;

/// The effect of a change of a key on a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadClass {
    /// A reload applies the change.
    Reload,
    /// Only a start reads the value: the change needs a restart.
    Restart,
}

/// A key of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigKey<'a> {
    /// The name in its table.
    pub name: &'a str,
    /// The sentence of the reference.
    pub about: &'static str,
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

    /// Creates the key of a table whose changes are not reported by its name.
    pub const fn separate(name: &'a str, about: &'static str) -> ConfigKey<'a> {
        ConfigKey::reload(name, about)
    }
}

/// Reads the keys of a table.
pub trait KeyReader: Sized {
    /// Reads a key. If it is not set, or not valid, the value stays unchanged.
    fn read<T: 'static>(&self, key: ConfigKey<'_>, value: &mut T, kind: KeyKind<T>);

    /// Reads a table in this table, and its parts.
    fn nested<T: KeyTable>(&self, key: ConfigKey<'_>, table: &mut T);

    /// Reads a table in this table that may be missing. If it has problems, the value stays unchanged.
    fn optional_table<T: KeyTable>(&self, key: ConfigKey<'_>, table: &mut Option<T>);

    /// Reads a table with names of the operator's choice. `entry` is a name for the reference, and its sentence.
    /// `check` returns the problem of a name.
    fn map<T: 'static>(
        &self,
        key: ConfigKey<'_>,
        values: &mut impl Extend<(String, T)>,
        entry: (&str, &'static str),
        check: impl Fn(&str) -> Result<(), String>,
        kind: KeyKind<T>,
    );

    /// Reads the tables in a table by their names. Names that are not read keep their tables. `placeholder` is the name
    /// in the reference.
    fn tables_by_name<N: Ord, T: KeyTable>(
        &self,
        key: ConfigKey<'_>,
        placeholder: &str,
        tables: &mut BTreeMap<N, T>,
        parse: impl Fn(&str) -> Result<N, String>,
    );

    /// Reads keys of this table that are set together or not at all.
    fn inline<T: KeyTable + PartialEq>(&self, part: &mut Option<T>) {
        let mut read = T::default();
        read.read_keys(self);
        *part = Some(read).filter(|read| *read != T::default());
    }

    /// Returns `true` if the table has the key, or if the reference of the keys is being written.
    fn has_key(&self, name: &str) -> bool;

    /// Reports a problem at the first of `keys` that is set: in the table at the path `within` this table, otherwise in
    /// this table. If none of the keys is set here, all are inherited, and the level that sets them reports the
    /// problem.
    fn problem(&self, within: &[&str], keys: &[&str], problem: &str);
}

/// The keys of a table, implemented by `settings!`.
pub trait KeyTable: Default {
    /// Reads all keys in the order of their rows.
    fn read_keys(&mut self, keys: &impl KeyReader);

    /// Reads the parts: fields with tables of their own in the table around this one.
    fn read_parts(&mut self, _around: &impl KeyReader) {}

    /// Returns a default that is derived from keys that are already read.
    fn derived<T>(&self, default: impl Fn(&Self) -> T) -> T {
        default(self)
    }
}

/// A table that is rarely set takes the memory of a pointer.
impl<T: KeyTable> KeyTable for Box<T> {
    fn read_keys(&mut self, keys: &impl KeyReader) {
        T::read_keys(self, keys);
    }

    fn read_parts(&mut self, around: &impl KeyReader) {
        T::read_parts(self, around);
    }
}

/// Declares structs whose fields are keys of the configuration, with their defaults. Rows are read in their order.
///
/// ```text
/// pub struct Rules("table"), Rules::check {
///     field: Type = default, kind(arguments).method() => class "key", "sentence", default derived from earlier keys;
///     field: Type = default => class "name", kind(arguments), "sentence";
///     field: Type = default;
/// }
/// ```
///
/// `kind` is a function of [`key_kinds`](crate::key_kinds) with methods of `KeyKind`, or a form of `@read` below.
/// `class` is a constructor of [`ConfigKey`](crate::keys::ConfigKey). Without `"key"` the key has the name of the
/// field. The second form is a part: a table next to that of the struct, or without a kind a value that is read
/// elsewhere. The third form is neither read nor compared. With `("table")` the struct has `changed_keys`.
/// `Rules::check` completes and checks the keys.
#[macro_export]
macro_rules! settings {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    (@compare $changed:ident, $differs:expr, separate $name:expr) => {};
    (@compare $changed:ident, $differs:expr, $class:ident $name:expr) => {
        if $differs {
            $changed.push($crate::keys::ConfigKey::$class($name, ""));
        }
    };
    (@read $keys:ident, $key:expr, $value:expr, nested()) => { $keys.nested($key, $value) };
    (@read $keys:ident, $key:expr, $value:expr, table()) => { $keys.optional_table($key, $value) };
    (@read $keys:ident, $key:expr, $value:expr, inline()) => { $keys.inline($value) };
    (@read $keys:ident, $key:expr, $value:expr, same_table()) => { $crate::keys::KeyTable::read_keys($value, $keys) };
    (@read $keys:ident, $key:expr, $value:expr, map($($argument:expr),*)) => { $keys.map($key, $value, $($argument),*) };
    (@read $keys:ident, $key:expr, $value:expr,
        $kind:ident($($argument:expr),*) $(.$method:ident($($with:expr),*))*) => {
        $keys.read($key, $value, $crate::key_kinds::$kind($($argument),*) $(.$method($($with),*))*)
    };
    (@changes $name:ident [] $($row:tt)*) => {};
    (@changes $name:ident [$table:literal] $({
        $field:ident $(, $class:ident [$named:ident $($key:literal)?])? $(=> $part_class:ident $part:literal)?
    })*) => {
        impl $name {
            /// Returns the keys with other values in `after`, by their names in the configuration.
            pub fn changed_keys(&self, after: &$name) -> Vec<$crate::keys::ConfigKey<'static>> {
                let mut changed = Vec::new();
                $(
                    $($crate::settings!(
                        @compare changed, self.$field != after.$field,
                        $class concat!($table, ".", $crate::settings!(@name $named $($key)?))
                    );)?
                    $($crate::settings!(@compare changed, self.$field != after.$field, $part_class $part);)?
                )*
                changed
            }
        }
    };
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(($table:literal))? $(, $check:path)? {$(
            $(#[$note:meta])*
            $field:ident: $type:ty = $default:expr
            $(, $kind:ident($($argument:expr),*) $(.$method:ident($($with:expr),*))*
                => $class:ident $($key:literal)?, $about:literal $(, $derived:expr)?)?
            $(=> $part_class:ident $part:literal
                $(, $part_kind:ident($($part_argument:expr),*), $part_about:literal)?)?;
        )*}
    )*) => {$(
        $(#[$meta])*
        $vis struct $name {$(
            $(#[doc = $about])?
            $($(#[doc = $part_about])?)?
            $(#[$note])*
            $vis $field: $type,
        )*}

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default),* }
            }
        }

        impl $crate::keys::KeyTable for $name {
            fn read_keys(&mut self, keys: &impl $crate::keys::KeyReader) {
                $($(
                    $(self.$field = $crate::keys::KeyTable::derived(self, $derived);)?
                    $crate::settings!(
                        @read keys,
                        $crate::keys::ConfigKey::$class($crate::settings!(@name $field $($key)?), $about),
                        &mut self.$field,
                        $kind($($argument),*) $(.$method($($with),*))*
                    );
                )?)*
                $($check(self, keys);)?
            }

            fn read_parts(&mut self, around: &impl $crate::keys::KeyReader) {
                let _ = around;
                $($($(
                    $crate::settings!(
                        @read around,
                        $crate::keys::ConfigKey::$part_class($part, $part_about),
                        &mut self.$field,
                        $part_kind($($part_argument),*)
                    );
                )?)?)*
            }
        }

        $crate::settings!(@changes $name [$($table)?] $({
            $field $(, $class [$field $($key)?])? $(=> $part_class $part)?
        })*);
    )*};
}
