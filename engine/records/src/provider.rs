//! The name of a provider.

use crate::{Provider, full_name};

impl Provider {
    /// Returns the display name.
    pub fn name(&self) -> String {
        match &self.display_name {
            Some(name) => name.clone(),
            None => full_name(&self.first_name, self.middle_name.as_deref(), &self.last_name),
        }
    }
}
