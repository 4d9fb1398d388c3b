//! Declaration of an endpoint in the table of routes, as read by dispatch, grants, versions, rate limits and
//! documentation. The handler is in `routes::route`.

use actix_web::http::Method;
use schemars::{Schema, SchemaGenerator};

use super::context::EndpointLabel;
use crate::values::{role::Role, versions::Version};

/// Registers a type with a document's schemas and returns a reference.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub const ALL_VERSIONS: &[Version] = &[Version::V2_2_2, Version::V3_0_0, Version::V3_1_0];

pub struct Endpoint {
    pub method: Method,
    pub path: &'static str,
    /// Name in rate limits and in the audit trail: `GET /appointments`.
    pub method_and_path: String,
    pub summary: &'static str,
    /// Section of the specification.
    pub section: &'static str,
    pub group: Group,
    pub access: Access,
    pub financial: bool,
    /// Amount field of its records, hidden from keys without the grant `financial`.
    pub amounts: Option<&'static str>,
    /// Minimum operator role; `None` for client endpoints.
    pub role: Option<Role>,
    pub versions: &'static [Version],
    pub status: u16,
    /// Alternative success status with the same view.
    pub or_status: Option<u16>,
    pub success: Success,
    /// Failure statuses in addition to the common ones.
    pub failures: &'static [u16],
    /// Schema of all failures if they have more fields than the envelope.
    pub failure_view: Option<SchemaOf>,
    /// Ignores the body.
    pub body_unread: bool,
    /// Takes an adapter component as body.
    pub takes_component: bool,
    /// Changes nothing and may take long.
    pub reads: bool,
    /// Description in addition to the summary.
    pub notes: &'static str,
    /// Operation name in place of the one derived from method and path.
    pub operation: Option<&'static str>,
}

/// Group of endpoints in the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: &'static str,
    pub about: &'static str,
}

/// Required credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Probes and documentation: no version, token or User-Agent rule.
    Anyone,
    /// The API key itself.
    ApiKey,
    Token,
    /// Pairing code: no version and no token.
    Code,
}

/// Endpoints at both listeners: probes, documentation, sync and write status, and simulated EHRs.
const EVERYONES: [&str; 7] = [
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/locations/{id}/simulated_ehr",
    "/sync_status",
    "/write_requests",
    "/write_requests/{id}",
];

/// Form of a successful response.
#[derive(Clone, Copy)]
pub enum Success {
    /// Page of a list, by cursor or, in v2.2.2, by number.
    Page(SchemaOf),
    /// Whole list with its count.
    List(SchemaOf),
    One(SchemaOf),
    /// Body without envelope.
    Plain(SchemaOf),
    /// Stream of lines, each a JSON object of the schema.
    Lines(SchemaOf),
    Empty,
    /// The endpoint always fails.
    Never,
}

impl Endpoint {
    pub fn new(method: Method, path: &'static str, access: Access) -> Endpoint {
        Endpoint {
            reads: method == Method::GET,
            method_and_path: format!("{method} {path}"),
            method,
            path,
            summary: "",
            section: "",
            group: Group { name: "", about: "" },
            access,
            financial: false,
            amounts: None,
            role: None,
            versions: ALL_VERSIONS,
            status: 200,
            or_status: None,
            success: Success::Empty,
            failures: &[],
            failure_view: None,
            body_unread: false,
            takes_component: false,
            notes: "",
            operation: None,
        }
    }

    /// Returns `true` if the endpoint exists at the operators' listener, or at the clients' listener.
    pub fn is_served_to(&self, operators: bool) -> bool {
        match self.path {
            "/metrics" => operators,
            _ if self.role.is_some() => operators,
            path => EVERYONES.contains(&path) || path == "/" || path.starts_with("/docs") || !operators,
        }
    }

    pub fn label(&self) -> EndpointLabel {
        EndpointLabel { method: self.method_name(), path: self.path }
    }

    /// Returns `true` if responses have an entity tag for conditional requests.
    pub fn is_conditional(&self) -> bool {
        self.method == Method::GET && self.access == Access::Token && !self.is_stream()
    }

    /// Returns `true` if the response is read and sent in parts. The handler then limits its reads itself.
    pub fn is_stream(&self) -> bool {
        matches!(self.success, Success::Lines(_))
    }

    /// Returns `true` if calls count against the limits of API keys.
    pub fn is_limited(&self) -> bool {
        matches!(self.access, Access::ApiKey | Access::Token)
    }

    pub fn method_name(&self) -> &'static str {
        method_name(&self.method)
    }

    /// Returns the key under which v2.2.2 nests the list. Only patients have one.
    pub fn nested_as(&self) -> Option<&'static str> {
        (self.path == "/patients").then_some("patients")
    }

    /// Returns `true` if the endpoint accepts an Idempotency-Key: POSTs that create records.
    pub fn takes_key(&self) -> bool {
        self.method == Method::POST && self.access == Access::Token && matches!(self.status, 201 | 202)
    }

    pub fn has_body(&self) -> bool {
        let reads = matches!(self.access, Access::Token | Access::Code);
        reads && self.method != Method::GET && !self.body_unread
    }

    /// Returns the names and values of the parameters of a request's path.
    pub fn parameters<'a>(&self, path: &'a str) -> impl Iterator<Item = (&'static str, &'a str)> {
        let names = self.path.split('/').map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
        names.zip(path.split('/')).filter_map(|(name, value)| Some((name?, value)))
    }

    /// Returns a name such as `list_patient_alerts` or `update_working_hour`.
    pub fn operation_id(&self) -> String {
        if let Some(name) = self.operation {
            return name.to_owned();
        }
        let verb = match (self.method.as_str(), &self.success) {
            ("GET", Success::Page(_) | Success::List(_)) => "list",
            ("GET", _) => "get",
            ("PATCH", _) => "update",
            ("DELETE", _) => "delete",
            _ => "create",
        };
        let segments: Vec<&str> = self.path.split('/').filter(|segment| !segment.is_empty()).collect();
        let mut words = vec![verb.to_owned()];
        for (at, segment) in segments.iter().enumerate().filter(|(_, segment)| !segment.starts_with('{')) {
            let one = segments.get(at + 1).is_some_and(|next| next.starts_with('{'))
                || (at + 1 == segments.len() && verb == "create");
            words.push(if one { singular(segment) } else { (*segment).to_owned() });
        }
        words.join("_")
    }
}

/// Returns a static label for the methods that the table uses.
pub fn method_name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "other",
    }
}

fn singular(noun: &str) -> String {
    match noun.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => noun.strip_suffix('s').unwrap_or(noun).to_owned(),
    }
}
