//! A fresh instance of an adapter, and the contract's four calls to it.
//!
//! The generated `Adapter::instantiate_async` compares the types of all four exports on every instance. Those are most
//! of the contract's types. An instance serves one call, so only that call's types are compared here. `trial` compares
//! all of them once.

use std::sync::Arc;

use wasmtime::{
    Store,
    component::{self, TypedFunc},
};

use super::{
    Adapter,
    bindings::exports::practice_sync::ehr::ehr::{Description, Fault, Page, Receipt, Resource, Write},
    imports::CallState,
};

/// The answer of a guest; `Err` if it traps.
type GuestResult<T> = wasmtime::Result<Result<T, Fault>>;
type Func<Arguments, T> = wasmtime::Result<TypedFunc<Arguments, (Result<T, Fault>,)>>;

/// An instance for a single call.
pub(crate) struct Instance {
    adapter: Arc<Adapter>,
    instance: component::Instance,
    store: Store<CallState>,
}

impl Instance {
    /// Instantiates the adapter with all limits of the call.
    pub(crate) async fn new(adapter: Arc<Adapter>, state: CallState) -> wasmtime::Result<Instance> {
        let copy_limit = state.copy_limit();
        let mut store = Store::new(&adapter.host.engine, state);
        store.limiter(|state| &mut state.store_limits);
        store.set_hostcall_fuel(copy_limit);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        let instance = adapter.pre.instantiate_async(&mut store).await?;
        Ok(Instance { adapter, instance, store })
    }

    /// Compares the types of all exports with the contract's.
    pub(crate) fn check_types(mut self) -> wasmtime::Result<()> {
        self.describe_func()?;
        self.pull_func()?;
        self.push_func()?;
        self.find_func()?;
        Ok(())
    }

    pub(crate) async fn describe(mut self) -> GuestResult<Description> {
        Ok(self.describe_func()?.call_async(&mut self.store, ()).await?.0)
    }

    pub(crate) async fn pull(mut self, resource: Resource, cursor: Option<&str>, limit: u32) -> GuestResult<Page> {
        Ok(self.pull_func()?.call_async(&mut self.store, (resource, cursor, limit)).await?.0)
    }

    pub(crate) async fn push(mut self, write_key: &str, write: &Write) -> GuestResult<Receipt> {
        Ok(self.push_func()?.call_async(&mut self.store, (write_key, write)).await?.0)
    }

    pub(crate) async fn find(mut self, write_key: &str, write: &Write) -> GuestResult<Option<Receipt>> {
        Ok(self.find_func()?.call_async(&mut self.store, (write_key, write)).await?.0)
    }

    fn describe_func(&mut self) -> Func<(), Description> {
        self.instance.get_typed_func(&mut self.store, self.adapter.exports.describe)
    }

    fn pull_func<'a>(&mut self) -> Func<(Resource, Option<&'a str>, u32), Page> {
        self.instance.get_typed_func(&mut self.store, self.adapter.exports.pull)
    }

    fn push_func<'a>(&mut self) -> Func<(&'a str, &'a Write), Receipt> {
        self.instance.get_typed_func(&mut self.store, self.adapter.exports.push)
    }

    fn find_func<'a>(&mut self) -> Func<(&'a str, &'a Write), Option<Receipt>> {
        self.instance.get_typed_func(&mut self.store, self.adapter.exports.find)
    }
}
