//! JSON values in one pass, without duplicate keys and deep nesting.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, map::Entry};

use crate::values::{kinds::echo, limits::MAX_DEPTH};

/// Message of the error for a value that is nested too deeply.
pub(super) const TOO_DEEP: &str = "is nested too deeply";

/// Reads any JSON value except those with duplicate keys, whose meaning would be ambiguous, and those nested too
/// deeply.
#[derive(Clone, Copy, Default)]
pub(super) struct StrictJson {
    depth: usize,
}

impl StrictJson {
    fn inside<E: de::Error>(self) -> Result<StrictJson, E> {
        if self.depth < MAX_DEPTH { Ok(StrictJson { depth: self.depth + 1 }) } else { Err(E::custom(TOO_DEEP)) }
    }
}

impl<'de> DeserializeSeed<'de> for StrictJson {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictJson {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let (inside, mut object) = (self.inside()?, Map::new());
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(inside)?;
            match object.entry(name) {
                Entry::Vacant(entry) => entry.insert(value),
                Entry::Occupied(twice) => {
                    return Err(de::Error::custom(format!("holds the key {:?} twice", echo(twice.key()))));
                }
            };
        }
        Ok(Value::Object(object))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let (inside, mut array) = (self.inside()?, Vec::new());
        while let Some(element) = elements.next_element_seed(inside)? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}
