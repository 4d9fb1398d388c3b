import { ApiError, ConnectionError } from "./errors.js";
import type { paths } from "./schema.js";
import type { Answer, Fields, Keyed, Method, Operation, PageOf, Paged, PathsWith, RecordOf, Rest } from "./types.js";
import type { Schemas } from "./types.js";

export interface ClientOptions {
  /** The address of the service, such as `https://api.example.com`. */
  baseUrl: string;
  apiKey: string;
  /** Name and version of your application: `my-app/1.0`. */
  userAgent: string;
  version?: Schemas["ApiVersion"];
  /** Time limit of one attempt, in milliseconds. Default: 30,000. */
  timeout?: number;
  /** Maximum number of attempts after the first one. Default: 4. */
  retries?: number;
  /** The longest accepted `Retry-After`, in seconds. Default: 60. The call fails if the service requires more. */
  maxRetryAfter?: number;
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** Cancels the call. */
  signal?: AbortSignal;
  /** Key of a POST, by default a new one for each call. Store your own to repeat a call after a restart. */
  idempotencyKey?: string;
}

export interface ChangeBatch {
  changes: Schemas["RecordChange"][];
  /** The position after these changes. Store it with them. */
  cursor: string;
  /** Replace the whole copy with the records of the lists: the call had no cursor, or it has expired. */
  reload: boolean;
}

interface Request extends CallOptions {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  version?: string;
}
type Outcome<T> = { answer: T } | { error: ApiError | ConnectionError };
type ListOptions<P extends Paged> = Rest<Fields<Operation<P, "get">>, CallOptions>;
type Call<M extends Method> = <P extends PathsWith<M>>(
  path: P,
  ...options: Rest<Fields<Operation<P, M>>, CallOptions>
) => Promise<Answer<Operation<P, M>>>;

// The compiler compares this list with the document.
const KEYED: Record<Keyed, true> = { "/intent/booking/book": true, "/intent/booking/reschedule": true };
const REPEATED = [429, 500, 502, 503, 504];

/** A client of one API key. */
export class PracticeSync {
  readonly get: Call<"get"> = (path, ...[options]) => this.#call("get", path, options);
  readonly post: Call<"post"> = (path, ...[options]) => this.#call("post", path, options);
  readonly patch: Call<"patch"> = (path, ...[options]) => this.#call("patch", path, options);
  readonly delete: Call<"delete"> = (path, ...[options]) => this.#call("delete", path, options);
  // Private, so that logs of the client do not contain the API key.
  readonly #options: ClientOptions;
  #token: Promise<string> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** The pages of a list, from the first one or from `end_cursor`. */
  async *pages<P extends Paged>(path: P, ...[options]: ListOptions<P>): AsyncGenerator<PageOf<P>, void> {
    let request: Request = { ...options };
    for (;;) {
      const page = await this.#call<PageOf<P>>("get", path, request);
      yield page;
      if (!page.page_info.has_next_page) return;
      request = { ...request, query: { ...request.query, end_cursor: page.page_info.end_cursor } };
    }
  }

  /** The records of a list with pages. */
  async *records<P extends Paged>(path: P, ...options: ListOptions<P>): AsyncGenerator<Awaited<RecordOf<P>>, void> {
    for await (const page of this.pages(path, ...options)) yield* page.data as Awaited<RecordOf<P>>[];
  }

  /**
   * The changes of a location after `query.since`. The service is asked again every `every` seconds (default 5), or
   * until all changes have been read if `every` is null. A batch whose cursor was not stored arrives again.
   */
  async *changes(
    options: Fields<Operation<"/changes", "get">> & CallOptions & { every?: number | null },
  ): AsyncGenerator<ChangeBatch, void> {
    const { every = 5, ...request } = options;
    let { since, ...query } = request.query;
    for (;;) {
      try {
        const page = await this.get("/changes", { ...request, query: since ? { ...query, since } : query });
        const { end_cursor: cursor, has_next_page } = page.page_info;
        if (cursor !== since) yield { changes: page.data, cursor, reload: !since };
        since = cursor;
        if (has_next_page) continue;
        if (every === null) return;
        await pause(every * 1000, request.signal);
      } catch (error) {
        if (!(since && error instanceof ApiError && error.reason === "cursor_expired")) throw error;
        since = "";
      }
    }
  }

