//! One endpoint as the table of routes declares it: what the code cannot say of itself. Dispatch, grants, versions, rate limits and
//! the documentation all read it. Its handler is in `routes::route`.

use actix_web::http::Method;
use schemars::{Schema, SchemaGenerator};

use super::context::EndpointLabel;
use crate::values::{role::Role, versions::Version};

/// Registers a type with a document's schemas and refers to it.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(crate) const ALL_VERSIONS: &[Version] = &[Version::V2_2_2, Version::V3_0_0, Version::V3_1_0];

pub struct Endpoint {
    pub method: Method,
    pub path: &'static str,
    pub summary: &'static str,
    /// Of the specification.
    pub section: &'static str,
    /// Under which the documentation groups it.
    pub group: Group,
    pub access: Access,
    pub financial: bool,
    /// The field of its records that holds an amount, which keys without the grant `financial` are not shown.
    pub amounts: Option<&'static str>,
    /// What an operator's token has to have at least; None: the endpoint is for clients.
    pub role: Option<Role>,
    pub versions: &'static [Version],
    pub status: u16,
    /// Another status of success, with the same view.
    pub or_status: Option<u16>,
    pub success: Success,
    /// Statuses of failure beyond those every endpoint of its sort has.
    pub failures: &'static [u16],
    /// What a failure with a status of `failures` looks like where it is not the envelope.
    pub failure_view: Option<SchemaOf>,
    /// Whatever body comes is left unread.
    pub body_unread: bool,
    /// The body is a component of an adapter.
    pub takes_component: bool,
    /// It changes nothing, and may be much work.
    pub reads: bool,
    /// What it shows changes without any record of the institution changing.
    pub fresh: bool,
    /// What the summary has no room for.
    pub notes: &'static str,
    /// Instead of the name that method and path give the operation.
    pub operation: Option<&'static str>,
}

/// Endpoints that the documentation shows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: &'static str,
    pub about: &'static str,
}

/// Who may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Operators' machines and readers of the documentation: no version, no token, no User-Agent rule.
    Anyone,
    /// The API key itself.
    ApiKey,
    Token,
    /// Who knows a pairing code: no version and no token.
    Code,
}

/// At which listener an endpoint is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServedTo {
    Clients,
    Operators,
    Everyone,
}

/// Probes, the documentation, and what both ask: how reading and writing stand, and a simulated EHR's switches.
const EVERYONES: [&str; 7] = [
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/locations/{id}/simulated_ehr",
    "/sync_status",
    "/write_requests",
    "/write_requests/{id}",
];

/// What success looks like.
#[derive(Clone, Copy)]
pub enum Success {
    /// A page of a list, by cursor or, in v2.2.2, by number.
    Page(SchemaOf),
    /// A whole list, with its count.
    List(SchemaOf),
    One(SchemaOf),
    /// As it is, without envelope.
    Plain(SchemaOf),
    Empty,
    /// The endpoint always fails.
    Never,
}

impl Endpoint {
    pub(crate) fn new(method: Method, path: &'static str, access: Access) -> Endpoint {
        Endpoint {
            reads: method == Method::GET,
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
            fresh: false,
            notes: "",
            operation: None,
        }
    }

    pub(crate) fn served_to(&self) -> ServedTo {
        match self.path {
            "/metrics" => ServedTo::Operators,
            _ if self.role.is_some() => ServedTo::Operators,
            path if EVERYONES.contains(&path) || path == "/" || path.starts_with("/docs") => ServedTo::Everyone,
            _ => ServedTo::Clients,
        }
    }

    pub(crate) fn label(&self) -> EndpointLabel {
        EndpointLabel { method: self.method_name(), path: self.path }
    }

    /// Whether its pages may be cached for clients that poll.
    pub(crate) fn is_cached(&self) -> bool {
        matches!(self.success, Success::Page(_)) && !self.fresh
    }

    /// Whether its answers have a tag, which a client may send along with the next call.
    pub(crate) fn is_conditional(&self) -> bool {
        self.method == Method::GET && self.access == Access::Token
    }

    /// Whether the limits of API keys count it.
    pub(crate) fn is_limited(&self) -> bool {
        matches!(self.access, Access::ApiKey | Access::Token)
    }

    pub(crate) fn method_name(&self) -> &'static str {
        method_name(&self.method)
    }

    /// As rate limits name it: `GET /appointments`.
    pub fn method_and_path(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The name under which v2.2.2 nests this list: that of patients, and no other.
    pub(crate) fn nested_as(&self) -> Option<&'static str> {
        (self.path == "/patients").then_some("patients")
    }

    /// Whether an Idempotency-Key counts: POSTs that create something.
    pub(crate) fn takes_key(&self) -> bool {
        self.method == Method::POST && self.access == Access::Token && matches!(self.status, 201 | 202)
    }

    pub(crate) fn has_body(&self) -> bool {
        let reads = matches!(self.access, Access::Token | Access::Code);
        reads && self.method != Method::GET && !self.body_unread
    }

    /// `list_patient_alerts`, `update_working_hour`.
    pub(crate) fn operation_id(&self) -> String {
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

/// For labels. The table has these methods and no others.
pub(crate) fn method_name(method: &Method) -> &'static str {
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
