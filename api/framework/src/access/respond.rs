//! Successful responses. Their types define status and schema, so that the signature of a handler states both.

use std::{collections::BTreeMap, convert::Infallible, future::Future, marker::PhantomData, sync::Arc};

use actix_web::{
    HttpResponse, HttpResponseBuilder, ResponseError,
    http::{
        StatusCode,
        header::{ContentType, ETAG, HeaderName, HeaderValue},
    },
    web::Bytes,
};
use engine::rows::{Form, Rendered, Row};
use futures_util::stream;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::call::ApiCall;
use crate::http::{
    endpoint::Success,
    errors::ApiError,
    paging::{ListInfo, ListPage, PageInfo},
    response_body::NDJSON,
};

/// Result of a handler.
pub type Answer<A> = Result<A, ApiError>;

/// Response type of a handler, from which the documentation and the table of routes derive status and schema.
pub trait Answers {
    const STATUS: u16;
    fn success() -> Success;
    fn into_response(self) -> HttpResponse;
}

macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident: $success:ident;)*) => {$(
        $(#[$doc])*
        // `fn(V)` is contravariant, so that `V` may name any lifetime although views borrow from the handler's data.
        pub struct $name<V, const STATUS: u16 = 200>(HttpResponse, PhantomData<fn(V)>);

        impl<V: JsonSchema, const STATUS: u16> Answers for $name<V, STATUS> {
            const STATUS: u16 = STATUS;

            fn success() -> Success {
                Success::$success(schema_of::<V>)
            }

            fn into_response(self) -> HttpResponse {
                self.0
            }
        }

        impl<V, const STATUS: u16> Wraps<V> for $name<V, STATUS> {
            const STATUS: u16 = STATUS;

            fn wrap(answer: HttpResponse) -> Self {
                $name(answer, PhantomData)
            }
        }
    )*};
}

answers! {
    /// One record in the envelope.
    One: One;
    /// A page of a list.
    Paged: Page;
    /// A whole list, with its count.
    Listed: List;
    /// Body without envelope.
    Plain: Plain;
    /// Stream of lines of JSON.
    Lines: Lines;
}

/// Status 201 with the new record.
pub type Created<V> = One<V, 201>;
/// Status 202 with the record until the health record system has confirmed it.
pub type Accepted<V> = One<V, 202>;

/// Status 204 without a body.
pub struct Empty(HttpResponse);

impl Answers for Empty {
    const STATUS: u16 = 204;

    fn success() -> Success {
        Success::Empty
    }

    fn into_response(self) -> HttpResponse {
        self.0
    }
}

/// Response of an endpoint that always fails.
pub enum Never {}

impl Answers for Never {
    const STATUS: u16 = 403;

    fn success() -> Success {
        Success::Never
    }

    fn into_response(self) -> HttpResponse {
        match self {}
    }
}

pub fn schema_of<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Schema {
    schemas.subschema_for::<T>()
}

/// Response that contains views of type `V`.
pub trait Wraps<V>: Sized {
    const STATUS: u16;
    fn wrap(answer: HttpResponse) -> Self;
}

impl Wraps<()> for Empty {
    const STATUS: u16 = 204;

    fn wrap(answer: HttpResponse) -> Self {
        Empty(answer)
    }
}

/// The envelope of a successful response (specification 2.1).
#[derive(Serialize)]
struct Envelope<'a, T> {
    code: bool,
    description: Option<&'a str>,
    error: [(); 0],
    data: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_info: Option<&'a PageInfo>,
}

/// Rendered row of a page. `V` is its view.
pub struct RenderedRow<V>(Arc<Rendered>, PhantomData<fn() -> V>);

impl<V> Serialize for RenderedRow<V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.text.serialize(to)
    }
}

/// Estimated size of an envelope without its data.
const ENVELOPE_BYTES: usize = 1_024;
const REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

impl ApiCall {
    /// Responds with one record.
    pub fn show<V: Serialize, A: Wraps<V>>(&self, data: V) -> A {
        self.show_as(A::STATUS, data)
    }

    /// Responds with one record and another success status.
    pub fn show_as<V: Serialize, A: Wraps<V>>(&self, status: u16, data: V) -> A {
        A::wrap(self.build(status).json(self.envelope(data)))
    }

    /// Responds with the created record, or with that of an identical earlier request.
    pub fn created<V: Serialize, A: Wraps<V>>(&self, replay: bool, data: V) -> A {
        let answer = self.build(A::STATUS).json(self.envelope(data));
        A::wrap(if replay { mark_replayed(answer) } else { answer })
    }

    /// Like `created`, for several records.
    pub fn created_all<V: Serialize, A: Wraps<V>>(&self, replay: bool, rows: &[V]) -> A {
        let answer = self.rows(A::STATUS, rows);
        A::wrap(if replay { mark_replayed(answer) } else { answer })
    }

    /// Responds with a list that is not paginated.
    pub fn list<V: Serialize, A: Wraps<V>>(&self, rows: &[V]) -> A {
        A::wrap(self.rows(A::STATUS, rows))
    }

    fn rows<V: Serialize>(&self, status: u16, rows: &[V]) -> HttpResponse {
        self.build(status).json(Envelope { count: Some(rows.len()), ..self.envelope(rows) })
    }