  async #call<T>(method: Method, path: keyof paths, request: Request = {}): Promise<T> {
    const idempotencyKey = request.idempotencyKey ?? crypto.randomUUID();
    const body = path in KEYED ? { idempotency_key: idempotencyKey, ...(request.body as object) } : request.body;
    for (let renewed = false; ; renewed = true) {
      const token = (this.#token ??= this.#signIn());
      const authorization = `Bearer ${await token}`;
      try {
        return await this.#send<T>(method, path, { ...request, body, idempotencyKey }, authorization);
      } catch (error) {
        const refused = error instanceof ApiError && ["token_expired", "token_invalid"].includes(error.reason ?? "");
        if (!refused || renewed) throw error;
        // One renewal serves all calls that were refused with the same token.
        if (this.#token === token) this.#token = undefined;
      }
    }
  }

  async #signIn(): Promise<string> {
    const answer = this.#send<Schemas["BearerTokenAnswer"]>("post", "/authenticates", {}, this.#options.apiKey);
    answer.catch(() => (this.#token = undefined));
    return (await answer).data.token;
  }

  /** Sends a request until it has an answer. All attempts have the same body, key and id. */
  async #send<T>(method: Method, path: string, request: Request, authorization: string): Promise<T> {
    const { baseUrl, version = "v3.0.0", userAgent, retries = 4, maxRetryAfter = 60 } = this.#options;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(request.path?.[name])));
    const requestId = crypto.randomUUID();
    const headers = new Headers({ Authorization: authorization, "User-Agent": userAgent, "X-Request-Id": requestId });
    headers.set("Svc-Api-Version", request.version ?? version);
    headers.set("Content-Type", "application/json");
    if (method === "post" && request.idempotencyKey) headers.set("Idempotency-Key", request.idempotencyKey);
    const body = JSON.stringify(request.body) ?? null;
    const init: RequestInit = { method: method.toUpperCase(), headers, body };
    const url = baseUrl.replace(/\/$/, "") + filled + encode(request.query);
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt<T>(url, init, requestId, request.signal);
      if ("answer" in outcome) return outcome.answer;
      const { error } = outcome;
      const isRepeated = error instanceof ConnectionError || REPEATED.includes(error.status);
      const after = error instanceof ApiError ? error.retryAfter : undefined;
      if (!isRepeated || attempt >= retries || (after ?? 0) > maxRetryAfter) throw error;
      const backoff = Math.min(0.5 * 2 ** attempt, 30) * (0.5 + Math.random() / 2);
      await pause(1000 * (after ?? backoff), request.signal);
    }
  }

  async #attempt<T>(url: string, init: RequestInit, requestId: string, stop?: AbortSignal): Promise<Outcome<T>> {
    const limit = AbortSignal.timeout(this.#options.timeout ?? 30_000);
    const signal = stop ? AbortSignal.any([limit, stop]) : limit;
    try {
      const response = await (this.#options.fetch ?? fetch)(url, { ...init, signal });
      const text = await response.text();
      // Other bodies are not from this API, such as the page of a proxy.
      const body = text.startsWith("{") ? JSON.parse(text) : undefined;
      const isAnswer = response.ok && (body !== undefined || response.status === 204);
      return isAnswer ? { answer: body as T } : { error: new ApiError(response, body ?? {}, requestId) };
    } catch (error) {
      stop?.throwIfAborted();
      return { error: new ConnectionError(requestId, limit.aborted, error) };
    }
  }
}

function encode(query: Record<string, unknown> = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one] as const));
  const given = pairs.filter(([, value]) => value !== undefined).map(([name, value]) => [name, String(value)]);
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => (clearTimeout(timer), reject(signal?.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", abort), resolve()), milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
