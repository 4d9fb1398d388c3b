//! The settings of an adapter, each declared with type, default, range and purpose. The engine checks configured values
//! and returns the default of settings that are not configured, for a guest in any language.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// A setting, declared as `[settings.NAME]` of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Purpose and unit.
    pub doc: String,
    /// Value if the operator configures none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Default>,
    /// The adapter cannot work without this setting.
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
    /// Minimum of an integer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<i64>,
    /// Values of a choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Text,
    Integer,
    /// One of the `words`.
    Choice,
    /// Comma-separated texts.
    List,
    /// A text that contains JSON.
    Json,
}

/// A default as TOML value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Default {
    Integer(i64),
    Text(String),
    List(Vec<String>),
}

/// Formats the default as an operator would write it.
impl fmt::Display for Default {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Default::Integer(number) => number.fmt(f),
            Default::Text(text) => f.write_str(text),
            Default::List(items) => f.write_str(&items.join(", ")),
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Settings that the engine provides, whatever the manifest declares.
const GIVEN: [&str; 2] = ["location", "time-zone"];

impl Setting {
    /// Returns the rule for values, as the end of a sentence that begins with the setting's name.
    pub fn rule(&self) -> String {
        let quoted = |words: &[String]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ");
        match (self.kind, self.least, self.most) {
            (Kind::Text, ..) => "must not be empty".to_owned(),
            (Kind::Integer, Some(least), Some(most)) => format!("must be a number from {least} to {most}"),
            (Kind::Integer, Some(least), None) => format!("must be a number of at least {least}"),
            (Kind::Integer, None, Some(most)) => format!("must be a number of at most {most}"),
            (Kind::Integer, None, None) => "must be a whole number".to_owned(),
            (Kind::Choice, ..) => format!("must be {}", quoted(&self.words)),
            (Kind::List, ..) => "must be a list, separated by commas".to_owned(),
            (Kind::Json, ..) => "must be JSON".to_owned(),
        }
    }

    /// Describes the allowed values for a cell of a table.
    fn values(&self) -> String {
        let quoted: Vec<String> = self.words.iter().map(|word| format!("`{word}`")).collect();
        match (self.kind, self.least, self.most) {
            (Kind::Text, ..) => "text".to_owned(),
            (Kind::Integer, Some(least), Some(most)) => format!("{least} to {most}"),
            (Kind::Integer, Some(least), None) => format!("{least} or more"),
            (Kind::Integer, None, Some(most)) => format!("at most {most}"),
            (Kind::Integer, None, None) => "number".to_owned(),
            (Kind::Choice, ..) => quoted.join(", "),
            (Kind::List, ..) => "list, by commas".to_owned(),
            (Kind::Json, ..) => "JSON".to_owned(),
        }
    }

    fn takes(&self, value: &str) -> bool {
        match self.kind {
            Kind::Text => !value.trim().is_empty(),
            Kind::Integer => value.trim().parse::<i64>().is_ok_and(|number| {
                self.least.is_none_or(|least| least <= number) && self.most.is_none_or(|most| number <= most)
            }),
            Kind::Choice => self.words.iter().any(|word| word == value),
            Kind::List => true,
            Kind::Json => serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok(),
        }
    }

