//! The rules of the records in a frame (`records::entry`): one table that says, for each resource, what it refers to, what lists filter
//! by, how it is written to an EHR and what it is called.

mod table;
#[cfg(test)]
mod tests;

use location::{pull::Resource, resource::Operation};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use self::table::{Visitor, on, on_all, rules};
use crate::{
    entry::Body,
    index::{Field, Term},
};

/// What the engine knows of one resource.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub resource: Resource,
    /// Its record in the contract.
    pub record: &'static str,
    /// In messages: `Payment Type with id 7 not found`.
    pub name: &'static str,
    pub references: &'static [Reference],
    /// Fields of the body that lists filter by, as paths: `charge_splits.charge_id`. The last name is the term's.
    pub index: &'static [&'static str],
    /// What the contract calls a write of it.
    pub writes: &'static [(Operation, &'static str)],
    /// Fields only we keep: no EHR sees them.
    pub own: &'static [&'static str],
}

/// A field that refers to another record: a foreign id in the contract, an id of ours in the body.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The object, or list of objects, that holds the field; none at the top.
    pub within: Option<&'static str>,
    pub field: &'static str,
    pub becomes: &'static str,
    pub to: Resource,
    /// A list of them.
    pub many: bool,
}

/// A record that a write refers to and the EHR does not have yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    pub resource: Resource,
    pub id: u64,
}

/// The body of what an EHR says, or what is wrong with it: by field, never the value. `refer` gives our id of a foreign one.
pub fn ours<E>(
    resource: Resource,
    mut fields: Map<String, Value>,
    refer: &mut impl FnMut(Resource, &str) -> Result<u64, E>,
) -> Result<Result<Value, String>, E> {
    let Some(rules) = rules(resource) else { return Ok(Err(format!("{resource:?} is not kept in a frame"))) };
    for reference in rules.references {
        let replaced =
            replace(&mut fields, reference, (reference.field, reference.becomes), &mut |value| match value {
                Value::String(foreign) => refer(reference.to, &foreign).map(|id| Ok(id.into())),
                _ => Ok(Err(format!("field {}: must be an identifier", reference.field))),
            })?;
        if let Err(wrong) = replaced {
            return Ok(Err(wrong));
        }
    }
    Ok(checked(resource, Value::Object(fields)))
}

/// The fields of a body as an EHR takes them. `foreign` gives the foreign id of ours.
pub fn theirs<E>(
    resource: Resource,
    body: Value,
    foreign: &mut impl FnMut(Resource, u64) -> Result<Option<String>, E>,
) -> Result<Result<Map<String, Value>, Missing>, E> {
    let (Some(rules), Value::Object(mut fields)) = (rules(resource), body) else { return Ok(Ok(Map::new())) };
    fields.retain(|field, _| !rules.own.contains(&field.as_str()));
    for reference in rules.references {
        let replaced = replace(&mut fields, reference, (reference.becomes, reference.field), &mut |value| {
            // Bodies are checked when they are made: their references are numbers.
            let missing = Missing { resource: reference.to, id: value.as_u64().unwrap_or_default() };
            Ok(foreign(missing.resource, missing.id)?.map(Value::String).ok_or(missing))
        })?;
        if let Err(missing) = replaced {
            return Ok(Err(missing));
        }
    }
    Ok(Ok(fields))
}

/// A body in its final form: read as what it is, and written again.
pub fn checked(resource: Resource, body: Value) -> Result<Value, String> {
    struct Check(Value);
    impl Visitor for Check {
        type Output = Result<Value, String>;

        fn visit<T: Body>(self) -> Self::Output {
            let body: T = read(self.0)?;
            serde_json::to_value(body).map_err(|_| "cannot be written".to_owned())
        }
    }
    on(resource, Check(body)).unwrap_or_else(|| Err(format!("{resource:?} is not kept in a frame")))
}

/// Reads a body; what is wrong is said by field, never with the value.
pub fn read<T: DeserializeOwned>(body: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(body).map_err(|error| {
        let rule = rule(&error.inner().to_string());
        match error.path().iter().next() {
            Some(_) => format!("field {}: {rule}", error.path()),
            None => rule,
        }
    })
}

