//! Providers of care.

use record_macro::record;

use crate::full_name;

/// A provider of care.
#[record(
    resource = Providers, tag = 1, id = u32, scope = Institution, contract = "provider", name = "Provider",
    local_extra
)]
#[derive(Default)]
pub struct Provider {
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    pub display_name: Option<String>,
    /// E-mail address.
    pub email: Option<String>,
    /// National provider identifier.
    pub npi: Option<String>,
    /// Taxpayer identification number.
    pub tin: Option<String>,
    pub state_license: Option<String>,
    pub specialty_code: Option<String>,
    /// No longer active.
    #[record(deleted)]
    pub inactive: bool,
}

impl Provider {
    /// Returns the display name.
    pub fn name(&self) -> String {
        match &self.display_name {
            Some(name) => name.clone(),
            None => full_name(&self.first_name, self.middle_name.as_deref(), &self.last_name),
        }
    }
}
