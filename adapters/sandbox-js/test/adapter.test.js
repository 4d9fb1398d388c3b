import assert from "node:assert/strict";
import { test } from "node:test";

import { host, faultOf } from "./answers.js";
import { ehr } from "../src/adapter.js";

const ABOUT = {
  name: "Sandbox", writes: ["create_patient", "update_appointment", "move_appointment", "create_payment"],
  new_patients: true,
  required_patient_fields: ["born", "cell", "first_name"], requests_per_minute: null,
};
const APPOINTMENT = {
  id: "A-1", version: 3, patient: "P-1", provider: "D-1", operatory: "O-1", type: "T-1", start: "2026-12-01T09:00:00-05:00",
  end: "2026-12-01T09:30:00-05:00", note: "Zähne 🦷", status: "arrived", reason: null, blocked: false, patient_confirmed: true,
  arrived_at: "2026-12-01T13:55:00Z", left_at: null, write_key: "ps-1",
};
const page = (...records) => ({ json: { records, deleted: ["A-9"], revision: 7, more: false, total: 2 } });

/** An appointment in the engine's format. */
const booked = (changes = {}) => ({
  id: "A-1", patient: "P-1", provider: "D-1", operatory: null, appointmentType: null, start: 1_795_212_900, end: 1_795_214_700,
  note: null, unavailable: false, cancelled: false, confirmed: false, patientConfirmed: false, patientMissed: false,
  checkinAt: null, checkedOutAt: null, writeKey: null, version: "3", extra: [], ...changes,
});

/** A patient in the engine's format. */
const person = (changes = {}) => ({
  id: "P-1", firstName: "Zoë", middleName: null, lastName: "Łopata", dateOfBirth: "1990-02-28", gender: "female", email: null,
  cellPhone: "312", homePhone: null, workPhone: null, workPhoneExtension: null, primaryPhone: null,
  address: { line1: "1 Elm St", line2: null, city: "Peoria", region: null, postalCode: null, country: null },
  ssn: null, guarantor: null, provider: null, billingType: null, chartId: null, preferredLanguage: null, premedication: null,
  inactive: false, newPatient: false, nonPatient: false, unsubscribedSms: false, unsubscribedEmail: false, extra: [], ...changes,
});

test("it describes what it can and the EHR takes", () => {
  host(() => ({ json: ABOUT }));
  const described = ehr.describe();
  assert.deepEqual(described.writes, ["create-patient", "reschedule-appointment", "confirm-appointment", "check-in-appointment",
    "note-appointment"]);
  assert.deepEqual(described.requiredPatientFields, ["date-of-birth", "cell-phone"]);
  assert.equal(described.requestsPerMinute, null);
  host(() => ({ json: { ...ABOUT, writes: "all" } }));
  assert.equal(faultOf(ehr.describe).tag, "retry-later");
});

test("what it cannot do it says without a request", () => {
  const { requests } = host(() => ({}));
  assert.equal(faultOf(() => ehr.pull("claims", null, 10)).tag, "unsupported");
  assert.equal(faultOf(() => ehr.push("ps-1", { tag: "create-payment", val: {} })).tag, "unsupported");
  assert.equal(faultOf(() => ehr.pull("patients", "of another", 10)).tag, "rejected");
  assert.deepEqual(requests, []);
});

test("a page has records, what is skipped, and where to go on", () => {
  const { requests } = host(() => page(APPOINTMENT, { ...APPOINTMENT, id: "A-2", start: "yesterday" }, { ...APPOINTMENT, id: "A-3", note: 1 },
    { ...APPOINTMENT, id: "A-4", note: "\ud83e" }));
  const read = ehr.pull("appointments", null, 50);
  assert.equal(requests[0].path, "/v1/appointments?location=main%20street&since=0&limit=50");
  assert.deepEqual(read.skipped, [
    { id: "A-2", reason: "a field is missing or not as expected" },
    { id: "A-3", reason: "a field is missing or not as expected" },
    { id: "A-4", reason: "a field is missing or not as expected" },
  ]);
  const [{ tag, val }] = read.records;
  assert.equal(read.records.length, 1);
  assert.equal(tag, "appointment");
  const { start, end, checkinAt, confirmed, cancelled, version, note, writeKey } = val;
  assert.deepEqual({ start, end, checkinAt, confirmed, cancelled, version, note, writeKey }, {
    start: 1_796_133_600, end: 1_796_135_400, checkinAt: 1_796_133_300, confirmed: true, cancelled: false, version: "3",
    note: "Zähne 🦷", writeKey: "ps-1",
  });
  const { deleted, cursor, last, whole, estimate } = read;
  assert.deepEqual({ deleted, cursor, last, whole, estimate }, { deleted: ["A-9"], cursor: "delta:7", last: true, whole: true, estimate: 2 });
});

