//! What a provider is called.

use crate::{Provider, full_name};

impl Provider {
    /// Name to show.
    pub fn name(&self) -> String {
        match &self.display_name {
            Some(name) => name.clone(),
            None => full_name(&self.first_name, self.middle_name.as_deref(), &self.last_name),
        }
    }
}
