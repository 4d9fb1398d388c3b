//! The expected input of an endpoint. The arguments of its handler are read from an empty call, which records each name
//! that is read. The handler itself is not run.

use framework::{
    access::call::ApiCall,
    http::describe::{Described, Notes},
    values::versions::Version,
};

use crate::routes::route::Route;

pub(super) fn describe(route: &'static Route, version: Version) -> Described {
    let notes = Notes::default();
    route.describe(ApiCall::describing(route, version, notes.clone()));
    notes.take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::table::TABLE;
    use framework::http::endpoint::Access;

    #[test]
    fn every_route_describes_its_input() {
        for route in TABLE.iter().filter(|route| route.access != Access::Anyone) {
            for version in route.versions {
                let told = describe(route, *version);
                let endpoint = route.method_and_path();
                assert!(told.read, "{endpoint}: custom arguments must end with one of `access::arguments`");
                for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                    let known = told.path.iter().any(|expected| expected.name == name);
                    assert!(known, "{endpoint}: the handler has no argument that reads {{{name}}}");
                }
                for expected in told.path.iter().chain(&told.query).chain(&told.body) {
                    let cursor = ["start_cursor", "end_cursor"].contains(&expected.name.as_str());
                    assert!(cursor || expected.example_reads, "{endpoint}: {} cannot read its example", expected.name);
                }
            }
        }
    }
}
