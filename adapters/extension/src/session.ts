// Whether somebody is logged in to the EHR. Only the probe says so; everything else is a reason to ask it.

import { below } from "./allowed.js";
import type { Ehr, EhrRequest } from "./protocol.js";

const PROBE_LIMIT_MS = 10_000;
/** A sign of the session so recent that nobody asks again before a write. */
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

  /** From now on it is about this EHR, of which nothing is known yet. Null: the extension may not look, or is not paired. */
  of(ehr: Ehr | null): void {
    if (JSON.stringify(ehr) !== JSON.stringify(this.#ehr)) {
      this.#ehr = ehr;
      this.#set(false);
    }
  }

  /** The EHR answered as it does to somebody who is logged in. */
  seen(): void {
    this.#sign = Date.now();
  }

  /** Asks the EHR. Who asks while it is being asked gets the next answer: the one under way may be older than the reason to ask. */
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

/** How every request to the EHR is made. */
export const IN_THE_SESSION = {
  credentials: "include",
  redirect: "manual",
  cache: "no-store",
  referrerPolicy: "no-referrer",
} as const satisfies RequestInit;

/** Whether this answer is what somebody gets whose session is over. */
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