test("what cannot be read is skipped, and not shown without it", () => {
  const patient = { id: "P-1", version: 1, first_name: "Zoë", last_name: "", inactive: false, new: false, no_texts: false, no_emails: false };
  const read = (resource, ...records) => {
    host(() => page(...records));
    const { records: shown, skipped } = ehr.pull(resource, null, 50);
    return { shown: shown.map(({ val }) => val), skipped: skipped.map(({ id }) => id) };
  };
  for (const field of ["start", "end", "arrived_at", "left_at"]) {
    for (const value of ["soon", "2026-02-30T10:00:00Z", "12/1/2026 9:00", 7, "2026-12-01"]) {
      assert.deepEqual(read("appointments", { ...APPOINTMENT, [field]: value }).skipped, ["A-1"], `${field} ${value}`);
    }
  }
  for (const born of ["soon", "2026-02-30", 7]) assert.deepEqual(read("patients", { ...patient, born }).skipped, ["P-1"], String(born));
  for (const start of ["2026-12-01T14:00:00Z", "2026-12-01T09:00", "2026-12-01 09:00:00", "2026-12-01T15:00+0100"]) {
    assert.equal(read("appointments", { ...APPOINTMENT, start }).shown[0].start, 1_796_133_600, start);
  }
  // In the daylight-saving gap.
  assert.equal(read("appointments", { ...APPOINTMENT, start: "2026-12-01T02:30:00" }).shown[0].start, 1_796_113_800);
  for (const absent of [null, "", " ", undefined]) {
    const visit = read("appointments", { ...APPOINTMENT, arrived_at: absent, note: absent, patient: absent }).shown[0];
    assert.deepEqual([visit.checkinAt, visit.note, visit.patient], [null, null, null]);
    const person = read("patients", { ...patient, email: absent, born: absent, address: absent }).shown[0];
    assert.deepEqual([person.email, person.dateOfBirth, person.address, person.lastName], [null, null, null, ""]);
  }
  assert.equal(read("patients", { ...patient, born: "1940-01-01T00:00:00.000+0000" }).shown[0].dateOfBirth, "1940-01-01");
});

test("a pass goes on where it was, and a delta is not whole", () => {
  const { requests } = host(() => ({ json: { records: [], deleted: [], revision: 40, more: true, total: 90 } }));
  assert.equal(ehr.pull("patients", "whole:20", 20).cursor, "whole:40");
  const delta = ehr.pull("patients", "delta:20", 20);
  assert.deepEqual([delta.cursor, delta.whole, delta.estimate], ["delta:40", false, null]);
  assert.deepEqual(requests.map(({ path }) => path), Array(2).fill("/v1/patients?since=20&limit=20"));
});

test("a record without identifier keeps the page from being read", () => {
  for (const record of [null, 5, {}, { ...APPOINTMENT, id: "", start: "" }, { ...APPOINTMENT, id: 1 }]) {
    host(() => page(record));
    assert.equal(faultOf(() => ehr.pull("appointments", null, 5)).tag, "retry-later", JSON.stringify(record));
  }
});

test("hours apply in exactly one way", () => {
  const hours = { id: "H-1", provider: "D-1", begin: "08:00", end: "24:00", block: false, types: [], active: true };
  const skips = (...records) => {
    host(() => page(...records));
    return ehr.pull("working-hours", null, 5).skipped.length;
  };
  const [days, date, every] = [["mon"], "2026-12-01", { number: 2, unit: "week", from: "2026-12-01" }];
  assert.equal(skips({ ...hours, days }, { ...hours, date }, { ...hours, every }), 0);
  assert.equal(skips(hours, { ...hours, days, date }, { ...hours, days: ["someday"] }, { ...hours, days: ["constructor"] }), 4);
});

test("only what changed of a patient is written", () => {
  const { requests } = host(() => ({ json: { id: "P-1", version: 4 } }));
  const before = person({ email: "zoe@mail.example" });
  const patient = person({ cellPhone: "773", address: { ...before.address, city: "Chicago" } });
  assert.deepEqual(ehr.push("ps-1", { tag: "update-patient", val: { patient, before } }), { id: "P-1", version: "4" });
  ehr.push("ps-1", { tag: "update-patient", val: { patient: person({ address: null }), before: person() } });
  ehr.push("ps-1", { tag: "update-patient", val: { patient: person(), before: null } });
  assert.deepEqual(requests[0].json, { cell: "773", email: null, address: { city: "Chicago" }, write_key: "ps-1" });
  assert.deepEqual(requests[1].json, { address: null, write_key: "ps-1" });
  assert.deepEqual([requests[2].json.last_name, requests[2].json.gender], ["Łopata", "F"]);
});

test("what the EHR has no field for is said in the log", () => {
  const { lines } = host(() => ({ json: { id: "P-2" } }));
  const lost = person({ id: "", ssn: "1", extra: [{ name: "a", value: "b" }] });
  assert.deepEqual(ehr.push("ps-1", { tag: "create-patient", val: lost }), { id: "P-2", version: null });
  assert.deepEqual(lines, ["warn the EHR has no field for ssn, extra"]);
});

