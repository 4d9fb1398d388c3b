//! Extractors for handler arguments: path, and the input of the call (`call`) after the scope (`tenancy`) if the
//! endpoint has one. They run before the handler, and also produce the documentation.
//!
//! ```ignore
//! async fn list(
//!     call: ApiCall,
//!     AtLocation(location, list): AtLocation<ListCharges>,
//! ) -> Answer<Paged<ChargeView<'static>>>
//!
//! async fn show(
//!     call: ApiCall,
//!     Id(id): Id<u64>,
//!     tenant: Tenant,
//! ) -> Answer<One<ChargeView<'static>>>
//! ```

use engine::webhooks::model::{EndpointId, SubscriptionId};
use uuid::Uuid;

use super::call::{ApiCall, FromInput};
use crate::{
    http::errors::ApiError,
    values::{
        kinds::{id, long_id, text, uuid},
        limits::MAX_NAME,
    },
};

/// Path parameters of an endpoint.
pub trait FromPath: Sized {
    fn from_path(call: &ApiCall) -> Result<Self, ApiError>;
}

/// The path parameter `{id}`.
pub struct Id<T>(pub T);

macro_rules! parts {
    ($($part:ty: $name:literal $about:literal $kind:expr, $as:expr;)*) => {$(
        impl FromPath for $part {
            fn from_path(call: &ApiCall) -> Result<Self, ApiError> {
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
    Id<u32>: "id" "Id of the record." id(), Id;
    Id<u64>: "id" "Id of the record." long_id(), Id;
    Id<Uuid>: "id" "Id of the record." uuid(), Id;
    AdapterName: "adapter" "Name of an adapter in the configuration." text(MAX_NAME), AdapterName;
    AlertId: "alert_id" "Id of the alert." long_id(), AlertId;
    DeliveryId: "delivery_id" "Id of the delivery." uuid(), DeliveryId;
    FormId: "uuid" "Id of the form." uuid(), FormId;
    StoreKeyName: "store_key" "Id of a key of the store." text(MAX_NAME), StoreKeyName;
    EndpointId: "id" "Id of the record." id(), |id: u32| EndpointId(id as i32);
    SubscriptionId: "subscription_id" "Id of the subscription." id(), |id: u32| SubscriptionId(id as i32);
    WorkstationId: "workstation" "Id of the workstation." uuid(), WorkstationId;
}

impl<A: FromPath, B: FromPath> FromPath for (A, B) {
    fn from_path(call: &ApiCall) -> Result<(A, B), ApiError> {
        Ok((A::from_path(call)?, B::from_path(call)?))
    }
}

/// Scope of an endpoint, with the input that determines it.
pub trait FromCall: Sized {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError>;
}

/// The path parameters of an endpoint without an institution and without input.
impl<P: FromPath> FromCall for P {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
        let path = P::from_path(call)?;
        call.anywhere(|_| path)
    }
}

/// Scope without an institution.
pub struct Anywhere<T>(pub T);

impl<T: FromInput> FromCall for Anywhere<T> {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
        call.anywhere(T::from_input).map(Anywhere)
    }
}
