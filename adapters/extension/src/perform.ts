// Execution of one request in the user's session.

import { address, Refused } from "./allowed.js";
import * as base64 from "./base64.js";
import type { Ehr, EhrRequest, FailureKind, Headers } from "./protocol.js";
import { IN_THE_SESSION, isRedirect, looksLoggedOut, type Session } from "./session.js";

/** Maximum size of a response, which must fit into a frame. */
const LARGEST_BODY = 8 * 1024 * 1024;
/** Maximum number of headers that the engine accepts. */
const MOST_HEADERS = 200;

export type Outcome = { status: number; headers: Headers; body: string } | Failed;

export interface Failed {
  kind: FailureKind;
  reason: string;
}

export function failed(kind: FailureKind, reason: string): Failed {
  return { kind, reason };
}

/** A request that passed the extension's rules. */
export interface Prepared {
  request: EhrRequest;
  url: URL;
  options: RequestInit;
}

export function prepare(request: EhrRequest, ehr: Ehr): Prepared | Failed {
  try {
    const url = address(ehr, request);
    const body = request.body === null ? null : base64.decode(request.body);
    return { request, url, options: { ...IN_THE_SESSION, method: request.method, headers: request.headers, body } };
  } catch (error) {
    return failed("refused", error instanceof Refused ? error.message : "body");
  }
}

/** Sends the request. `signal` aborts at the end of the lease and at the deadline. */
export async function perform({ request, url, options }: Prepared, session: Session, signal: AbortSignal): Promise<Outcome> {
  if (!session.isIn || (request.write !== null && !session.isFresh && !(await session.probe()))) {
    return failed("logged_out", "nobody is logged in");
  }
  if (signal.aborted) {
    return failed("not_sent", "there was no time left for it");
  }
  try {
    const answer = await fetch(url, { ...options, signal });
    const doubt = await doubted(request, answer, session);
    return doubt ?? (await received(request, answer));
  } catch (error) {
    return failed("no_answer", error instanceof Error ? error.message : "it broke off");
  }
}

/** Checks a response that may mean an expired session. Returns null for any other response. */
async function doubted(request: EhrRequest, answer: Response, session: Session): Promise<Failed | null> {
  if (!looksLoggedOut(request, answer)) {
    session.seen();
    return null;
  }
  if (!(await session.probe())) {
    return failed("no_answer", "the session ended");
  }
  if (isRedirect(answer)) {
    // A browser does not reveal the target. A write may have been executed nevertheless.
    return failed(request.write === null ? "refused" : "no_answer", "redirect");
  }
  return null;
}

async function received(request: EhrRequest, answer: Response): Promise<Outcome> {
  const most = Math.min(request.max_body, LARGEST_BODY);
  const body = await bounded(answer, most);
  if (body === null) {
    return failed("no_answer", `its answer is larger than ${most} bytes`);
  }
  return { status: answer.status, headers: [...answer.headers].slice(0, MOST_HEADERS), body: base64.encode(body) };
}

/** Returns the whole body, or null as soon as it is too large. */
async function bounded(answer: Response, most: number): Promise<Uint8Array | null> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader = answer.body?.getReader();
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    length += next.value.length;
    if (length > most) {
      await reader?.cancel();
      return null;
    }
    pieces.push(next.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
