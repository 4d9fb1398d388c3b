import { ApiError, ConnectionError } from "./errors.js";
import { REPEATABLE } from "./posts.js";
import type { paths } from "./schema.js";
import type { Answer, ExportLine, ExportRecord, Fields, Method, Operation } from "./types.js";
import type { Page, Paged, PathsWith, RecordOf, Rest, Schemas } from "./types.js";

export interface ClientOptions {
  /** The address of the service, such as `https://api.example.com`. */
  baseUrl: string;
  apiKey: string;
  /** Name and version of your application: `my-app/1.0`. */
  userAgent: string;
  version?: Schemas["ApiVersion"];
  /** Time limit of one attempt, and of each wait for data of an export, in milliseconds. Default: 30,000. */
  timeout?: number;
  /** Maximum number of attempts after the first one. Default: 4. */
  retries?: number;
  /** The longest accepted `Retry-After`, in seconds. Default: 60. The call fails if the service requires more. */
  maxRetryAfter?: number;
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Key of a creating POST, by default a new one. Store your own to repeat a call after a restart. */
  idempotencyKey?: string;
}

export interface ChangeBatch {
  changes: Schemas["RecordChange"][];
  /** The position after these changes. Store it with them. */
  cursor: string;
  /** Replace the whole copy with an export: the call had no cursor, or it has expired. */
  reload: boolean;
}

export interface ExportBatch {
  records: ExportRecord[];
  /** The position after these records: `query.cursor` of another export, or the first `since` if `isLast`. */
  cursor: string;
  isLast: boolean;
}