test("each change of an appointment says what changes, the key and the version", () => {
  const { requests } = host(() => ({ json: { id: "A-1", version: 4 } }));
  const written = (tag, appointment, reason = null) => {
    ehr.push("ps-1", { tag, val: { appointment, reason } });
    return requests.at(-1);
  };
  const frame = { write_key: "ps-1", version: 3 };
  assert.deepEqual(written("reschedule-appointment", booked()).json,
    { ...frame, provider: "D-1", start: "2026-11-20T22:15:00Z", end: "2026-11-20T22:45:00Z" });
  assert.deepEqual(written("confirm-appointment", booked({ confirmed: true })).json,
    { ...frame, status: "confirmed", patient_confirmed: false });
  assert.deepEqual(written("check-in-appointment", booked({ checkinAt: 0 })).json,
    { ...frame, status: "arrived", arrived_at: "1970-01-01T00:00:00Z" });
  assert.deepEqual(written("cancel-appointment", booked(), "ill").json, { ...frame, status: "cancelled", reason: "ill" });
  assert.deepEqual(written("note-appointment", booked({ version: "W/x" })).json, { write_key: "ps-1", note: "" });
  assert.deepEqual([requests[0].method, requests[0].path], ["patch", "/v1/appointments/A-1"]);
  assert.deepEqual(written("create-appointment", booked({ id: "" })).json, {
    write_key: "ps-1", location: "main street", patient: "P-1", provider: "D-1", start: "2026-11-20T22:15:00Z",
    end: "2026-11-20T22:45:00Z", blocked: false, status: "scheduled", patient_confirmed: false,
  });
  assert.equal(requests.at(-1).path, "/v1/appointments");
});

test("what is cancelled already is cancelled", () => {
  const cancel = (status, error) => {
    host(() => ({ status, json: { error } }));
    return ehr.push("ps-1", { tag: "cancel-appointment", val: { appointment: booked(), reason: null } });
  };
  assert.deepEqual(cancel(422, "cancelled"), { id: "A-1", version: null });
  assert.equal(faultOf(() => cancel(409, "stale")).val, "the record was changed in the EHR since it was read");
});

test("a refusal has its reason and nothing of the patient", () => {
  const refused = (answer) => {
    host(() => answer);
    return faultOf(() => ehr.push("ps-1", { tag: "create-patient", val: person() }));
  };
  const message = "Zoë Łopata is on file already";
  assert.deepEqual(refused({ status: 409, json: { error: "duplicate_patient", message } }),
    { tag: "rejected", val: "the EHR has a patient with this name and date of birth" });
  assert.deepEqual(refused({ status: 422, json: { error: 'Łopata\n"Zoë"; cell=+1 (312)' } }),
    { tag: "rejected", val: "the EHR refuses it: opataZo cell1 312" });
  assert.deepEqual(refused({ status: 409, body: Uint8Array.of(60) }), { tag: "rejected", val: "the EHR answered 409" });
  assert.equal(refused({ status: 422, json: { error: "constructor" } }).val, "the EHR refuses it: constructor");
  assert.equal(refused({ status: 501 }).tag, "unsupported");
  assert.deepEqual(refused({ status: 503 }).val, { reason: "the EHR is closed for maintenance", seconds: null });
  assert.equal(refused({ status: 502 }).tag, "unknown");
});

test("an answer that is none: a read is tried again, a write may have happened", () => {
  const bodies = [[], [0xff]].map((bytes) => ({ body: Uint8Array.from(bytes) }));
  const values = [null, [], { id: 5 }, { id: "P-1", version: -1 }].map((json) => ({ json }));
  for (const answer of [...bodies, ...values]) {
    host(() => answer);
    assert.equal(faultOf(() => ehr.push("ps-1", { tag: "create-patient", val: person() })).tag, "unknown");
    assert.equal(faultOf(() => ehr.find("ps-1")).tag, "retry-later");
    assert.equal(faultOf(() => ehr.pull("patients", null, 5)).tag, "retry-later");
  }
});

test("none is found only where the EHR itself says so", () => {
  const find = (answer) => {
    const { requests } = host(() => answer);
    const found = ehr.find("ps-1");
    assert.equal(requests[0].path, "/v1/writes/ps-1");
    return found;
  };
  assert.deepEqual(find({ json: { id: "A-1", version: 2 } }), { id: "A-1", version: "2" });
  assert.equal(find({ status: 404, json: { error: "not_found" } }), null);
  for (const status of [404, 410, 500, 502, 503]) {
    assert.notEqual(faultOf(() => find({ status, json: { error: "no_route" } })), null, String(status));
  }
  assert.equal(faultOf(() => find({ status: 404, body: Uint8Array.of() })).tag, "retry-later");
  assert.equal(faultOf(() => find({ status: 401 })).tag, "unauthorized");
});
