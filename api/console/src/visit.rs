//! The request of a signed-in operator: the operator, the session and the query.

use std::{future::Future, net::IpAddr, rc::Rc, sync::Arc};

use actix_web::{
    FromRequest, HttpMessage, HttpRequest, HttpResponse,
    dev::Payload,
    http::{Method, StatusCode, header},
    web::{self, Data, Query},
};
use askama::Template;
use endpoints::resources::operators::operator_actions;
use engine::{
    Place,
    origin::{CallKind, Origin, on_behalf_of},
    setup::{Institution, LocationSetup},
};
use framework::{
    access::{access_log::AccessLog, api::Api, audited::AuditCaller, call::ActionContext, operators::Operator},
    http::{context::RequestContext, errors::ApiError},
    values::{role::Role, sessions::OperatorSession},
};
use location::LocationId;

use crate::page::{ConsoleError, PageFrame, html};

pub(super) const COOKIE: &str = "practice_sync_console";
/// Maximum length of a query value in bytes.
const MAX_VALUE: usize = 300;
/// Retry delay in seconds after an audit entry could not be written because the disk is full or failed.
const RETRY_LATER: u64 = 30;

#[derive(Clone)]
pub(super) struct ConsoleRequest {
    pub api: Data<Api>,
    pub operator: Arc<Operator>,
    pub session: OperatorSession,
    pub client: Option<IpAddr>,
    request_id: String,
    pub query: Vec<(String, String)>,
    /// Patient records shown by the page or changed by the action, for the audit trail.
    shown: AccessLog,
}

impl FromRequest for ConsoleRequest {
    type Error = ConsoleError;
    type Future = std::future::Ready<Result<ConsoleRequest, ConsoleError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        std::future::ready(ConsoleRequest::from_http(request))
    }
}

impl ConsoleRequest {
    fn from_http(request: &HttpRequest) -> Result<ConsoleRequest, ConsoleError> {
        let api = request.app_data::<Data<Api>>().cloned().ok_or_else(ApiError::internal)?;
        // A form is not resubmitted after signing in.
        let page = if request.method() == Method::GET { request.uri().to_string() } else { "/console".to_owned() };
        let nobody = || ConsoleError::SignIn { to: page.clone() };
        let now = api.engine.now();
        let session = cookie(request).and_then(|cookie| api.sessions.read(cookie, now)).ok_or_else(nobody)?;
        let operator = api.operators().by_id(&session.operator).cloned().ok_or_else(nobody)?;
        operator.used(now);
        let context = request.extensions().get::<Rc<RequestContext>>().cloned();
        if let Some(context) = &context {
            let _ = context.key.set(operator.name.clone());
        }
        let id = context.as_deref().map_or("", RequestContext::request_id);
        let query = Query::<Vec<(String, String)>>::from_query(request.query_string());
        let query = query.map(Query::into_inner).unwrap_or_default();
        let (client, request_id) = (api.client(request), id.to_owned());
        Ok(ConsoleRequest { client, api, operator, session, request_id, query, shown: AccessLog::default() })
    }

    /// Returns `true` if the operator of the session no longer exists.
    pub(super) fn is_over(&self) -> bool {
        self.api.operators().by_id(&self.session.operator).is_none()
    }

    pub(crate) fn may(&self, role: Role) -> bool {
        self.operator.role >= role
    }

    pub(crate) fn needs(&self, role: Role) -> Result<(), ConsoleError> {
        if self.may(role) { Ok(()) } else { Err(ConsoleError::Role(role)) }
    }

    pub(super) fn sees_patients(&self) -> bool {
        self.may(Role::Operator)
    }

    /// Returns the value of a query parameter, or `None` if it is missing, empty or too long.
    pub(super) fn query_value(&self, name: &str) -> Option<&str> {
        let (_, value) = self.query.iter().find(|(known, _)| known == name)?;
        Some(value.trim()).filter(|value| !value.is_empty() && value.len() <= MAX_VALUE)
    }

    pub(super) fn frame(&self, section: &'static str, title: impl Into<String>) -> PageFrame {
        PageFrame {
            title: title.into(),
            section,
            name: self.operator.name.clone(),
            role: self.operator.role.name(),
            csrf_token: self.session.csrf_token.clone(),
            sees_patients: self.sees_patients(),
            live: None,
            done: self.query_value("done").and_then(operator_actions::message),
        }
    }

