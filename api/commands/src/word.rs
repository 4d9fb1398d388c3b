//! Parsers for arguments that take one of a fixed set of words.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use framework::values::words::{WireEnum, all, spelled};

pub fn word<T: WireEnum>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all::<T>())
        .try_map(|text| spelled(&text).ok_or_else(|| format!("`{text}` is not a valid value")))
}
