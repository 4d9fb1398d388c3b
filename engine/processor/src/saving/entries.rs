//! Records in a frame: made, changed and removed here, and told to the EHR.

use location::{
    command::Cx,
    decision::Decision,
    pull::{Resource, Verb},
};
use query::idempotency::{self, Numbered};
use records::{
    entries::{self, Visitor},
    entry::{Body, Entry, EntryWrite, WriteStatus},
};
use serde_json::Value;

use crate::saving::{Prepared, lane_of, queued, refused, saved, unmet};
use crate::{
    request::Answer,
    requests::{NewEntry, Unmet},
    turn::{Processor, TurnError},
    unit_of_work::UnitOfWork,
};

impl Processor {
    pub(super) fn new_entry(&self, cx: Cx, new: &NewEntry, unit: &mut UnitOfWork<'_>) -> Prepared {
        if new.resource == Resource::FormResponses
            && let Some(why) = self.unfit(&new.body, unit)?
        {
            return unmet(why);
        }
        entry(new.resource, Create { processor: self, cx, new, unit })
    }

    pub(super) fn change_entry(
        &self,
        cx: Cx,
        resource: Resource,
        id: u64,
        body: &Value,
        unit: &mut UnitOfWork<'_>,
    ) -> Prepared {
        entry(resource, Change { processor: self, cx, id, body: Some(body), unit })
    }

    pub(super) fn remove_entry(&self, cx: Cx, resource: Resource, id: u64, unit: &mut UnitOfWork<'_>) -> Prepared {
        entry(resource, Change { processor: self, cx, id, body: None, unit })
    }

    /// What a body refers to and this location cannot use.
    fn unusable(&self, resource: Resource, body: &Value, unit: &mut UnitOfWork<'_>) -> Result<Vec<Unmet>, TurnError> {
        let Some(source) = self.source() else { return Ok(Vec::new()) };
        let (mut unknown, mut inactive) = (Vec::new(), Vec::new());
        let mut known = |resource: Resource, id: u64| -> Result<Option<String>, TurnError> {
            let known = match resource {
                Resource::Patients => self.synced_patient(u32::try_from(id).unwrap_or(u32::MAX), unit)?.is_ok(),
                Resource::Providers => self.known_provider(u32::try_from(id).unwrap_or(u32::MAX), unit)?.is_some(),
                _ => match entries::on(resource, Use { source, id, unit: &mut *unit }).transpose()?.unwrap_or_default()
                {
                    Usable::Yes => true,
                    Usable::Not => {
                        inactive.push(Unmet::NotUsable { resource, id });
                        true
                    }
                    Usable::Unknown => false,
                },
            };
            if !known {
                unknown.push(Unmet::NotFound { resource, id });
            }
            // The others are looked at too.
            Ok::<_, TurnError>(Some(String::new()))
        };
        let _ = entries::theirs(resource, body.clone(), &mut known)?;
        unknown.extend(inactive);
        Ok(unknown)
    }

    /// Values longer than the EHR takes: the write will be refused there, and its record will say so.
    fn too_long(&self, resource: Resource, body: &Value) -> Vec<String> {
        let Some(rules) = entries::rules(resource) else { return Vec::new() };
        let record = rules.record.replace('-', "_");
        let limits = self.description.iter().flat_map(|description| &description.max_lengths);
        let too_long = limits.filter_map(|(path, limit)| {
            let field = path.strip_prefix(&record)?.strip_prefix('.')?;
            let length = body.get(field)?.as_str()?.chars().count();
            (length > *limit as usize).then(|| {
                format!(
                    "{path} is longer than the {limit} characters the health record system takes: it may refuse the \
                     record; GET /write_requests shows what became of it."
                )
            })
        });
        too_long.collect()
    }
}

/// Runs a visitor with the body of a resource that is kept in a frame.
fn entry<V: Visitor<Output = Prepared>>(resource: Resource, visitor: V) -> Prepared {
    entries::on(resource, visitor).unwrap_or(Err(TurnError::Damaged("a resource that is not kept in a frame")))
}

