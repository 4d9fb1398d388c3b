// The login state of the EHR. Only the probe determines it; all other signs trigger a probe.

import { below } from "./allowed.js";
import type { Ehr, EhrRequest } from "./protocol.js";

const PROBE_LIMIT_MS = 10_000;
/** Maximum age of a sign of the session that makes a probe before a write unnecessary. */
const FRESH_MS = 10_000;

export class Session {
  readonly #changed: () => void;
  #ehr: Ehr | null = null;
  #in = false;
  #sign = -Infinity;
  #asking: Promise<boolean> | null = null;
  #askedAgain: Promise<boolean> | null = null;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get isIn(): boolean {
    return this.#in;
  }

  get isFresh(): boolean {
    return this.#in && Date.now() - this.#sign < FRESH_MS;
  }

  /** Sets the EHR, with an unknown login state. Null if the extension has no permission or is not paired. */
  of(ehr: Ehr | null): void {
    if (JSON.stringify(ehr) !== JSON.stringify(this.#ehr)) {
      this.#ehr = ehr;
      this.#set(false);
    }
  }

  /** Records a response that only a logged-in session gets. */
  seen(): void {
    this.#sign = Date.now();
  }

  /**
   * Probes the EHR. A call during a probe gets the result of the next one, because the current one may be older than
   * its cause.
   */
  probe(): Promise<boolean> {
    if (this.#asking === null) {
      this.#asking = this.#ask().finally(() => (this.#asking = null));
      return this.#asking;
    }
    this.#askedAgain ??= this.#asking.then(() => {
      this.#askedAgain = null;
      return this.probe();
    });
    return this.#askedAgain;
  }

  async #ask(): Promise<boolean> {
    const ehr = this.#ehr;
    const found = ehr !== null && (await this.#answersAsLoggedIn(ehr));
    if (ehr === this.#ehr) {
      this.#set(found);
    }
    return this.#in;
  }

  async #answersAsLoggedIn(ehr: Ehr): Promise<boolean> {
    try {
      const answer = await fetch(below(ehr, ehr.probe), {
        ...IN_THE_SESSION,
        headers: { accept: "application/json" },
        signal: AbortSignal.timeout(PROBE_LIMIT_MS),
      });
      await answer.body?.cancel();
      return answer.status === 200 && isJson(answer);
    } catch {
      return false;
    }
  }

  #set(found: boolean): void {
    if (found) {
      this.seen();
    }
    if (found !== this.#in) {
      this.#in = found;
      this.#changed();
    }
  }
}

/** Options of every request to the EHR. */
export const IN_THE_SESSION = {
  credentials: "include",
  redirect: "manual",
  cache: "no-store",
  referrerPolicy: "no-referrer",
} as const satisfies RequestInit;

/** Returns true if the response looks like that of an expired session. */
export function looksLoggedOut(request: EhrRequest, answer: Response): boolean {
  return answer.status === 401 || isRedirect(answer) || (wantsOnlyJson(request) && contentType(answer) === "text/html");
}

export function isRedirect(answer: Response): boolean {
  return answer.type === "opaqueredirect";
}

function wantsOnlyJson(request: EhrRequest): boolean {
  const accepted = request.headers.filter(([name]) => name.toLowerCase() === "accept").flatMap(([, value]) => value.split(","));
  return accepted.length > 0 && accepted.every((kind) => JSON_TYPE.test(kind.split(";", 1)[0]?.trim() ?? ""));
}

const JSON_TYPE = /^[a-z]+\/(?:[a-z0-9.-]+\+)?json$/i;

function isJson(answer: Response): boolean {
  return JSON_TYPE.test(contentType(answer));
}

function contentType(answer: Response): string {
  return (answer.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
