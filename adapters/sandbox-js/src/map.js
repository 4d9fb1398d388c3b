// Conversion of the EHR's records to the contract's. An unreadable record throws `Unreadable`; it is skipped, and the
// others are read.

/** @import { Address, Appointment, AppointmentType, Operatory, Patient, Provider, Recurrence, WorkingHour } from "../types/contract.js" */

import clock from "practice-sync:ehr/clock@1.0.0";

import { dayOf, instantOf, instantText, localOf } from "./lib/time.js";

/** The reason for skipping a record; never contains a value of it. */
export class Unreadable extends Error {}

const UNREADABLE = "a field is missing or not as expected";
const CONTRADICTION = "it contradicts itself";
const DAYS = {
  mon: "monday", tue: "tuesday", wed: "wednesday", thu: "thursday", fri: "friday", sat: "saturday", sun: "sunday",
};
const UNITS = { day: "day", week: "week", month: "month" };
const STATUSES = ["scheduled", "confirmed", "arrived", "done", "missed", "cancelled"];
const MOST = 2 ** 32 - 1;

/** Returns a valid field. @template T @param {boolean} right @param {T} value @returns {T} */
function expect(right, value) {
  if (!right) throw new Unreadable(UNREADABLE);
  return value;
}

// An unpaired surrogate, which JSON can escape, is not valid text outside JavaScript.
export const text = (value) => expect(typeof value === "string" && value.isWellFormed(), value);
export const flag = (value) => expect(typeof value === "boolean", value);
export const number = (value, most = Number.MAX_SAFE_INTEGER) =>
  expect(Number.isInteger(value) && value >= 0 && value <= most, value);
export const list = (value, item) => expect(Array.isArray(value), value).map(item);
// Null and a blank text are absent.
const optional = (value, as = text) => (value === null || value === undefined || (typeof value === "string" && value.trim() === "") ? null : as(value));
const date = (value) => {
  const day = dayOf(text(value));
  return /** @type {string} */ (expect(day !== null, day));
};
const oneOf = (words) => (word) => expect(Object.hasOwn(words, word), words[word]);
const object = (value) => expect(typeof value === "object" && value !== null && !Array.isArray(value), value);

/**
 * A time with a zone. Without one it is in the location's zone, and a daylight-saving gap moves it forward by an hour.
 */
function instant(value) {
  const at = instantOf(text(value)) ?? first(localOf(value), 0) ?? first(localOf(value), 3_600);
  return /** @type {number} */ (expect(at !== null, at));
}

function first(local, later) {
  const [at] = local === null ? [] : clock.toInstant(instantText(instantOf(`${local}Z`) + later).slice(0, 19));
  return at === undefined ? null : Number(at);
}

/** @returns {Patient} */
export function patient(p) {
  return {
    id: text(p.id),
    firstName: text(p.first_name),
    middleName: optional(p.middle_name),
    lastName: text(p.last_name),
    dateOfBirth: optional(p.born, date),
    gender: optional(p.gender, (letter) => ({ F: "female", M: "male" })[text(letter)] ?? "other"),
    email: optional(p.email),
    cellPhone: optional(p.cell),
    homePhone: optional(p.home),
    workPhone: optional(p.work),
    workPhoneExtension: null,
    primaryPhone: null,
    address: optional(p.address, address),
    ssn: null,
    guarantor: optional(p.guarantor),
    provider: optional(p.provider),
    billingType: null,
    chartId: optional(p.chart),
    preferredLanguage: optional(p.language),
    premedication: null,
    inactive: flag(p.inactive),
    newPatient: flag(p.new),
    nonPatient: false,
    unsubscribedSms: flag(p.no_texts),
    unsubscribedEmail: flag(p.no_emails),
    extra: [{ name: "version", value: String(number(p.version)) }],
  };
}

/** @returns {Address} */
function address(value) {
  const a = object(value);
  return {
    line1: optional(a.street),
    line2: optional(a.street2),
    city: optional(a.city),
    region: optional(a.state),
    postalCode: optional(a.zip),
    country: optional(a.country),
  };
}

/** @returns {Provider} */
export function provider(p) {
  const [firstName, lastName] = [text(p.first_name), text(p.last_name)];
  return {
    id: text(p.id),
    firstName,
    middleName: null,
    lastName,
    displayName: optional(p.title, (title) => `${firstName} ${lastName}, ${text(title)}`),
    email: optional(p.email),
    npi: optional(p.npi),
    tin: null,
    stateLicense: null,
    specialtyCode: optional(p.specialty),
    inactive: flag(p.retired),
    extra: [],
  };
}

/** @returns {Operatory} */
export function operatory(o) {
  return {
    id: text(o.id),
    name: text(o.name),
    displayName: null,
    active: flag(o.in_use),
    bookableOnline: flag(o.web_booking),
    appointmentTypes: list(o.types, text),
    extra: [],
  };
}

/** @returns {AppointmentType} */
export function appointmentType(t) {
  const [id, name, minutes] = [text(t.id), text(t.name), number(t.minutes, MOST)];
  return { id, name, minutes, bookableOnline: flag(t.web_booking), extra: [] };
}

/** @returns {WorkingHour} */
export function workingHour(h) {
  const days = optional(h.days, (all) => list(all, oneOf(DAYS))) ?? [];
  const specificDate = optional(h.date, date);
  const recurrence = optional(h.every, recurring);
  /** @type {WorkingHour} */
  const hour = {
    id: text(h.id),
    provider: text(h.provider),
    operatory: optional(h.operatory),
    beginTime: text(h.begin),
    endTime: text(h.end),
    days,
    specificDate,
    recurrence,
    kind: flag(h.block) ? "schedulable-block" : "working-hour",
    appointmentTypes: list(h.types, text),
    label: optional(h.label),
    active: flag(h.active),
    extra: [],
  };
  // Exactly one of the three must be given.
  if ([days.length > 0, specificDate !== null, recurrence !== null].filter(Boolean).length !== 1) {
    throw new Unreadable(CONTRADICTION);
  }
  return hour;
}

/** @returns {Recurrence} */
function recurring(value) {
  const every = object(value);
  return { number: number(every.number, MOST), unit: oneOf(UNITS)(every.unit), reference: date(every.from) };
}

/** @returns {Appointment} */
export function appointment(a) {
  const status = expect(STATUSES.includes(a.status), a.status);
  const [start, end] = [instant(a.start), instant(a.end)];
  const made = {
    id: text(a.id),
    patient: optional(a.patient),
    provider: optional(a.provider),
    operatory: optional(a.operatory),
    appointmentType: optional(a.type),
    start,
    end,
    note: optional(a.note),
    unavailable: flag(a.blocked),
    cancelled: status === "cancelled",
    confirmed: ["confirmed", "arrived", "done"].includes(status),
    patientConfirmed: flag(a.patient_confirmed),
    patientMissed: status === "missed",
    checkinAt: optional(a.arrived_at, instant),
    checkedOutAt: optional(a.left_at, instant),
    writeKey: optional(a.write_key),
    version: String(number(a.version)),
    extra: optional(a.reason) === null ? [] : [{ name: "reason", value: a.reason }],
  };
  if (end <= start) throw new Unreadable(CONTRADICTION);
  return made;
}
