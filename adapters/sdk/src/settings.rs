//! The location's settings, typed. `adapter.toml` declares each with type, default, range and purpose. The engine
//! rejects invalid values before a call and returns the default of settings that are not configured. [`read`]
//! deserializes them into a struct.
//!
//! ```
//! use adapter_sdk::{settings, testing::Host};
//! use serde::Deserialize;
//!
//! #[derive(Debug, PartialEq, Deserialize)]
//! struct Settings {
//!     location: String,
//!     page: u32,
//!     statuses: Vec<String>,
//!     site: Option<String>,
//! }
//!
//! let manifest = "[settings.page]\ntype = \"integer\"\ndefault = 100\ndoc = \"Rows of a page.\"";
//! let host = Host::new().manifest(manifest).config("location", "L1").config("statuses", "booked, arrived");
//! let settings: Settings = host.run(settings::read).expect("they fit");
//! assert_eq!((settings.page, settings.statuses), (100, vec!["booked".to_owned(), "arrived".to_owned()]));
//! assert_eq!(settings.site, None);
//! ```

use std::{fmt::Display, str::FromStr};

use serde::{
    Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor, value::Error},
    forward_to_deserialize_any,
};
use serde_json::Value;

use crate::{Fault, config};

/// Reads the settings named by the fields of a struct. A number is parsed from its text, a list from JSON or a
/// comma-separated text, a nested struct from JSON, a `bool` from `on` or `off`.
pub fn read<T: DeserializeOwned>() -> Result<T, Fault> {
    T::deserialize(SettingsDeserializer).map_err(|wrong| Fault::unsupported(wrong.to_string()))
}

struct SettingsDeserializer;

impl<'de> Deserializer<'de> for SettingsDeserializer {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(SettingsMapAccess { names: fields.iter(), current: None })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("settings are read into a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}

struct SettingsMapAccess {
    names: std::slice::Iter<'static, &'static str>,
    current: Option<SettingValue>,
}

impl<'de> MapAccess<'de> for SettingsMapAccess {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        for name in self.names.by_ref() {
            if let Some(text) = config::get(name) {
                self.current = Some(SettingValue { name, text });
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.current.take().ok_or_else(|| Error::custom("a value is asked for before its key"))?)
    }
}

/// A configured value or the manifest's default.
struct SettingValue {
    name: &'static str,
    text: String,
}

impl SettingValue {
    /// The error of an invalid value. It does not quote the text, which may be a secret.
    fn wrong(&self, expected: impl Display) -> Error {
        Error::custom(format_args!("the setting `{}` must be {expected}", self.name))
    }

    fn number<T: FromStr>(&self) -> Result<T, Error> {
        self.text.trim().parse().map_err(|_| self.wrong("a number"))
    }

    fn json(&self) -> Result<Value, Error> {
        serde_json::from_str(&self.text).map_err(|e| self.wrong(plain(&e)))
    }

    fn is_json(&self) -> bool {
        self.text.trim_start().starts_with(['[', '{'])
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident,)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.number()?)
        }
    )* };
}

macro_rules! json {
    ($($method:ident($($argument:ident: $kind:ty),*),)*) => { $(
        fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, Error> {
            self.json()?.$method($($argument,)* visitor).map_err(|e| self.wrong(plain(&e)))
        }
    )* };
}

/// Describes a JSON error without quoting the text, unlike serde_json's message.
fn plain(error: &serde_json::Error) -> String {
    format!(
        "JSON of the form that the adapter's README shows: {:?} error at column {}",
        error.classify(),
        error.column()
    )
}

impl<'de> Deserializer<'de> for SettingValue {
    type Error = Error;

    numbers! {
        deserialize_i8 visit_i8, deserialize_i16 visit_i16, deserialize_i32 visit_i32, deserialize_i64 visit_i64,
        deserialize_u8 visit_u8, deserialize_u16 visit_u16, deserialize_u32 visit_u32, deserialize_u64 visit_u64,
        deserialize_f32 visit_f32, deserialize_f64 visit_f64,
    }

    json! {
        deserialize_map(), deserialize_struct(name: &'static str, fields: &'static [&'static str]), deserialize_tuple(length: usize),
        deserialize_tuple_struct(name: &'static str, length: usize),
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.text)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.text.as_str() {
            "on" | "true" => visitor.visit_bool(true),
            "off" | "false" => visitor.visit_bool(false),
            _ => Err(self.wrong("`on` or `off`")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_json() {
            return self.json()?.deserialize_seq(visitor).map_err(|e| self.wrong(plain(&e)));
        }
        let items = self.text.split(',').map(str::trim).filter(|item| !item.is_empty());
        visitor.visit_seq(serde::de::value::SeqDeserializer::<_, Error>::new(items))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if !words.contains(&self.text.as_str()) {
            return Err(self.wrong(format_args!("one of `{}`", words.join("`, `"))));
        }
        visitor.visit_enum(self.text.into_deserializer())
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::testing::Host;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Parts,
        All,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct VisitType {
        id: String,
        minutes: u32,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct TestSettings {
        mode: Mode,
        slots: bool,
        page: u8,
        types: Vec<VisitType>,
        site: Option<String>,
    }

    fn host() -> Host {
        Host::new().config("mode", "all").config("slots", "off").config("page", " 7 ")
    }

    #[test]
    fn every_type_is_read_from_its_text() {
        let types = r#"[{"id": "exam", "minutes": 30}]"#;
        let settings = host().config("types", types).config("site", "main").run(read::<TestSettings>);
        let exam = VisitType { id: "exam".into(), minutes: 30 };
        let expected =
            TestSettings { mode: Mode::All, slots: false, page: 7, types: vec![exam], site: Some("main".into()) };
        assert_eq!(settings, Ok(expected));
    }

    #[test]
    fn invalid_values_are_named_and_not_quoted() {
        for (name, value, expected) in [
            ("mode", "s3cret", "the setting `mode` must be one of `parts`, `all`"),
            ("slots", "s3cret", "the setting `slots` must be `on` or `off`"),
            ("page", "s3cret", "the setting `page` must be a number"),
            ("page", "300", "the setting `page` must be a number"),
            ("types", "[{\"id\": \"s3cret\"}]", "the setting `types` must be JSON"),
        ] {
            let refused = host().config("types", "[]").config(name, value).run(read::<TestSettings>);
            let Err(Fault::Unsupported(why)) = refused else { panic!("{name}: {refused:?}") };
            assert!(why.starts_with(expected) && !why.contains("s3cret"), "{why}");
        }
        let missing = host().run(read::<TestSettings>);
        assert_eq!(missing, Err(Fault::unsupported("missing field `types`")));
    }
}
