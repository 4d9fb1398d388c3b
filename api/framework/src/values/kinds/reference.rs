//! Record ids in requests. Nonexistent records are reported together with invalid values.

use location::Resource;

use super::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    pub resource: Resource,
    pub id: u64,
}

impl<T: Copy + Into<u64> + 'static> Kind<T> {
    /// Marks the value as an id of a record of this resource.
    pub fn referring_to(self, resource: Resource) -> Kind<T> {
        let number: fn(&T) -> u64 = |id| (*id).into();
        Kind { refers_to: Some((resource, number)), ..self }
    }
}

impl<T> Kind<T> {
    pub fn reference(&self, value: &T) -> Option<Reference> {
        self.refers_to.map(|(resource, id)| Reference { resource, id: id(value) })
    }
}
