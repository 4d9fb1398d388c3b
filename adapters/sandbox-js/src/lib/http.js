// Requests to the EHR, and the faults of their failures. A lost response to a read is retried; a write with a lost
// response is looked up first.

import clock from "practice-sync:ehr/clock@1.0.0";
import http from "practice-sync:ehr/http@1.0.0";

import { rejected, retryLater, unauthorized, unknown, unsupported } from "./fault.js";
import { httpDate } from "./time.js";
import { decode, encode } from "./utf8.js";

/** @typedef {{ status: number, headers: { name: string, value: string }[], body: Uint8Array }} Answer */

/** Maximum seconds that the contract can represent. */
const MOST_SECONDS = 2 ** 32 - 1;

/**
 * Returns a response of any status. Only a missing response is a fault.
 * @param {"get" | "post" | "put" | "patch" | "delete"} method
 * @param {string} path
 * @param {unknown} [json] the body
 * @returns {Answer}
 */
export function send(method, path, json) {
  const headers = [{ name: "accept", value: "application/json" }];
  if (json !== undefined) headers.push({ name: "content-type", value: "application/json" });
  try {
    return http.send({ method, path, headers, body: json === undefined ? null : encode(JSON.stringify(json)) });
  } catch (error) {
    throw faultOfError(error, method === "get");
  }
}

/** Maps a missing response to a fault. Any other exception is an error of the adapter and ends the call. */
function faultOfError(error, reads) {
  const { tag, val } = error;
  if (tag === "not-sent") return retryLater(val);
  if (tag === "no-answer") return reads ? retryLater(val) : unknown(val);
  if (tag === "refused") return rejected(val);
  return error;
}

/**
 * Maps a status other than 200 to 299, unless the EHR's code is more specific. @param {Answer} answer @param {boolean}
 * reads
 */
export function faultOfStatus(answer, reads) {
  const { status } = answer;
  const after = retryAfter(answer);
  const reason = `the EHR answered ${status}`;
  if (status === 401 || status === 403) return unauthorized(reason);
  if (status === 408 || status === 425 || status === 429) return retryLater(reason, after);
  if (status === 501) return unsupported(reason);
  if (status === 503 && after !== null) return retryLater(reason, after);
  // A redirect is not followed. It may be an intermediary's, to a page of maintenance, and is not a refusal.
  const redirects = status >= 300 && status < 400;
  if (redirects || status >= 500) return reads ? retryLater(reason, after) : unknown(reason);
  return rejected(reason);
}

/** Returns the JSON of a response, or undefined. @param {Answer} answer */
export function json(answer) {
  try {
    return JSON.parse(decode(answer.body));
  } catch {
    return undefined;
  }
}

/** The fault of an unreadable response: a read is retried, a write may have happened. @param {boolean} reads */
export function notUnderstood(answer, reads) {
  const reason = `the EHR's answer (status ${answer.status}) is not as expected`;
  return reads ? retryLater(reason) : unknown(reason);
}

/** Returns the seconds of `retry-after`, a number or a date, or null. @param {Answer} answer */
export function retryAfter(answer) {
  const said = answer.headers.find(({ name }) => name.toLowerCase() === "retry-after")?.value.trim() ?? "";
  if (/^\d+$/.test(said)) return Math.min(Number(said), MOST_SECONDS);
  const at = httpDate(said);
  return at === null ? null : Math.min(Math.max(at - clock.now(), 0), MOST_SECONDS);
}
