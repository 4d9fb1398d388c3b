//! What a handler names in its signature: whose records it reaches, and what it reads of path, parameters and body. All of it is read before
//! the handler runs, and the documentation is written by the same readings.
//!
//! ```ignore
//! pub async fn list(call: Call, AtLocation(location, asked): AtLocation<ListCharges>) -> Answer<Paged<ChargeView<'static>>>
//! pub async fn show(call: Call, Id(id): Id<u64>, InTenant(tenant, ()): InTenant<()>) -> Answer<One<ChargeView<'static>>>
//! ```

use engine::Unmet;
use location::ids::LocationId;
use uuid::Uuid;

use super::{
    call::Call,
    input::Input,
    tenancy::{OpenLocation, Tenant},
};
use crate::{
    http::errors::ApiError,
    values::{
        kinds::{id, long_id, reference::Reference, text, uuid},
        limits::MAX_NAME,
    },
};

/// Parameters and fields of an endpoint.
pub trait FromInput: Sized {
    /// Reads each of them. What is missing or wrong is told by its reading, and an example stands in for it, so that nothing is left unread:
    /// all problems of a request are answered at once, and before anyone sees what was read. What is asked for must not depend on what was
    /// given, since the documentation is written by this function too, with a call that holds nothing.
    fn from_input(input: &mut Input) -> Self;

    /// The failure for a record that the body names and that does not exist.
    fn unknown(Reference { resource, id }: Reference, _: Option<LocationId>) -> ApiError {
        Unmet::NotFound { resource, id }.into()
    }
}

impl FromInput for () {
    fn from_input(_: &mut Input) {}
}

/// Parameters and fields of an endpoint where each is read for itself: their type, and how they are read.
macro_rules! reads {
    ($name:ident |$input:ident| { $($field:ident: $type:ty = $reading:expr,)+ }) => {
        pub(crate) struct $name {
            $($field: $type,)+
        }

        impl $crate::access::arguments::FromInput for $name {
            fn from_input($input: &mut $crate::access::input::Input) -> $name {
                $name { $($field: $reading,)+ }
            }
        }
    };
}

pub(crate) use reads;

/// An endpoint that asks for nothing but `include[]`: its type, and what may be named.
macro_rules! included {
    ($name:ident: $known:expr) => {
        pub(crate) struct $name {
            include: Vec<&'static str>,
        }

        impl $crate::access::arguments::FromInput for $name {
            fn from_input(input: &mut $crate::access::input::Input) -> $name {
                $name { include: input.includes($known) }
            }
        }
    };
}

pub(crate) use included;

/// Parts of the path.
pub trait FromPath: Sized {
    fn from_path(call: &Call) -> Result<Self, ApiError>;
}

/// `{id}`.
pub struct Id<T>(pub T);

macro_rules! parts {
    ($($part:ty: $name:literal $about:literal $kind:expr, $as:path;)*) => {$(
        impl FromPath for $part {
            fn from_path(call: &Call) -> Result<Self, ApiError> {
                call.path($name, $kind.about($about)).map($as)
            }
        }
    )*};
}

pub struct AdapterName(pub String);
pub struct AlertId(pub u64);
pub struct DeliveryId(pub Uuid);
pub struct FormId(pub Uuid);
pub struct StoreKeyName(pub String);
pub struct WorkstationId(pub Uuid);

parts! {
    Id<u32>: "id" "The id of the record." id(), Id;
    Id<u64>: "id" "The id of the record." long_id(), Id;
    Id<Uuid>: "id" "The id of the record." uuid(), Id;
    AdapterName: "adapter" "The name of an adapter in the configuration." text(MAX_NAME), AdapterName;
    AlertId: "alert_id" "The alert." long_id(), AlertId;
    DeliveryId: "delivery_id" "The delivery." uuid(), DeliveryId;
    FormId: "uuid" "The form schema." uuid(), FormId;
    StoreKeyName: "store_key" "The id of a key of the store." text(MAX_NAME), StoreKeyName;
    WorkstationId: "workstation" "The workstation." uuid(), WorkstationId;
}

impl<A: FromPath, B: FromPath> FromPath for (A, B) {
    fn from_path(call: &Call) -> Result<(A, B), ApiError> {
        Ok((A::from_path(call)?, B::from_path(call)?))
    }
}

/// Whose records an endpoint reaches, and what it reads for that.
pub trait FromCall: Sized {
    fn from_call(call: &mut Call) -> Result<Self, ApiError>;
}

/// Of no institution in particular.
pub struct Anywhere<T>(pub T);

/// A location, named by `subdomain` and `location_id`.
pub struct AtLocation<T>(pub OpenLocation, pub T);

/// The same; the location may also be named in the body.
pub struct AtLocationOfBody<T>(pub OpenLocation, pub T);

/// An institution, named by `subdomain`.
pub struct InTenant<T>(pub Tenant, pub T);

/// An institution; `location_id` narrows, and a caller who names no institution in the query is refused access (specification 5.7).
pub struct InLocationsOfQuery<T>(pub Tenant, pub Option<OpenLocation>, pub T);

/// An institution; `location_id` narrows.
pub struct InLocations<T>(pub Tenant, pub Option<OpenLocation>, pub T);

/// `subdomain` narrows: one institution, or all of the key.
pub struct InTenants<T>(pub Vec<Tenant>, pub T);

/// The location that is the `{id}` of the path; `subdomain` narrows.
pub struct OfLocation<T>(pub OpenLocation, pub T);

impl<T: FromInput> FromCall for OfLocation<T> {
    fn from_call(call: &mut Call) -> Result<Self, ApiError> {
        let Id(id) = Id::<u32>::from_path(call)?;
        let InTenants(tenants, asked) = InTenants::from_call(call)?;
        Ok(OfLocation(call.location_of_any(&tenants, LocationId(id))?, asked))
    }
}

macro_rules! scopes {
    ($($scope:ident($($part:ident),+) $reading:ident;)*) => {$(
        impl<T: FromInput> FromCall for $scope<T> {
            fn from_call(call: &mut Call) -> Result<Self, ApiError> {
                let read = call.$reading(T::from_input);
                let ($($part),+) = read.map_err(|wrong| call.with_unknown(wrong, T::unknown))?;
                Ok($scope($($part),+))
            }
        }
    )*};
}

impl<T: FromInput> FromCall for Anywhere<T> {
    fn from_call(call: &mut Call) -> Result<Self, ApiError> {
        call.anywhere(T::from_input).map(Anywhere)
    }
}

scopes! {
    AtLocation(location, asked) at_location;
    AtLocationOfBody(location, asked) at_location_of_body;
    InTenant(tenant, asked) in_tenant;
    InLocationsOfQuery(tenant, location, asked) in_locations_of_query;
    InLocations(tenant, location, asked) in_locations;
    InTenants(tenants, asked) in_tenants;
}
