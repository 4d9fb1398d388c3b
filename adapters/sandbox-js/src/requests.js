// The EHR's requests: paths, and bodies of writes. The contract's records are in camel case, with null for a missing
// value.

import { instantText } from "./lib/time.js";

export const ABOUT = "/v1/about";

const GENDERS = { female: "F", male: "M", other: "X" };

/** Returns the path of a list after a revision. Shared records have no location. */
export function list(name, location, since, limit) {
  const at = location === null ? "" : `location=${encodeURIComponent(location)}&`;
  return `/v1/${name}?${at}since=${since}&limit=${limit}`;
}

export const written = (key) => `/v1/writes/${encodeURIComponent(key)}`;
export const record = (name, id) => `/v1/${name}/${encodeURIComponent(id)}`;

/** Returns the fields of a patient without unknown ones. */
export function patient(p) {
  return known({
    first_name: p.firstName,
    middle_name: p.middleName,
    last_name: p.lastName,
    born: p.dateOfBirth,
    gender: GENDERS[p.gender],
    email: p.email,
    cell: p.cellPhone ?? p.primaryPhone,
    home: p.homePhone,
    work: p.workPhone,
    address: p.address && address(p.address),
    guarantor: p.guarantor,
    provider: p.provider,
    chart: p.chartId,
    language: p.preferredLanguage,
    inactive: p.inactive,
    new: p.newPatient,
    no_texts: p.unsubscribedSms,
    no_emails: p.unsubscribedEmail,
  });
}

/** Returns the changed fields of a patient, line by line for an address; null for cleared fields. */
export function changedPatient({ patient: wanted, before }) {
  return before ? differing(patient(before), patient(wanted)) : patient(wanted);
}

/** Returns the names of fields that the EHR cannot store, for the log. */
export function unsupported(p) {
  const lost = {
    ssn: p.ssn,
    "work-phone-extension": p.workPhoneExtension,
    "billing-type": p.billingType,
    premedication: p.premedication,
    "non-patient": p.nonPatient,
    extra: p.extra.length > 0,
  };
  return Object.keys(lost).filter((name) => lost[name]);
}

export function newAppointment(key, location, a) {
  return known({
    write_key: key,
    location,
    patient: a.patient,
    ...place(a),
    note: a.note,
    blocked: a.unavailable,
    status: a.confirmed ? "confirmed" : "scheduled",
    patient_confirmed: a.patientConfirmed,
  });
}

export const reschedule = (key, a) => change(key, a, place(a));
export const cancel = (key, a, reason) => change(key, a, { status: "cancelled", reason });
export const note = (key, a) => change(key, a, { note: a.note ?? "" });

export function confirm(key, a) {
  return change(key, a, { status: a.confirmed ? "confirmed" : null, patient_confirmed: a.patientConfirmed });
}

export function checkIn(key, a) {
  return change(key, a, { status: "arrived", arrived_at: a.checkinAt === null ? null : instantText(a.checkinAt) });
}

function place(a) {
  const { provider, operatory } = a;
  return { provider, operatory, type: a.appointmentType, start: instantText(a.start), end: instantText(a.end) };
}

/** Returns an update with the expected version if the engine knows one. */
function change(key, a, fields) {
  const version = /^\d{1,15}$/.test(a.version ?? "") ? Number(a.version) : null;
  return known({ ...fields, write_key: key, version });
}

function address(a) {
  return known({ street: a.line1, street2: a.line2, city: a.city, state: a.region, zip: a.postalCode, country: a.country });
}

/** Removes fields with null, because null would clear a field. */
function known(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

/** Returns the differences between two objects on every level; null for removed fields. */
function differing(before, wanted) {
  const changed = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(wanted)])) {
    const [was, is] = [before[name], wanted[name]];
    if (was === is) continue;
    if (typeof was !== "object" || typeof is !== "object") {
      changed[name] = is ?? null;
      continue;
    }
    const inside = differing(was, is);
    if (Object.keys(inside).length > 0) changed[name] = inside;
  }
  return changed;
}
