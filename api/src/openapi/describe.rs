//! What an endpoint expects of its callers, told by the code that reads it: a handler is run with a call that holds nothing, notes
//! every name it is asked for, and ends the handler before it does anything.

use std::{
    pin::pin,
    task::{Context, Waker},
};

use crate::{
    access::call::Call,
    http::describe::{Described, Notes},
    routes::route::Route,
    values::versions::Version,
};

/// Runs a handler as far as its `in_*` call. A handler that waits for anything before that is wrong, and told so by `read`.
pub(super) fn describe(route: &'static Route, version: Version) -> Described {
    let notes = Notes::default();
    if let Some(answering) = route.answer(Call::describing(route, version, notes.clone())) {
        let mut answering = pin!(answering);
        // Its answer is nothing but the end of the description.
        let _ = answering.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    notes.take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{http::endpoint::Access, routes::table::TABLE};

    #[test]
    fn every_route_tells_what_it_reads() {
        for route in TABLE.iter().filter(|route| route.access != Access::Anyone) {
            for version in route.versions {
                let told = describe(route, *version);
                let endpoint = route.method_and_path();
                assert!(told.read, "{endpoint} waits for something before its `in_*` call, or has none");
                for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                    let known = told.path.iter().any(|expected| expected.name == name);
                    assert!(known, "{endpoint}: read {{{name}}} with `call.path` before the `in_*` call");
                }
                for expected in told.path.iter().chain(&told.query).chain(&told.body) {
                    let cursor = ["start_cursor", "end_cursor"].contains(&expected.name.as_str());
                    assert!(cursor || expected.example_reads, "{endpoint}: {} cannot read its example", expected.name);
                }
            }
        }
    }
}
