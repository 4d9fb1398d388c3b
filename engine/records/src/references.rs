//! References to other records: foreign ids in the EHR, local ids here.

use location::Resource;

/// An identifier in the EHR, opaque to the engine.
pub type ForeignId = String;
/// Function that resolves a foreign id to our id.
pub type ResolveId<'a, E> = &'a mut dyn FnMut(Resource, &str) -> Result<u64, E>;
/// Function that looks up the foreign id of one of our records. Returns `None` if the EHR does not have the record yet.
pub type ForeignIdOf<'a, E> = &'a mut dyn FnMut(Resource, u64) -> Result<Option<ForeignId>, E>;

/// The reason why data of an EHR is not a valid record, without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid(pub &'static str);

/// A record that a write refers to and that the EHR does not have yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    pub resource: Resource,
    pub id: u64,
}

/// A reference by our id: one, an optional one, or a list.
pub trait Reference: Sized {
    /// The reference by foreign ids.
    type Foreign;

    /// Converts a reference of the EHR to our ids.
    fn resolve<E: From<Invalid>>(
        foreign: &Self::Foreign,
        to: Resource,
        resolve_id: ResolveId<'_, E>,
    ) -> Result<Self, E>;
    /// Converts the reference to foreign ids.
    fn for_ehr<E: From<Missing>>(&self, to: Resource, foreign_id_of: ForeignIdOf<'_, E>) -> Result<Self::Foreign, E>;
}

impl Reference for u64 {
    type Foreign = ForeignId;

    fn resolve<E: From<Invalid>>(foreign: &ForeignId, to: Resource, resolve_id: ResolveId<'_, E>) -> Result<u64, E> {
        resolve_id(to, foreign)
    }

    fn for_ehr<E: From<Missing>>(&self, to: Resource, foreign_id_of: ForeignIdOf<'_, E>) -> Result<ForeignId, E> {
        foreign_id_of(to, *self)?.ok_or(Missing { resource: to, id: *self }.into())
    }
}

impl Reference for u32 {
    type Foreign = ForeignId;

    fn resolve<E: From<Invalid>>(foreign: &ForeignId, to: Resource, resolve_id: ResolveId<'_, E>) -> Result<u32, E> {
        u32::try_from(resolve_id(to, foreign)?).map_err(|_| Invalid("an id beyond 32 bits").into())
    }

    fn for_ehr<E: From<Missing>>(&self, to: Resource, foreign_id_of: ForeignIdOf<'_, E>) -> Result<ForeignId, E> {
        u64::from(*self).for_ehr(to, foreign_id_of)
    }
}

impl<T: Reference> Reference for Option<T> {
    type Foreign = Option<T::Foreign>;

    fn resolve<E: From<Invalid>>(
        foreign: &Self::Foreign,
        to: Resource,
        resolve_id: ResolveId<'_, E>,
    ) -> Result<Self, E> {
        foreign.as_ref().map(|foreign| T::resolve(foreign, to, resolve_id)).transpose()
    }

    fn for_ehr<E: From<Missing>>(&self, to: Resource, foreign_id_of: ForeignIdOf<'_, E>) -> Result<Self::Foreign, E> {
        self.as_ref().map(|id| id.for_ehr(to, foreign_id_of)).transpose()
    }
}

impl<T: Reference> Reference for Vec<T> {
    type Foreign = Vec<T::Foreign>;

    fn resolve<E: From<Invalid>>(
        foreign: &Self::Foreign,
        to: Resource,
        resolve_id: ResolveId<'_, E>,
    ) -> Result<Self, E> {
        foreign.iter().map(|foreign| T::resolve(foreign, to, resolve_id)).collect()
    }

    fn for_ehr<E: From<Missing>>(&self, to: Resource, foreign_id_of: ForeignIdOf<'_, E>) -> Result<Self::Foreign, E> {
        self.iter().map(|id| id.for_ehr(to, foreign_id_of)).collect()
    }
}

/// A part of a record with references, or a list of such parts.
pub trait Part: Sized {
    /// The part in the EHR's form.
    type Ehr;

    /// Converts a part of the EHR to our ids.
    fn resolve<E: From<Invalid>>(ehr: &Self::Ehr, resolve_id: ResolveId<'_, E>) -> Result<Self, E>;
    /// Converts the part to foreign ids.
    fn for_ehr<E: From<Missing>>(&self, foreign_id_of: ForeignIdOf<'_, E>) -> Result<Self::Ehr, E>;
}

impl<T: Part> Part for Vec<T> {
    type Ehr = Vec<T::Ehr>;

    fn resolve<E: From<Invalid>>(ehr: &Self::Ehr, resolve_id: ResolveId<'_, E>) -> Result<Self, E> {
        ehr.iter().map(|part| T::resolve(part, resolve_id)).collect()
    }

    fn for_ehr<E: From<Missing>>(&self, foreign_id_of: ForeignIdOf<'_, E>) -> Result<Self::Ehr, E> {
        self.iter().map(|part| part.for_ehr(foreign_id_of)).collect()
    }
}
