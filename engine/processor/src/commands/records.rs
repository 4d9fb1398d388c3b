//! Shared parts of the requests that create and change records that the scheduling rules do not depend on.

use records::schema;
use serde_json::{Map, Value};

use super::{prelude::*, references::set_aside};

impl Processor {
    /// Returns the references of a body that this location cannot use.
    pub fn unusable(&self, body: &impl Body, unit: &mut UnitOfWork<'_>) -> Result<Vec<PreconditionError>, Reject> {
        if self.source().is_none() {
            return Ok(Vec::new());
        }
        let (mut unknown, mut inactive) = (Vec::new(), Vec::new());
        let mut known = |resource: Resource, id: u64| {
            let known = match resource {
                Resource::Patients => {
                    let id = u32::try_from(id).unwrap_or(u32::MAX);
                    set_aside(self.synced_patient(id, unit), &mut Vec::new())?.is_some()
                }
                Resource::Providers => self.known_provider(u32::try_from(id).unwrap_or(u32::MAX), unit)?.is_some(),
                _ => match self.facts(resource, id, unit)?.filter(|it| !it.deleted && !it.rejected) {
                    Some(it) => {
                        inactive.extend((!it.in_use).then_some(PreconditionError::NotUsable { resource, id }));
                        true
                    }
                    None => false,
                },
            };
            if !known {
                unknown.push(PreconditionError::NotFound { resource, id });
            }
            // Continues with the other references.
            Ok::<_, Reject>(Some(String::new()))
        };
        body.for_ehr::<Reject>(String::new(), &mut known)?;
        unknown.extend(inactive);
        Ok(unknown)
    }

    /// Returns a warning for each value longer than the EHR accepts. The EHR may refuse the write, and the record then
    /// shows it.
    pub fn too_long(&self, resource: Resource, body: &Map<String, Value>) -> Vec<String> {
        let record = schema::rules(resource).record.replace('-', "_");
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
