//! The route map: finds the routes of a request's path.

use std::{collections::BTreeMap, str::Split};

use super::route::Route;

/// Key of the child for path parameters.
const PARAMETER: &str = "{}";

/// The routes of a listener, as a tree of path segments.
#[derive(Default)]
pub(super) struct RouteMap {
    children: BTreeMap<&'static str, RouteMap>,
    /// The routes of the path that ends here.
    routes: Vec<&'static Route>,
}

impl RouteMap {
    pub(super) fn new(routes: impl IntoIterator<Item = &'static Route>) -> RouteMap {
        let mut map = RouteMap::default();
        for route in routes {
            let mut node = &mut map;
            for segment in route.path.split('/') {
                let key = if segment.starts_with('{') { PARAMETER } else { segment };
                node = node.children.entry(key).or_default();
            }
            node.routes.push(route);
        }
        map
    }

    /// Returns the routes of a path, or `None` if it has none. Literal segments take precedence over parameters, and a
    /// parameter is never empty.
    pub(super) fn find(&self, path: &str) -> Option<&[&'static Route]> {
        self.find_below(path.split('/'))
    }

    fn find_below(&self, mut segments: Split<'_, char>) -> Option<&[&'static Route]> {
        let Some(segment) = segments.next() else {
            return Some(self.routes.as_slice()).filter(|routes| !routes.is_empty());
        };
        let literal = self.children.get(segment).and_then(|child| child.find_below(segments.clone()));
        literal.or_else(|| self.children.get(PARAMETER).filter(|_| !segment.is_empty())?.find_below(segments))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::ptr;

    use actix_web::{HttpRequest, HttpResponse};
    use framework::http::errors::ApiError;

    use super::*;
    use crate::routes::{route::open, table::TABLE};

    async fn ok(_: HttpRequest) -> Result<HttpResponse, ApiError> {
        Ok(HttpResponse::Ok().finish())
    }

    fn found(map: &RouteMap, path: &str) -> Option<&'static str> {
        map.find(path).map(|routes| routes[0].path)
    }

    #[test]
    fn each_path_of_the_table_finds_its_routes() {
        let map = RouteMap::new(TABLE.iter());
        for route in TABLE.iter() {
            let segment = |it: &'static str| if it.starts_with('{') { "7" } else { it };
            let path = route.path.split('/').map(segment).collect::<Vec<_>>().join("/");
            let routes = map.find(&path).unwrap();
            assert!(routes.iter().any(|it| ptr::eq(*it, route)), "{path}");
            assert!(routes.iter().all(|it| it.path == route.path), "{path}");
        }
    }

    #[test]
    fn literal_segments_take_precedence_over_parameters() {
        let paths = ["/a/{id}", "/a/me", "/a/me/x", "/a/{id}/y", "/a/{id}/{part}"];
        let table = paths.map(|path| open(path, ok));
        let map = RouteMap::new(&*Vec::from(table).leak());
        for (path, expected) in [
            ("/a/7", Some("/a/{id}")),
            ("/a/me", Some("/a/me")),
            ("/a/me/x", Some("/a/me/x")),
            ("/a/me/y", Some("/a/{id}/y")),
            ("/a/me/z", Some("/a/{id}/{part}")),
            ("/a/{}", Some("/a/{id}")),
            ("/a", None),
            ("/a/", None),
            ("/a//y", None),
            ("/a/7/", None),
            ("/a/7/y/z", None),
            ("/A/7", None),
            ("a/7", None),
            ("/", None),
            ("", None),
            ("*", None),
        ] {
            assert_eq!(found(&map, path), expected, "{path}");
        }
    }
}
