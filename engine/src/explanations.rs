//! Explanations of times that can or cannot be booked.

use location::{
    LocationId,
    explain::{ExplainQuery, Explanation},
};
use processor::{EngineError, LocationMessage};

use crate::Engine;

impl Engine {
    /// Explains why the times of a search, or one time, can or cannot be booked by an intent.
    pub async fn explain(&self, location: LocationId, query: ExplainQuery) -> Result<Explanation, EngineError> {
        self.directory().open(location)?;
        let query = Box::new(query);
        self.directory().ask(location, |reply| LocationMessage::Explain { query: query.clone(), reply }).await
    }
}
