// Types of calls, derived from the types of the OpenAPI document.
import type { components, paths, webhooks } from "./schema.js";

export type Schemas = components["schemas"];
export type Method = "get" | "post" | "patch" | "delete";
/** The paths with this method whose response is one JSON document or empty. Streams of lines have no method here. */
export type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: Responses }> ? P : never;
}[keyof paths];
export type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;

type Json<B> = { content: { "application/json": B } };
type Responses = Partial<Record<200 | 201 | 202 | 204, Json<unknown> | { content?: never }>>;
/** The body of a successful response. */
export type Answer<O> = O extends { responses: infer R }
  ? { [S in keyof R & keyof Responses]: R[S] extends Json<infer B> ? B : undefined }[keyof R & keyof Responses]
  : never;

// The client makes the key if the caller gives none.
type Unkeyed<B> = B extends { idempotency_key: string } ? Omit<B, "idempotency_key"> & { idempotency_key?: string } : B;
type Body<O> = O extends { requestBody: Json<infer B> }
  ? { body: Unkeyed<B> }
  : O extends { requestBody?: never }
    ? { body?: never }
    : O extends { requestBody?: Json<infer B> }
      ? { body?: Unkeyed<B> }
      : never;
// `version` is required for operations that the default version does not have.
type Version<O> = O extends { parameters: { header: { "Svc-Api-Version": infer V } } }
  ? "v3.0.0" extends V
    ? { version?: V }
    : { version: V }
  : never;
type Parameters<O> = O extends { parameters: infer P } ? Pick<P, keyof P & ("path" | "query")> : never;
/** The parameters of an operation. */
export type Fields<O> = Parameters<O> & Body<O> & Version<O>;
/** The last argument of a call, optional if the operation requires no field. */
export type Rest<F, More> = {} extends F ? [options?: F & More] : [options: F & More];

/** The lists with pages. */
export type Paged = {
  [P in PathsWith<"get">]: Answer<Operation<P, "get">> extends { page_info: unknown } ? P : never;
}[PathsWith<"get">];
export type RecordOf<P extends Paged> =
  Answer<Operation<P, "get">> extends { data: readonly (infer T)[] } ? T : never;
export type PageOf<P extends Paged> = Answer<Operation<P, "get">> & {
  data: RecordOf<P>[];
  page_info: Schemas["PageInfo"];
};
/** The paths whose body has the idempotency key. */
export type Keyed = {
  [P in PathsWith<"post">]: Operation<P, "post"> extends { requestBody: Json<{ idempotency_key: string }> } ? P : never;
}[PathsWith<"post">];

/** A message of a webhook, by `event_name`. */
export type WebhookMessage = {
  [E in keyof webhooks]: webhooks[E] extends { post: { requestBody?: Json<infer B> } } ? B : never;
}[keyof webhooks];
