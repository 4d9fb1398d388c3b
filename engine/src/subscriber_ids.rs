//! Ids of insurance subscribers who are not patients. An EHR gives them none, so the first response that shows one
//! allots it.

use location::Resource;
use processor::{EngineError, error::not_stored};
use records::Coverage;
use store::{Batch, CommitError, keys};

use crate::Engine;

impl Engine {
    /// Returns the id of a coverage's named subscriber: one per name, date of birth and number in a data source. It
    /// comes from the counter of patients, so that no patient has it. Returns `None` if the coverage has no subscriber
    /// name.
    pub async fn subscriber_id(&self, source: u32, coverage: &Coverage) -> Result<Option<u32>, EngineError> {
        let Some(name) = &coverage.subscriber_name else { return Ok(None) };
        let (deps, resource) = (&self.deps, Resource::Patients);
        let born = coverage.subscriber_date_of_birth.map(|day| day.to_string()).unwrap_or_default();
        let number = coverage.subscriber_number.as_deref().unwrap_or_default().trim();
        let parts = [&b"subscriber"[..], name.trim().as_bytes(), born.as_bytes(), number.as_bytes()];
        let key = keys::subscriber(source, &deps.secrets.digest(&parts));
        loop {
            if let Some(known) = deps.store.get(&key)? {
                let id = known.try_into().map_err(|_| EngineError::Damaged)?;
                return Ok(Some(u32::from_be_bytes(id)));
            }
            let Some(id) = deps.pool.take(resource) else {
                deps.pool.fill(&deps.ids, resource).await?;
                continue;
            };
            let narrow = u32::try_from(id).map_err(|_| EngineError::Internal)?;
            let mut batch = Batch::new();
            batch.expect_unchanged(key.clone(), None).put(key.clone(), narrow.to_be_bytes().to_vec());
            match deps.store.commit(batch).await {
                Ok(()) => return Ok(Some(narrow)),
                // Another response allotted the id meanwhile.
                Err(CommitError::Conflict { .. }) => deps.pool.give_back(resource, id),
                Err(error) => return Err(not_stored(&error)),
            }
        }
    }
}