struct Create<'s, 'd, 'p> {
    processor: &'s Processor,
    cx: Cx,
    new: &'s NewEntry,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for Create<'_, '_, '_> {
    type Output = Prepared;

    fn visit<T: Body>(self) -> Prepared {
        let Create { processor, cx, new, unit } = self;
        let (resource, patient) = (T::RESOURCE, new.patient);
        let source = processor.source().unwrap_or(0);
        match new.number.as_ref().map(|number| idempotency::numbered(unit, number)).transpose()?.flatten() {
            Some(Numbered::Same(id)) => return first::<T>(source, id, unit),
            Some(Numbered::Other(id)) => return unmet(Unmet::NumberTaken { resource, id }),
            None => {}
        }
        let mut wrong = processor.unusable(resource, &new.body, unit)?;
        if let Some(id) = patient
            && let Err(why) = processor.synced_patient(id, unit)?
        {
            // More is known of the patient than that they cannot be used.
            wrong.retain(|it| *it != Unmet::NotFound { resource: Resource::Patients, id: id.into() });
            wrong.insert(0, why);
        }
        if let Some(why) = Unmet::of(wrong) {
            return unmet(why);
        }
        let body: T = match entries::read(new.body.clone()) {
            Ok(body) => body,
            Err(wrong) => return unmet(Unmet::Wrong(wrong)),
        };
        let id = unit.allot(resource)?;
        let decision = processor.decide_save(cx, resource, id, Verb::Create, lane_of(patient, resource, id), false);
        let entry = Entry {
            id,
            institution_id: processor.institution.id.0,
            source_id: source,
            location_id: Some(processor.setup.id.0),
            foreign_id: None,
            created_at: cx.now,
            updated_at: cx.now,
            last_sync_time: None,
            deleted_at: None,
            write: Some(EntryWrite::pending()),
            body,
        };
        if !refused(&decision) {
            unit.put(&entry)?;
            if let Some(number) = &new.number {
                idempotency::number(unit, number, id);
            }
        }
        let (decision, mut answer) = saved(decision, &entry)?;
        answer.warnings = processor.too_long(resource, &new.body);
        Ok((decision, answer))
    }
}

/// The record that has the number already, as it stands now.
fn first<T: Body>(source: u32, id: u64, unit: &mut UnitOfWork<'_>) -> Prepared {
    let record = unit.get::<Entry<T>>(source, id)?.ok_or(TurnError::Damaged("a number without its record"))?;
    let (decision, answer) = saved(Decision::nothing(), &record)?;
    Ok((decision, Answer { replay: true, ..answer }))
}

/// A new body, or none: removed.
struct Change<'s, 'd, 'p> {
    processor: &'s Processor,
    cx: Cx,
    id: u64,
    body: Option<&'s Value>,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for Change<'_, '_, '_> {
    type Output = Prepared;

    fn visit<T: Body>(self) -> Prepared {
        let Change { processor, cx, id, body, unit } = self;
        let (resource, source) = (T::RESOURCE, processor.source().unwrap_or(0));
        let Some(before) = unit.get::<Entry<T>>(source, id)?.filter(|entry| entry.deleted_at.is_none()) else {
            return unmet(Unmet::NotFound { resource, id });
        };
        let mut after = before.clone();
        let verb = match body {
            Some(body) => {
                if let Some(why) = Unmet::of(processor.unusable(resource, body, unit)?) {
                    return unmet(why);
                }
                after.body = match entries::read(body.clone()) {
                    Ok(body) => body,
                    Err(wrong) => return unmet(Unmet::Wrong(wrong)),
                };
                Verb::Update
            }
            None => {
                after.deleted_at = Some(cx.now);
                Verb::Delete
            }
        };
        if after == before {
            return saved(Decision::nothing(), &before);
        }
        after.updated_at = cx.now;
        let patient = entries::patient_of(&after.body);
        let decision = processor.decide_save(cx, resource, id, verb, lane_of(patient, resource, id), false);
        if queued(&decision) {
            after.write = Some(EntryWrite::pending());
            unit.keep_merge_base(&before)?;
        }
        if !refused(&decision) {
            unit.put(&after)?;
        }
        saved(decision, &after)
    }
}

#[derive(Default)]
enum Usable {
    Yes,
    Not,
    #[default]
    Unknown,
}

/// Whether a record can be referred to.
struct Use<'d, 'p> {
    source: u32,
    id: u64,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for Use<'_, '_> {
    type Output = Result<Usable, TurnError>;

    fn visit<T: Body>(self) -> Self::Output {
        let Some(entry) = self.unit.get::<Entry<T>>(self.source, self.id)? else { return Ok(Usable::Unknown) };
        let refused = entry.write.as_ref().is_some_and(|write| write.status == WriteStatus::Failed);
        let failed = refused && entry.foreign_id.is_none();
        Ok(if entry.deleted_at.is_some() || failed {
            Usable::Unknown
        } else if entries::inactive(&entry.body) {
            Usable::Not
        } else {
            Usable::Yes
        })
    }
}