    /// Responds with a page of a list: with cursors, or in v2.2.2 with the total number of records.
    pub fn page<V: Serialize, A: Wraps<V>>(&self, page: &ListPage<V>) -> A {
        A::wrap(match self.page_json(page, 0) {
            Ok(body) => self.json(A::STATUS, body),
            Err(error) => error.error_response(),
        })
    }

    /// Responds with a page of records. `view` renders a record whose rendered row is not in memory. The view may
    /// depend only on the record, and on the version, the directory and the grant of amounts of the call.
    pub fn page_of<'a, D, V: Serialize, A: Wraps<V>>(
        &self,
        page: &'a ListPage<Row<D>>,
        view: impl Fn(&'a D) -> V,
    ) -> Answer<A> {
        let rows = page.rows.iter().map(|row| self.render(row, None, &view)).collect::<Result<_, _>>()?;
        self.page_of_rendered(&ListPage { rows, info: page.info.clone() })
    }

    /// Renders a row like `page_of`. The view may also depend on `also`.
    pub fn render<'a, D, V: Serialize>(
        &self,
        row: &'a Row<D>,
        also: Option<&str>,
        view: impl FnOnce(&'a D) -> V,
    ) -> Result<RenderedRow<V>, ApiError> {
        let form = Form {
            endpoint: self.endpoint.path,
            version: self.version.name(),
            amounts: self.key.grants.financial,
            setup: self.directory.number(),
        };
        let rendered = self.api.engine.lists().index.rows().rendered(row, form, also, view).map_err(not_json)?;
        Ok(RenderedRow(rendered, PhantomData))
    }

    /// Responds with a page of rendered rows. Its entity tag covers the envelope without rows, then the digests of the
    /// rows instead of their text, which was hashed when it was rendered.
    pub fn page_of_rendered<V, A: Wraps<V>>(&self, page: &ListPage<RenderedRow<V>>) -> Answer<A> {
        let bytes = page.rows.iter().map(|row| row.0.text.get().len() + 1).sum();
        let mut answer = self.json(A::STATUS, self.page_json(page, bytes)?);
        let without_rows: ListPage<()> = ListPage { rows: Vec::new(), info: page.info.clone() };
        let mut tagged = self.page_json(&without_rows, size_of::<u128>() * page.rows.len())?;
        page.rows.iter().for_each(|row| tagged.extend_from_slice(&row.0.digest.to_be_bytes()));
        let tag = self.api.tags.for_caller(&self.key, self.version).entity_tag(&tagged);
        answer.headers_mut().insert(ETAG, tag);
        Ok(A::wrap(answer))
    }

    /// Returns the body with a page. `bytes` is the size of its rows, as far as it is known.
    fn page_json<V: Serialize>(&self, page: &ListPage<V>, bytes: usize) -> Result<Vec<u8>, ApiError> {
        let rows = &page.rows;
        match &page.info {
            ListInfo::Cursors(info) => to_json(&Envelope { page_info: Some(info), ..self.envelope(rows) }, bytes),
            ListInfo::Count(count) => {
                let count = Some(*count);
                match self.endpoint.nested_as() {
                    Some(name) => {
                        let nested = BTreeMap::from([(name, rows)]);
                        to_json(&Envelope { count, ..self.envelope(nested) }, bytes)
                    }
                    None => to_json(&Envelope { count, ..self.envelope(rows) }, bytes),
                }
            }
        }
    }

    fn envelope<T>(&self, data: T) -> Envelope<'_, T> {
        Envelope { code: true, description: self.description(), error: [], data, count: None, page_info: None }
    }

    fn json(&self, status: u16, body: Vec<u8>) -> HttpResponse {
        self.build(status).content_type(ContentType::json()).body(body)
    }

    /// Responds with a body without envelope.
    pub fn plain<V: Serialize, A: Wraps<V>>(&self, data: V) -> A {
        A::wrap(self.build(A::STATUS).json(data))
    }

    /// Responds with lines of JSON. `next` returns the next lines and state, or `None` at the end. It is called when
    /// the client has taken the previous lines.
    pub fn lines<V, A, S, F>(&self, state: S, next: impl Fn(S) -> F + 'static) -> A
    where
        A: Wraps<V>,
        S: 'static,
        F: Future<Output = Option<(Bytes, S)>> + 'static,
    {
        let chunks = stream::unfold(state, move |state| {
            let next = next(state);
            async move { next.await.map(|(lines, state)| (Ok::<Bytes, Infallible>(lines), state)) }
        });
        A::wrap(self.build(A::STATUS).content_type(NDJSON).streaming(Box::pin(chunks)))
    }

    pub fn empty<A: Wraps<()>>(&self) -> A {
        A::wrap(self.build(A::STATUS).finish())
    }

    fn build(&self, status: u16) -> HttpResponseBuilder {
        HttpResponse::build(StatusCode::from_u16(status).unwrap_or(StatusCode::OK))
    }
}

fn to_json(value: &impl Serialize, bytes: usize) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::with_capacity(bytes + ENVELOPE_BYTES);
    serde_json::to_writer(&mut body, value).map_err(not_json)?;
    Ok(body)
}

fn not_json(error: serde_json::Error) -> ApiError {
    tracing::error!(%error, "a response cannot be written as JSON");
    ApiError::internal()
}

fn mark_replayed(mut answer: HttpResponse) -> HttpResponse {
    answer.headers_mut().insert(REPLAY, HeaderValue::from_static("true"));
    answer
}