    pub(crate) fn note(&self, what: &'static str, record: &'static str, id: u64) {
        self.shown.audit(what, record, id);
    }

    pub(crate) fn action(&self) -> ActionContext<'_> {
        ActionContext { api: &self.api, shown: &self.shown }
    }

    /// Sets the location whose records the page shows.
    pub(crate) fn about(&self, location: &LocationSetup) {
        self.shown.set_scope(location.institution, Some(location.id));
    }

    pub(super) fn about_institution(&self, institution: &Institution) {
        self.shown.set_scope(institution.id, None);
    }

    /// Returns a location of the configuration, regardless of its status.
    pub(crate) fn location(&self, id: LocationId) -> Result<(Arc<LocationSetup>, Arc<Institution>), ConsoleError> {
        let missing = || ConsoleError::from(ApiError::not_found(format!("Location {id}")));
        let directory = self.api.directory();
        let location = directory.location(id).ok_or_else(missing)?;
        let institution = directory.institution(location.institution).ok_or_else(missing)?;
        Ok((location.clone(), institution.clone()))
    }

    /// Returns a location that is served by this process.
    pub(super) fn local_location(
        &self,
        id: LocationId,
    ) -> Result<(Arc<LocationSetup>, Arc<Institution>), ConsoleError> {
        let (location, institution) = self.location(id)?;
        match self.api.engine.place(institution.id) {
            Place::Mine => Ok((location, institution)),
            Place::Elsewhere(node) => {
                let message = format!("The location is served by the node {node}; the console of that node shows it.");
                Err(ApiError::refused(message).into())
            }
            Place::Unsettled => Err(ApiError::unavailable(1).into()),
        }
    }

    /// Returns a page after the audit trail contains the patient records that the page shows.
    pub(crate) async fn show(&self, route: &str, page: &impl Template) -> Result<HttpResponse, ConsoleError> {
        self.audited(route, html(StatusCode::OK, page)).await
    }

    pub(crate) async fn audited(&self, route: &str, answer: HttpResponse) -> Result<HttpResponse, ConsoleError> {
        let audited = self.api.audited(self.caller(route).as_ref(), None, Ok(answer)).await;
        audited.map_err(|_| ConsoleError::Api(ApiError::unavailable(RETRY_LATER)))
    }

    /// Returns `None` without an audit trail.
    fn caller(&self, route: &str) -> Option<AuditCaller> {
        let ConsoleRequest { api, client, request_id, shown, .. } = self;
        let caller =
            || AuditCaller::at_console(&self.operator.name, *client, request_id, route.to_owned(), shown.clone());
        api.audit.is_some().then(caller)
    }

    /// Performs a change and responds once its audit entry is durable, or certain to follow.
    pub(crate) async fn change<F>(&self, route: &str, acting: F) -> Result<HttpResponse, ConsoleError>
    where
        F: Future<Output = Result<HttpResponse, ConsoleError>>,
    {
        let caller = self.caller(route);
        let change = caller.as_ref().and_then(AuditCaller::changing);
        let origin = Origin::from(self.request_id.as_str()).called_by(CallKind::Other).changing(change.clone());
        let answer = on_behalf_of(Some(origin), acting).await?;
        let audited = self.api.audited(caller.as_ref(), change.as_deref(), Ok(answer)).await;
        audited.map_err(|_| ConsoleError::Api(ApiError::unavailable(RETRY_LATER)))
    }
}

fn cookie(request: &HttpRequest) -> Option<&str> {
    let lines = request.headers().get_all(header::COOKIE).filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

/// Runs a read on a blocking thread, because the listener has only one worker.
pub(super) async fn read_blocking<T, R>(
    visit: &ConsoleRequest,
    read: impl FnOnce(ConsoleRequest) -> R + Send + 'static,
) -> Result<T, ConsoleError>
where
    T: Send + 'static,
    R: Future<Output = Result<T, ConsoleError>>,
{
    let (visit, runtime) = (visit.clone(), tokio::runtime::Handle::current());
    let read = web::block(move || runtime.block_on(read(visit))).await;
    read.map_err(|_| {
        tracing::error!("console page panicked");
        ConsoleError::Api(ApiError::internal())
    })?
}