type Values = Record<string, unknown> | undefined;
type Request = CallOptions & { path?: Values; query?: Values; body?: unknown; version?: string; isStream?: boolean };
type Args<M extends Method, P extends keyof paths> = Rest<Fields<Operation<P, M>>, CallOptions>;
type Call<M extends Method> = <P extends PathsWith<M>>(
  path: P,
  ...args: Args<M, P>
) => Promise<Answer<Operation<P, M>>>;

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

  /** The records of all pages of a list, or of those after `end_cursor`. */
  async *records<P extends Paged>(path: P, ...[options]: Args<"get", P>): AsyncGenerator<RecordOf<P>, void> {
    for (let query: Values = options?.query; ; ) {
      const { data, page_info } = await this.#call<Page<RecordOf<P>>>("get", path, { ...options, query });
      yield* data;
      if (!page_info.has_next_page) return;
      query = { ...query, end_cursor: page_info.end_cursor };
    }
  }

  /**
   * The changes of a location after `query.since`. The service is asked again every `every` seconds (default 5), or
   * until all changes have been read if `every` is null. A batch whose cursor was not stored arrives again.
   */
  async *changes(options: Args<"get", "/changes">[0] & { every?: number | null }): AsyncGenerator<ChangeBatch, void> {
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

  /** All records of a location, in batches. A broken export continues after its last batch. */
  async *export(options: Args<"get", "/export">[0]): AsyncGenerator<ExportBatch, void> {
    const { retries = 4, timeout = 30_000 } = this.#options;
    let { query } = options;
    for (let failures = 0; ; failures++) {
      const { body, headers } = await this.#call<Response>("get", "/export", { ...options, query, isStream: true });
      const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
      const close = () => reader.cancel().catch(() => {});
      try {
        for (let rest = "", records: ExportRecord[] = []; ; ) {
          const timer = setTimeout(close, timeout);
          const { done, value } = await reader.read().finally(() => clearTimeout(timer));
          if (done) throw new Error("The export ended or stalled before its last line.");
          const texts = (rest + value).split("\n");
          rest = texts.pop() ?? "";
          for (const line of texts.map((text): ExportLine => JSON.parse(text))) {
            options.signal?.throwIfAborted();
            if (line.type === "error") throw new Error(line.message);
            if ("data" in line) records.push(line);
            if (line.type === "end") return void (yield { records, cursor: line.changes_cursor, isLast: true });
            if (line.type !== "resume") continue;
            yield { records, cursor: line.cursor, isLast: false };
            query = { ...query, cursor: line.cursor };
            [records, failures] = [[], 0];
          }
        }
      } catch (cause) {
        options.signal?.throwIfAborted();
        if (failures >= retries) throw new ConnectionError(headers.get("x-request-id") ?? "", false, cause);
      } finally {
        await close();
      }
      await pause(backoff(failures), options.signal);
    }
  }

  async #call<T>(method: Method, path: keyof paths, request: Request = {}, isRenewed = false): Promise<T> {
    const keyed = { ...request, idempotencyKey: request.idempotencyKey ?? crypto.randomUUID() };
    const token = (this.#token ??= this.#signIn());
    try {
      return await this.#send<T>(method, path, keyed, `Bearer ${await token}`);
    } catch (error) {
      const isRefused = error instanceof ApiError && ["token_expired", "token_invalid"].includes(error.reason ?? "");
      if (isRenewed || !isRefused) throw error;
    }
    // One renewal serves all calls that were refused with the same token.
    if (this.#token === token) this.#token = undefined;
    return this.#call<T>(method, path, keyed, true);
  }

  async #signIn(): Promise<string> {
    const answer = this.#send<Schemas["BearerTokenAnswer"]>("post", "/authenticates", {}, this.#options.apiKey);
    answer.catch(() => (this.#token = undefined));
    return (await answer).data.token;
  }

  /** Sends a request until it has an answer. All attempts have the same body, key and id. */
  async #send<T>(method: Method, path: string, request: Request, authorization: string): Promise<T> {
    const { baseUrl, version = "v3.0.0", userAgent, retries = 4, maxRetryAfter = 60, timeout = 30_000 } = this.#options;
    const { idempotencyKey: key = "", signal: stop } = request;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(request.path?.[name])));
    const url = new URL(baseUrl.replace(/\/$/, "") + filled);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      for (const one of [value ?? []].flat()) url.searchParams.append(name, String(one));
    }
    const requestId = crypto.randomUUID();
    const own = { Authorization: authorization, "Content-Type": "application/json", "User-Agent": userAgent };
    const headers = new Headers({ ...own, "Svc-Api-Version": request.version ?? version, "X-Request-Id": requestId });
    const repeatable = method === "post" ? REPEATABLE[path] : "reads";
    if (repeatable === "header") headers.set("Idempotency-Key", key);
    const body = repeatable === "body" ? { idempotency_key: key, ...(request.body as object) } : request.body;
    const init = { method: method.toUpperCase(), headers, body: JSON.stringify(body) ?? null };
    for (let attempt = 0; ; attempt++) {
      let error: ApiError | ConnectionError;
      const limit = new AbortController();
      const signal = AbortSignal.any(stop ? [limit.signal, stop] : [limit.signal]);
      const timer = setTimeout(() => limit.abort(), timeout);
      try {
        const response = await (this.#options.fetch ?? fetch)(url, { ...init, signal });
        if (request.isStream && response.ok) return response as T;
        const text = await response.text();
        // Other bodies are not from this API, such as the page of a proxy.
        const answer = text.startsWith("{") ? JSON.parse(text) : undefined;
        if (response.ok && (answer !== undefined || response.status === 204)) return answer as T;
        error = new ApiError(response, answer ?? {}, requestId);
      } catch (cause) {
        stop?.throwIfAborted();
        error = new ConnectionError(requestId, limit.signal.aborted, cause);
      } finally {
        clearTimeout(timer);
      }
      const { status, retryAfter = 0 } = error instanceof ApiError ? error : { status: 0 };
      // A limited call had no effect. Another POST without a key may have had its effect.
      const isRepeated = status === 429 || (repeatable && [0, 500, 502, 503, 504].includes(status));
      if (!isRepeated || attempt >= retries || retryAfter > maxRetryAfter) throw error;
      await pause(1000 * retryAfter || backoff(attempt), stop);
    }
  }
}

/** Milliseconds before the next attempt. */
const backoff = (attempt: number) => Math.min(500 * 2 ** attempt, 30_000) * (0.5 + Math.random() / 2);

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => (clearTimeout(timer), reject(signal?.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", abort), resolve()), milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
