import type { Schemas } from "./types.js";

/** The service refused the call, or failed. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** One word for programs, as in the table "Errors" of the guide. Undefined if a proxy responded. */
  readonly reason: Schemas["FailureReason"] | undefined;
  /** The id to quote when you report a problem. */
  readonly requestId: string;
  /** Seconds. */
  readonly retryAfter: number | undefined;

  /** `body` is the response. `reason` determines its other fields, such as `alternatives` and `missing_fields`. */
  constructor(response: Response, readonly body: Partial<Schemas["BookingRefusal"]>, sentId: string) {
    super(body.message ?? ([body.error].flat().join(" ") || `HTTP status ${response.status} without a body of this API`));
    this.status = response.status;
    this.reason = body.reason;
    this.requestId = response.headers.get("x-request-id") ?? sentId;
    this.retryAfter = Number(response.headers.get("retry-after")) || undefined;
  }
}

/** No response arrived: the connection failed, or the time limit passed. `cause` has the reason. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";

  constructor(readonly requestId: string, readonly timedOut: boolean, cause: unknown) {
    super(timedOut ? "The service did not respond in time." : "The connection to the service failed.", { cause });
  }
}