    /// Returns the problem of the declaration itself.
    fn problem(&self, name: &str) -> Option<String> {
        let name_fits = (1..=64).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'));
        let say = |rule: &str| Some(format!("`settings.{name}` {rule}"));
        match self {
            _ if !name_fits => say("must be named with lower-case letters, digits, `_` and `-`, at most 64 of them"),
            _ if GIVEN.contains(&name) => say("is set by the engine and cannot be declared"),
            _ if self.doc.trim().is_empty() => say("needs a `doc`: what it is for, with its unit"),
            _ if self.kind == Kind::Choice && self.words.is_empty() => say("needs the `words` of its choice"),
            _ if self.kind != Kind::Choice && !self.words.is_empty() => say("has `words` and is no choice"),
            _ if self.kind != Kind::Integer && (self.least.is_some() || self.most.is_some()) => {
                say("has a range and is no integer")
            }
            _ if self.required && self.default.is_some() => say("is `required` and has a `default`: one of them"),
            Setting { default: Some(default), .. } if !self.takes(&default.to_string()) => {
                Some(format!("the default of `settings.{name}` {}", self.rule()))
            }
            _ => None,
        }
    }
}

/// Formats the settings as a table for a README; `None` if none is declared.
pub(crate) fn table(declared: &BTreeMap<String, Setting>) -> Option<String> {
    let cell = |text: &str| text.replace('|', "\\|");
    let row = |(name, setting): (&String, &Setting)| {
        let default = match &setting.default {
            Some(default) => format!("`{}`", cell(&default.to_string())),
            None if setting.required => "required".to_owned(),
            None => String::new(),
        };
        format!("| `{name}` | {} | {default} | {} |\n", cell(&setting.values()), cell(&setting.doc))
    };
    let rows: String = declared.iter().map(row).collect();
    (!rows.is_empty()).then(|| format!("| setting | values | default | |\n|---|---|---|---|\n{rows}"))
}

/// Formats the settings as lines of a configuration, each commented out with its default; `None` if none is declared.
pub(crate) fn example(declared: &BTreeMap<String, Setting>) -> Option<String> {
    let line = |(name, setting): (&String, &Setting)| {
        let required = if setting.required { " Required." } else { "" };
        let default = setting.default.as_ref().map(Default::to_string).unwrap_or_default();
        let value = toml::Value::String(default);
        let doc = setting.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("# # {doc} Values: {}.{required}\n# {name} = {value}\n", setting.values())
    };
    let lines: String = declared.iter().map(line).collect();
    (!lines.is_empty()).then_some(lines)
}

pub(crate) fn problems(declared: &BTreeMap<String, Setting>) -> Vec<String> {
    declared.iter().filter_map(|(name, setting)| setting.problem(name)).collect()
}

/// Returns all problems of the configured settings. A value is never quoted, because it may be a secret.
pub(crate) fn refused<'a>(
    declared: &BTreeMap<String, Setting>,
    set: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<String> {
    let mut set: BTreeMap<&str, &str> = set.into_iter().collect();
    GIVEN.iter().for_each(|name| {
        set.remove(name);
    });
    let mut wrong: Vec<String> = Vec::new();
    for (name, setting) in declared {
        match set.remove(name.as_str()) {
            Some(value) if !setting.takes(value) => wrong.push(format!("the setting `{name}` {}", setting.rule())),
            None if setting.required => wrong.push(format!("the setting `{name}` is missing: {}", setting.doc)),
            _ => {}
        }
    }
    let known = || declared.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let unknown = set.into_keys().map(|name| format!("there is no setting `{name}`; there are {}", known()));
    wrong.extend(unknown.filter(|_| !declared.is_empty()));
    wrong
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use crate::Manifest;

    const HEAD: &str = "id = \"x\"\nname = \"X\"\nversion = \"1\"\ncontract = 1\npaths = [\"/\"]\n";
    const DECLARED: &str = "[settings.page]\ntype = \"integer\"\ndefault = 100\nleast = 1\nmost = 1000\ndoc = \"Rows of a page.\"\n\
        [settings.slots]\ntype = \"choice\"\nwords = [\"on\", \"off\"]\ndefault = \"on\"\ndoc = \"Whether it keeps slots.\"\n\
        [settings.site]\ntype = \"text\"\nrequired = true\ndoc = \"The practice's site.\"\n\
        [settings.types]\ntype = \"json\"\ndoc = \"Appointment types.\"\n";

    #[test]
    fn configured_values_are_checked_against_the_declaration() {
        let manifest = Manifest::parse(&format!("{HEAD}{DECLARED}")).unwrap();
        let refused = |set: &[(&str, &str)]| manifest.refused_settings(set.iter().copied());
        assert_eq!(refused(&[("site", "main"), ("page", "5"), ("location", "L1"), ("types", "[]")]), [""; 0]);
        assert_eq!(refused(&[]), ["the setting `site` is missing: The practice's site."]);
        let wrong = refused(&[("site", " "), ("page", "1001"), ("slots", "yes"), ("types", "[}"), ("sitee", "s3cret")]);
        assert_eq!(
            wrong,
            [
                "the setting `page` must be a number from 1 to 1000",
                "the setting `site` must not be empty",
                "the setting `slots` must be `on` or `off`",
                "the setting `types` must be JSON",
                "there is no setting `sitee`; there are `page`, `site`, `slots`, `types`",
            ]
        );
        assert_eq!(manifest.default_of("page").as_deref(), Some("100"));
        assert_eq!(manifest.default_of("site"), None);
    }

    #[test]
    fn the_readme_table_lists_every_setting() {
        let table = Manifest::parse(&format!("{HEAD}{DECLARED}")).unwrap().settings_table().unwrap();
        assert_eq!(
            table,
            "| setting | values | default | |\n|---|---|---|---|\n\
             | `page` | 1 to 1000 | `100` | Rows of a page. |\n\
             | `site` | text | required | The practice's site. |\n\
             | `slots` | `on`, `off` | `on` | Whether it keeps slots. |\n\
             | `types` | JSON |  | Appointment types. |\n"
        );
        assert_eq!(Manifest::parse(HEAD).unwrap().settings_table(), None);
    }

    #[test]
    fn an_example_can_be_uncommented_as_it_is() {
        let manifest = Manifest::parse(&format!("{HEAD}{DECLARED}")).unwrap();
        let example = manifest.settings_example().unwrap();
        assert!(example.contains("# # Rows of a page. Values: 1 to 1000.\n# page = \"100\"\n"), "{example}");
        assert!(example.contains("# # The practice's site. Values: text. Required.\n# site = \"\"\n"), "{example}");
        let uncommented: String = example.lines().map(|line| format!("{}\n", &line[2..])).collect();
        let set: BTreeMap<String, String> = toml::from_str(&uncommented).unwrap();
        assert_eq!(set.len(), 4);
        assert_eq!((set["page"].as_str(), set["slots"].as_str()), ("100", "on"));
        assert_eq!(Manifest::parse(HEAD).unwrap().settings_example(), None);
    }

    #[test]
    fn an_adapter_without_declared_settings_accepts_any() {
        assert_eq!(Manifest::parse(HEAD).unwrap().refused_settings([("any", "thing")]), [""; 0]);
    }

    #[test]
    fn a_declaration_that_contradicts_itself_is_refused() {
        for (declared, expected) in [
            (
                "type = \"integer\"\ndoc = \"d\"\ndefault = 5\nmost = 4",
                "the default of `settings.s` must be a number of at most 4",
            ),
            ("type = \"integer\"\ndoc = \" \"", "needs a `doc`"),
            ("type = \"choice\"\ndoc = \"d\"", "needs the `words`"),
            ("type = \"text\"\ndoc = \"d\"\nwords = [\"a\"]", "is no choice"),
            ("type = \"text\"\ndoc = \"d\"\nleast = 1", "is no integer"),
            ("type = \"text\"\ndoc = \"d\"\nrequired = true\ndefault = \"x\"", "one of them"),
            ("type = \"number\"\ndoc = \"d\"", "unknown variant `number`"),
        ] {
            let refused = Manifest::parse(&format!("{HEAD}[settings.s]\n{declared}\n")).unwrap_err();
            assert!(refused.contains(expected), "{declared}: {refused}");
        }
        for name in ["time-zone", "\"A b\""] {
            let text = format!("{HEAD}[settings.{name}]\ntype = \"text\"\ndoc = \"d\"\n");
            assert!(Manifest::parse(&text).unwrap_err().contains("`settings."), "{name}");
        }
    }
}