/// What a message of serde says about the type, without what it says about the value.
fn rule(message: &str) -> String {
    if message.starts_with("missing field ") || message.starts_with("must ") {
        return message.to_owned();
    }
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("must be {expected}"),
        None => "is not valid".to_owned(),
    }
}

/// What lists find a record by.
pub fn terms(body: &impl Body) -> Vec<Term> {
    let resource = resource_of(body);
    let Some(rules) = rules(resource).filter(|rules| !rules.index.is_empty()) else { return Vec::new() };
    let Ok(body) = serde_json::to_value(body) else { return Vec::new() };
    let mut found = Vec::new();
    for path in rules.index {
        let field = Field::of_body(path.rsplit('.').next().unwrap_or(path));
        collect(&body, path, &mut |value| found.extend(field.and_then(|field| Term::of_value(field, value))));
    }
    found.sort();
    found.dedup();
    found
}

fn resource_of<T: Body>(_: &T) -> Resource {
    T::RESOURCE
}

/// What the contract calls a write; none where it has no such write.
pub fn write_kind(resource: Resource, verb: Operation) -> Option<&'static str> {
    rules(resource)?.writes.iter().find(|(known, _)| *known == verb).map(|(_, kind)| *kind)
}

/// Every write the contract has for records in a frame, with its name there; patients' updates too.
pub fn all_writes() -> impl Iterator<Item = ((Resource, Operation), &'static str)> {
    #[derive(Clone)]
    struct All;
    impl Visitor for All {
        type Output = Resource;

        fn visit<T: Body>(self) -> Resource {
            T::RESOURCE
        }
    }
    let framed = on_all(All).into_iter().filter_map(rules);
    let framed = framed.flat_map(|rules| rules.writes.iter().map(|(verb, kind)| ((rules.resource, *verb), *kind)));
    let others = [
        ((Resource::Patients, Operation::Update), "update-patient"),
        ((Resource::WorkingHours, Operation::Create), "create-working-hour"),
        ((Resource::WorkingHours, Operation::Update), "update-working-hour"),
        ((Resource::WorkingHours, Operation::Delete), "delete-working-hour"),
    ];
    framed.chain(others)
}

/// The patient a body is about.
pub fn patient_of(body: &impl Body) -> Option<u32> {
    let id = serde_json::to_value(body).ok()?.get("patient_id")?.as_u64()?;
    u32::try_from(id).ok()
}

/// Kept, but not in use any more.
pub fn inactive(body: &impl Body) -> bool {
    let active = serde_json::to_value(body).ok().and_then(|body| body.get("active")?.as_bool());
    active == Some(false)
}

/// Each value at a path, through lists; not the nulls.
fn collect(value: &Value, path: &str, found: &mut impl FnMut(&Value)) {
    match value {
        Value::Null => {}
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, path, found)),
        _ if path.is_empty() => found(value),
        _ => {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            if let Some(inner) = value.get(first) {
                collect(inner, rest, found);
            }
        }
    }
}

/// Renames a reference's field wherever it is and replaces its values. An absent one is null, or an empty list.
fn replace<E, W>(
    fields: &mut Map<String, Value>,
    reference: &Reference,
    (from, to): (&str, &str),
    one: &mut impl FnMut(Value) -> Result<Result<Value, W>, E>,
) -> Result<Result<(), W>, E> {
    let holders: Vec<&mut Map<String, Value>> = match reference.within.map(|name| fields.get_mut(name)) {
        None => vec![fields],
        Some(Some(Value::Object(holder))) => vec![holder],
        Some(Some(Value::Array(holders))) => holders.iter_mut().filter_map(Value::as_object_mut).collect(),
        Some(_) => Vec::new(),
    };
    for holder in holders {
        let replaced = match holder.remove(from).unwrap_or_default() {
            Value::Null if reference.many => Ok(Value::Array(Vec::new())),
            Value::Null => Ok(Value::Null),
            Value::Array(values) if reference.many => {
                let ids: Result<Result<_, W>, E> = values.into_iter().map(&mut *one).collect();
                ids?.map(Value::Array)
            }
            value => one(value)?,
        };
        match replaced {
            Ok(value) => holder.insert(to.to_owned(), value),
            Err(wrong) => return Ok(Err(wrong)),
        };
    }
    Ok(Ok(()))
}
