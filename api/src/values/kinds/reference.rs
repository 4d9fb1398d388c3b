//! Ids of records that a request names, so that unknown ones can be reported next to wrong values.

use location::pull::Resource;

use super::Kind;

/// A record that a request names by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    pub resource: Resource,
    pub id: u64,
}

impl<T: Copy + Into<u64> + 'static> Kind<T> {
    /// The id of a record of this resource.
    pub(crate) fn of(self, resource: Resource) -> Kind<T> {
        let number: fn(&T) -> u64 = |id| (*id).into();
        Kind { refers_to: Some((resource, number)), ..self }
    }
}

impl<T> Kind<T> {
    /// The record that a value names.
    pub(crate) fn reference(&self, value: &T) -> Option<Reference> {
        self.refers_to.map(|(resource, id)| Reference { resource, id: id(value) })
    }
}
