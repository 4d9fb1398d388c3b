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

type BodyOf<R> = R extends Json<infer B> ? B : never;
type Body<O> = { [K in keyof O as K extends "requestBody" ? "body" : never]: BodyOf<O[K]> };
// `version` is required for operations that the default version does not have.
type Version<O> = O extends { parameters: { header: { "Svc-Api-Version": infer V } } }
  ? "v3.0.0" extends V ? { version?: V } : { version: V }
  : never;
type Parameters<O> = O extends { parameters: infer P } ? Pick<P, keyof P & ("path" | "query")> : never;
/** The parameters of an operation. */
export type Fields<O> = Parameters<O> & Body<O> & Version<O>;
/** The last argument of a call, optional if the operation requires no field. */
export type Rest<F, More> = {} extends F ? [options?: F & More] : [options: F & More];

/** The lists with pages. */
export type Paged = {
  [P in PathsWith<"get">]: Answer<Operation<P, "get">> extends Page<unknown> ? P : never;
}[PathsWith<"get">];
export type RecordOf<P extends Paged> = Answer<Operation<P, "get">> extends Page<infer T> ? T : never;
export type Page<T> = { data: T[]; page_info: Schemas["PageInfo"] };
export type ExportLine = Schemas["ExportLine"];
/** A record of an export, by `resource`. */
export type ExportRecord = Extract<ExportLine, { data: unknown }>;

/** A message of a webhook, by `event_name`. */
export type WebhookMessage = {
  [E in keyof webhooks]: webhooks[E] extends { post: { requestBody?: Json<infer B> } } ? B : never;
}[keyof webhooks];
