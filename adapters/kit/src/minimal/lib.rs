//! One EHR behind the adapter contract. Every call runs in a fresh instance, without state from earlier calls.

use adapter_sdk::{Adapter, Description, Fault, Hosting, Page, Receipt, Resource, Write, export_adapter};

struct Ehr;

impl Adapter for Ehr {
    fn describe() -> Result<Description, Fault> {
        Ok(Description {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Cloud,
            // Add the resources and writes that `pull` and `push` support.
            ..Default::default()
        })
    }

    fn pull(resource: Resource, _cursor: Option<String>, _limit: u32) -> Result<Page, Fault> {
        Err(Fault::unsupported(format!("{resource:?} cannot be pulled yet")))
    }

    fn push(_write_key: String, _write: Write) -> Result<Receipt, Fault> {
        Err(Fault::unsupported("nothing can be written yet"))
    }

    fn find(_write_key: String, _write: Write) -> Result<Option<Receipt>, Fault> {
        // `push` never sends anything, so nothing was ever written.
        Ok(None)
    }
}

export_adapter!(Ehr);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_who_it_is() {
        let description = adapter_sdk::testing::Host::new().run(Ehr::describe).expect("no request is made");
        assert_eq!(description.name, env!("CARGO_PKG_NAME"));
    }
}
