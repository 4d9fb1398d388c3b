// Faults for the EHR's refusals.

import { rejected, retryLater, unsupported } from "./lib/fault.js";
import { faultOfStatus, json, retryAfter } from "./lib/http.js";

/** Sentences for the EHR's codes. */
const REASONS = new Map(
  Object.entries({
    slot_taken: "the operatory is occupied at that time",
    stale: "the record was changed in the EHR since it was read",
    cancelled: "the appointment is cancelled in the EHR",
    duplicate_patient: "the EHR has a patient with this name and date of birth",
    new_patients_refused: "the practice takes no new patients",
    missing_field: "the EHR needs a field that is not given",
    not_found: "the EHR has no such record",
    unknown_patient: "the EHR has no such patient",
    unknown_provider: "the EHR has no such provider",
    unknown_operatory: "the location has no such operatory",
    unknown_type: "the EHR has no such appointment type",
    unknown_reference: "it refers to a record the EHR does not have",
    rehearsal: "the simulated EHR refuses what is written for a patient of this name",
    in_the_past: "the appointment is over already",
  }),
);

/**
 * Maps a response outside 200 to 299 to a fault.
 * @param {import("./lib/http.js").Answer} answer
 * @param {boolean} reads the request changed nothing
 */
export function ofAnswer(answer, reads) {
  const { status } = answer;
  if (status === 501) return unsupported("the EHR has no such write");
  // The EHR responds with 503 before it handles a request.
  if (status === 503) return retryLater("the EHR is closed for maintenance", retryAfter(answer));
  if ([400, 404, 409, 422].includes(status)) return rejected(reason(answer));
  return faultOfStatus(answer, reads);
}

/**
 * Returns the code of a refusal, or undefined. @param {import("./lib/http.js").Answer} answer @returns {string |
 * undefined}
 */
export function code(answer) {
  const word = json(answer)?.error;
  return typeof word === "string" ? word : undefined;
}

/** Returns the reason of a refusal. The `message` may name the patient and is never passed on. */
function reason(answer) {
  const word = code(answer);
  if (word === undefined) return `the EHR answered ${answer.status}`;
  return REASONS.get(word) ?? `the EHR refuses it: ${word.replace(/[^A-Za-z0-9_ -]/g, "").slice(0, 80)}`;
}
