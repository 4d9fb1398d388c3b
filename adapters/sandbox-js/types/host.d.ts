// Generated from wit/v1 by adapters/kit/tests/typings.rs.
// The modules an adapter may import beside its own.

declare module "practice-sync:ehr/http@1.0.0" {
  type Request = import("./contract.js").Request;
  type Response = import("./contract.js").Response;
  /**
   * Requests to the EHR. The adapter names a path; host, TLS and credentials come from the location's configuration,
   * and the engine refuses what the location's allow-list does not hold.
   */
  const http: {
    /** Sends one request. It may take as long as the call itself has left. Beyond the requests a call may make it is `refused`. */
    send(request: Request): Response;
  };
  export default http;
}

declare module "practice-sync:ehr/gate@1.0.0" {
  type Request = import("./contract.js").Request;
  type Response = import("./contract.js").Response;
  type State = import("./contract.js").State;
  /** Requests that run inside the session of a staff member logged in at a workstation with the browser extension. */
  const gate: {
    /** Where the gate stands now; it may close before the next call. */
    current(): State;
    /** Sends one request through the workstation. `not-sent` with a closed gate. */
    send(request: Request): Response;
  };
  export default gate;
}

declare module "practice-sync:ehr/log@1.0.0" {
  type Level = import("./contract.js").Level;
  /** Lines for the operator. Never put patient data into them. */
  const log: {
    /** Writes one line of at most 2,000 bytes; longer ones are cut. What looks like patient data or a credential is left out. */
    write(level: Level, message: string): void;
  };
  export default log;
}

declare module "practice-sync:ehr/clock@1.0.0" {
  type Instant = import("./contract.js").Instant;
  type Local = import("./contract.js").Local;
  /** Time and the location's zone. */
  const clock: {
    /** The present. */
    now(): Instant;
    /**
     * The instants at which the location's clocks show this local time, earliest first: none in a daylight-saving gap or for
     * text that is not `YYYY-MM-DDTHH:MM:SS`, two in an overlap.
     */
    toInstant(local: string): Instant[];
    /** What the location's clocks show at an instant. One beyond the years 1 to 9999 ends the call. */
    toLocal(at: Instant): Local;
  };
  export default clock;
}

declare module "practice-sync:ehr/config@1.0.0" {
  /** The location's settings for this adapter. */
  const config: {
    /**
     * The value of a setting, none where the operator set nothing. `location` is the location's foreign id, `time-zone` its IANA
     * zone, for example `America/New_York`; both are always there.
     */
    get(name: string): string | null;
  };
  export default config;
}
