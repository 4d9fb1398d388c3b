//! The indexes of the contract's exports in a component.

use wasmtime::component::{ComponentExportIndex, InstancePre};

use super::{imports::CallState, manifest::EHR_INTERFACE};

/// The indexes of the contract's exports in a component.
pub(crate) struct Exports {
    pub describe: ComponentExportIndex,
    pub pull: ComponentExportIndex,
    pub push: ComponentExportIndex,
    pub find: ComponentExportIndex,
}

impl Exports {
    pub(crate) fn from_instance_pre(pre: &InstancePre<CallState>) -> wasmtime::Result<Exports> {
        let missing = |name: &str| wasmtime::Error::msg(format!("{name} is missing"));
        let component = pre.component();
        let ehr = component.get_export_index(None, EHR_INTERFACE).ok_or_else(|| missing(EHR_INTERFACE))?;
        let export = |name| component.get_export_index(Some(&ehr), name).ok_or_else(|| missing(name));
        Ok(Exports {
            describe: export("describe")?,
            pull: export("pull")?,
            push: export("push")?,
            find: export("find")?,
        })
    }
}
