// Performs one request in the user's session, and says what came of it.

import { address, Refused } from "./allowed.js";
import * as base64 from "./base64.js";
import type { Ehr, EhrRequest, FailureKind, Headers } from "./protocol.js";
import { IN_THE_SESSION, isRedirect, looksLoggedOut, type Session } from "./session.js";

/** Larger answers would not fit into a frame. */
const LARGEST_BODY = 8 * 1024 * 1024;

export type Outcome = { status: number; headers: Headers; body: string } | Failed;

export interface Failed {
  kind: FailureKind;
  reason: string;
}

export function failed(kind: FailureKind, reason: string): Failed {
  return { kind, reason };
}

/** A request as it leaves, within what the extension allows. */
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

/** `signal` ends with the lease, and at the deadline. */
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

/** What an answer comes to that may mean that the session is over; null: it is an answer like any other. */
async function doubted(request: EhrRequest, answer: Response, session: Session): Promise<Failed | null> {
  if (!looksLoggedOut(request, answer)) {
    session.seen();
    return null;
  }
  if (!(await session.probe())) {
    return failed("no_answer", "the session ended");
  }
  if (isRedirect(answer)) {
    // Where to, a browser does not say. A write may have been done all the same.
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
  return { status: answer.status, headers: [...answer.headers], body: base64.encode(body) };
}

/** The whole body, or null as soon as it is larger. */
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
