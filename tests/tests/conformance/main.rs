//! Every adapter against its EHR, by the one suite.
#![allow(clippy::unwrap_used)]

mod sandbox;

use tests::conformance::run;

#[actix::test]
async fn the_sandbox_adapter_conforms() {
    run(sandbox::Sandbox::start()).await;
}
