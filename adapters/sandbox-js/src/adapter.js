// Adapter for the simulated EHR, in JavaScript, with the resources and writes needed for booking. `requests` builds,
// `map` converts, `faults` maps refusals, `lib` contains tools for any adapter, and this file combines them. Every call
// starts with a fresh copy of the state at build time.

import config from "practice-sync:ehr/config@1.0.0";
import log from "practice-sync:ehr/log@1.0.0";

import * as cursors from "./cursor.js";
import * as faults from "./faults.js";
import { adapter } from "./lib/adapter.js";
import { rejected, retryLater, unsupported } from "./lib/fault.js";
import * as http from "./lib/http.js";
import * as map from "./map.js";
import * as requests from "./requests.js";

/**
 * Resource: the EHR's list, the case of the contract's variant, the mapping, and `true` if it belongs to the location.
 */
const PULLS = {
  providers: ["providers", "provider", map.provider, false],
  "appointment-types": ["types", "appointment-type", map.appointmentType, false],
  operatories: ["operatories", "operatory", map.operatory, true],
  patients: ["patients", "patient", map.patient, false],
  "working-hours": ["hours", "working-hour", map.workingHour, true],
  appointments: ["appointments", "appointment", map.appointment, true],
};

/** Write: the EHR's write that it needs, and its implementation. */
const WRITES = {
  "create-patient": ["create_patient", (key, patient) => {
    sayWhatIsLost(patient);
    return post("patients", { ...requests.patient(patient), write_key: key });
  }],
  "update-patient": ["update_patient", (key, change) => {
    sayWhatIsLost(change.patient);
    return patch("patients", change.patient.id, { ...requests.changedPatient(change), write_key: key });
  }],
  "create-appointment": ["create_appointment", (key, { appointment }) =>
    post("appointments", requests.newAppointment(key, location(), appointment))],
  "reschedule-appointment": ["move_appointment", update(requests.reschedule)],
  "confirm-appointment": ["update_appointment", update(requests.confirm)],
  "check-in-appointment": ["update_appointment", update(requests.checkIn)],
  "cancel-appointment": ["cancel_appointment", cancel],
  "note-appointment": ["update_appointment", update(requests.note)],
};

/** The EHR's names of a patient's fields. The names of people are always required. */
const FIELDS = {
  middle_name: "middle-name", born: "date-of-birth", gender: "gender", email: "email", cell: "cell-phone",
  home: "home-phone", work: "work-phone", address: "address", guarantor: "guarantor", provider: "provider",
  chart: "chart-id", language: "preferred-language",
};

const UNKEPT = ["ssn", "work-phone-extension", "billing-type", "premedication", "non-patient", "extra"];

/** @import { Description, Page, Receipt, Resource, Write } from "../types/contract.js" */

/** @returns {Description} */
function describe() {
  return read(requests.ABOUT, (about) => {
    const taken = map.list(about.writes, map.text);
    const needed = map.list(about.required_patient_fields, map.text);
    return {
      name: map.text(about.name),
      version: "0.1.0",
      hosting: "cloud",
      pulls: Object.keys(PULLS).map((resource) => ({ resource, delta: true, deletions: "reported" })),
      writes: Object.keys(WRITES).filter((kind) => taken.includes(WRITES[kind][0])),
      requiredPatientFields: needed.filter((name) => Object.hasOwn(FIELDS, name)).map((name) => FIELDS[name]),
      unkeptPatientFields: UNKEPT,
      maxLengths: [],
      newPatients: map.flag(about.new_patients),
      operatories: true,
      requestsPerMinute: about.requests_per_minute == null ? null : map.number(about.requests_per_minute, 2 ** 32 - 1),
      gated: false,
      extra: [],
    };
  });
}

/** @param {Resource} resource @param {string | null} cursor @param {number} limit @returns {Page} */
function pull(resource, cursor, limit) {
  if (!Object.hasOwn(PULLS, resource)) throw unsupported(`this adapter does not read ${resource}`);
  const [name, tag, made, local] = PULLS[resource];
  const at = cursors.parse(cursor);
  return read(requests.list(name, local ? location() : null, at.revision, limit), (page) => {
    /** @type {[Page["records"], Page["skipped"]]} */
    const [records, skipped] = [[], []];
    for (const record of map.list(page.records, (record) => record)) {
      try {
        records.push({ tag, val: made(record ?? {}) });
      } catch (error) {
        if (!(error instanceof map.Unreadable)) throw error;
        // Without an id the record cannot be skipped.
        if (!isIdentifier(record?.id)) throw retryLater(`a record of ${name}: ${error.message}`);
        skipped.push({ id: record.id, reason: error.message });
      }
    }
    const [revision, more, total] = [map.number(page.revision), map.flag(page.more), map.number(page.total)];
    return {
      records,
      skipped,
      deleted: map.list(page.deleted, map.text),
      cursor: cursors.next(at, revision, more),
      last: !more,
      whole: at.whole,
      estimate: at.whole ? total : null,
    };
  });
}

/** @param {string} key @param {Write} write @returns {Receipt} */
function push(key, { tag, val }) {
  if (!Object.hasOwn(WRITES, tag)) throw unsupported(`this adapter does not write ${tag}`);
  return WRITES[tag][1](key, val);
}

/** @param {string} key @returns {Receipt | null} */
function find(key) {
  const answer = http.send("get", requests.written(key));
  if (answer.status === 200) return understood(answer, receipt, true);
  if (answer.status !== 404) throw faults.ofAnswer(answer, true);
  // Only the EHR's own code counts; a proxy's 404 proves nothing about the write.
  if (faults.code(answer) === "not_found") return null;
  throw retryLater("the EHR's base URL answers 404");
}

function isIdentifier(id) {
  return typeof id === "string" && id !== "" && id.isWellFormed();
}

function location() {
  const key = config.get("location");
  if (key === null || key === undefined) throw rejected("the setting location is missing");
  return key;
}

function sayWhatIsLost(patient) {
  const lost = requests.unsupported(patient);
  if (lost.length > 0) log.write("warn", `the EHR has no field for ${lost.join(", ")}`);
}

function update(body) {
  return (key, { appointment }) => patch("appointments", appointment.id, body(key, appointment));
}

/** Cancels an appointment. One already cancelled by staff counts as cancelled by this write. */
function cancel(key, { appointment, reason }) {
  const { id } = appointment;
  const answer = http.send("patch", requests.record("appointments", id), requests.cancel(key, appointment, reason));
  if (answer.status === 422 && faults.code(answer) === "cancelled") return { id, version: null };
  return judged(answer, receipt, false);
}

const read = (path, made) => judged(http.send("get", path), made, true);
const post = (name, body) => judged(http.send("post", `/v1/${name}`, body), receipt, false);
const patch = (name, id, body) => judged(http.send("patch", requests.record(name, id), body), receipt, false);

function judged(answer, made, reads) {
  if (answer.status < 200 || answer.status > 299) throw faults.ofAnswer(answer, reads);
  return understood(answer, made, reads);
}

/** Converts a response's JSON with `made`. */
function understood(answer, made, reads) {
  try {
    return made(http.json(answer) ?? {});
  } catch (error) {
    throw error instanceof map.Unreadable ? http.notUnderstood(answer, reads) : error;
  }
}

function receipt(written) {
  return { id: map.text(written.id), version: written.version == null ? null : String(map.number(written.version)) };
}

export const ehr = adapter({ describe, pull, push, find });
