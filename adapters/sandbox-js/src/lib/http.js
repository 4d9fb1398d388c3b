// Requests to the EHR, and what their failures mean. Whether a request reads or writes decides what a lost answer means: a read is
// tried again, a write is looked up first.

import clock from "practice-sync:ehr/clock@1.0.0";
import http from "practice-sync:ehr/http@1.0.0";

import { rejected, retryLater, unauthorized, unknown, unsupported } from "./fault.js";
import { httpDate } from "./time.js";
import { decode, encode } from "./utf8.js";

/** @typedef {{ status: number, headers: { name: string, value: string }[], body: Uint8Array }} Answer */

/** Most seconds the contract has a number for. */
const MOST_SECONDS = 2 ** 32 - 1;

/**
 * An answer of any status. Only a missing answer is a fault.
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

/** What a missing answer means. What is no answer of the host is a mistake of ours, and ends the call. */
function faultOfError(error, reads) {
  const { tag, val } = error;
  if (tag === "not-sent") return retryLater(val);
  if (tag === "no-answer") return reads ? retryLater(val) : unknown(val);
  if (tag === "refused") return rejected(val);
  return error;
}

/** What an answer other than 200 to 299 means, unless the EHR's own words say more. @param {Answer} answer @param {boolean} reads */
export function faultOfStatus(answer, reads) {
  const { status } = answer;
  const after = retryAfter(answer);
  const reason = `the EHR answered ${status}`;
  if (status === 401 || status === 403) return unauthorized(reason);
  if (status === 408 || status === 425 || status === 429) return retryLater(reason, after);
  if (status === 501) return unsupported(reason);
  if (status === 503 && after !== null) return retryLater(reason, after);
  if (status >= 500) return reads ? retryLater(reason, after) : unknown(reason);
  return rejected(reason);
}

/** The JSON of an answer; undefined where it is none. @param {Answer} answer */
export function json(answer) {
  try {
    return JSON.parse(decode(answer.body));
  } catch {
    return undefined;
  }
}

/** An answer that cannot be understood: a read is tried again; a write may have happened. @param {boolean} reads */
export function notUnderstood(answer, reads) {
  const reason = `the EHR's answer (status ${answer.status}) is not as expected`;
  return reads ? retryLater(reason) : unknown(reason);
}

/** Seconds an answer asks to wait, said as a number or as a date; null where it does not. @param {Answer} answer */
export function retryAfter(answer) {
  const said = answer.headers.find(({ name }) => name.toLowerCase() === "retry-after")?.value.trim() ?? "";
  if (/^\d+$/.test(said)) return Math.min(Number(said), MOST_SECONDS);
  const at = httpDate(said);
  return at === null ? null : Math.min(Math.max(at - clock.now(), 0), MOST_SECONDS);
}
