// Generated from wit/v1 by adapters/kit/tests/typings.rs.
// The contract as an adapter in JavaScript sees it. A missing value is null, and a fault is thrown.

/** A postal address. */
export interface Address {
  /** First street line. */
  line1: string | null;
  /** Second street line. */
  line2: string | null;
  /** City. */
  city: string | null;
  /** State or region. */
  region: string | null;
  /** Postal code. */
  postalCode: string | null;
  /** ISO 3166-1 code of two letters, for example `US`. */
  country: string | null;
}

/** An adjustment on the ledger. */
export interface Adjustment {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The responsible party, a patient of the same EHR. */
  guarantor: ForeignId | null;
  /** The provider. */
  provider: ForeignId | null;
  /** The charge it changes. */
  charge: ForeignId | null;
  /** The claim it belongs to. */
  claim: ForeignId | null;
  /** The kind of adjustment. */
  adjustmentType: ForeignId | null;
  /** Amount of the adjustment. */
  amount: Money;
  /** Date of the adjustment. */
  adjustedAt: Date | null;
  /** Identifier of the transaction at its processor. */
  transactionId: string | null;
  /** Description; long. */
  description: string | null;
  /** Parts by charge. */
  chargeSplits: Split[];
  /** Parts by provider. */
  providerSplits: Split[];
  /** Anything else. */
  extra: Extra;
}

/** Which way an adjustment goes. */
export type AdjustmentAction =
  /** The patient owes less. */
  | "credit"
  /** The patient owes more. */
  | "debit"
  /** The EHR does not say. */
  | "unknown";

/** A kind of adjustment. */
export interface AdjustmentType {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Name. */
  name: string;
  /** In use. */
  active: boolean;
  /** Which way adjustments of this kind go. */
  action: AdjustmentAction;
  /** Anything else. */
  extra: Extra;
}

/** An appointment, or a block of unavailable time (`unavailable`, without patient). */
export interface Appointment {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The provider. */
  provider: ForeignId | null;
  /** The operatory. */
  operatory: ForeignId | null;
  /** The appointment type. */
  appointmentType: ForeignId | null;
  /** Start. */
  start: Instant;
  /** End, after start. */
  end: Instant;
  /** Free text; long. */
  note: string | null;
  /** A block of time, not a visit. */
  unavailable: boolean;
  /** Cancelled or broken. */
  cancelled: boolean;
  /** Confirmed by the practice. */
  confirmed: boolean;
  /** Confirmed by the patient. */
  patientConfirmed: boolean;
  /** The patient did not come. */
  patientMissed: boolean;
  /** Checked in at. */
  checkinAt: Instant | null;
  /** Checked out at. */
  checkedOutAt: Instant | null;
  /** The write key, where the EHR kept the one our write sent, exactly as it was sent; at most 500 bytes, never cut. */
  writeKey: string | null;
  /**
   * Version tag of the record in the EHR, sent back with an update so that the EHR can refuse a stale one; at most 500 bytes,
   * never cut.
   */
  version: string | null;
  /** Anything else. */
  extra: Extra;
}

/** An appointment to write. Patients already have their foreign id. */
export interface AppointmentChange {
  /** The record as it should be; `id` is empty in a create. */
  appointment: Appointment;
  /** Why it is cancelled or moved, if a client gave a reason. */
  reason: string | null;
}

/** A descriptor an EHR attaches to appointments or types (procedure code, reason, colour). */
export interface AppointmentDescriptor {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Kind of descriptor. */
  kind: string;
  /** Name. */
  name: string;
  /** Code. */
  code: string | null;
  /** In use. */
  active: boolean;
  /** Anything else. */
  extra: Extra;
}

/** A kind of appointment. */
export interface AppointmentType {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Name. */
  name: string;
  /** Length in minutes, 1 to 1,440. */
  minutes: number;
  /** May be booked online. */
  bookableOnline: boolean;
  /** Anything else. */
  extra: Extra;
}

/** A balance by age in days: of a guarantor, or an insurance's estimate for a patient. */
export interface Balance {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The responsible party, a patient of the same EHR. */
  guarantor: ForeignId | null;
  /** Sum of all ages. */
  total: Money | null;
  /** Expected to be written off. */
  writeOffEstimate: Money | null;
  /** Expected from insurance. */
  insuranceEstimate: Money | null;
  /** What remains for the guarantor. */
  guarantorPortion: Money | null;
  /** Up to 30 days old. */
  under30: Money | null;
  /** 31 to 60 days old. */
  from31To60: Money | null;
  /** 61 to 90 days old. */
  from61To90: Money | null;
  /** Older than 90 days. */
  over90: Money | null;
  /** Billed, up to 30 days old. */
  billedUnder30: Money | null;
  /** Billed, 31 to 60 days old. */
  billed31To60: Money | null;
  /** Billed, 61 to 90 days old. */
  billed61To90: Money | null;
  /** Billed, older than 90 days. */
  billedOver90: Money | null;
  /** Anything else. */
  extra: Extra;
}

/** A charge on the ledger. */
export interface Charge {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The responsible party, a patient of the same EHR. */
  guarantor: ForeignId | null;
  /** The provider. */
  provider: ForeignId | null;
  /** The procedure charged for. */
  procedure: ForeignId | null;
  /** Its procedure code. */
  procedureCode: string | null;
  /** Description; long. */
  description: string | null;
  /** Amount charged. */
  fee: Money | null;
  /** Date of the charge. */
  chargedAt: Date | null;
  /** Anything else. */
  extra: Extra;
}

/** An insurance claim. */
export interface Claim {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The provider. */
  provider: ForeignId | null;
  /** The responsible party, a patient of the same EHR. */
  guarantor: ForeignId | null;
  /** How it stands. */
  status: ClaimStatus | null;
  /** When it was sent. */
  sentAt: Instant | null;
  /** When its answer was received. */
  receivedAt: Instant | null;
  /** Free text; long. */
  note: string | null;
  /** The patient's primary plan. */
  primaryPlan: ForeignId | null;
  /** The patient's secondary plan. */
  secondaryPlan: ForeignId | null;
  /** Date of service. */
  dateOfService: Date | null;
  /** Sums over the claim. */
  totals: ClaimAmounts;
  /** Amounts by charge. */
  payouts: ClaimAmounts[];
  /** Anything else. */
  extra: Extra;
}

/** What a claim says of one charge, or in total. */
export interface ClaimAmounts {
  /** The charge; none in a total. */
  charge: ForeignId | null;
  /** Billed to the payer. */
  billed: Money | null;
  /** Expected from the payer. */
  estimated: Money | null;
  /** Paid by the payer. */
  paid: Money | null;
  /** Written off. */
  writeOff: Money | null;
  /** Allowed by the payer. */
  allowed: Money | null;
}

/** How a claim stands. */
export type ClaimStatus =
  /** Not sent yet. */
  | { tag: "draft" }
  /** Sent to the payer. */
  | { tag: "sent" }
  /** Answered by the payer. */
  | { tag: "received" }
  /** Withdrawn. */
  | { tag: "canceled" }
  /** Another word of the EHR: the claim is kept without a status, the word in its `extra` as `status`. */
  | { tag: "other"; val: string };

/** A clinical note. */
export interface ClinicalNote {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The procedure it is about. */
  procedure: ForeignId | null;
  /** When it was entered. */
  enteredAt: Instant | null;
  /** Text of the note; long. */
  content: string;
  /** Signed by the provider. */
  signed: boolean | null;
  /** Completed. */
  completed: boolean | null;
  /** Anything else. */
  extra: Extra;
}

/** Which way a communication went, seen from the practice. */
export type CommunicationDirection =
  | "sent"
  | "received";

/** An entry of a patient's communication log. */
export interface CommunicationLog {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId;
  /** What was said or written; long. */
  note: string;
  /** How somebody was reached. */
  mode: CommunicationMode;
  /** Who said it. */
  direction: CommunicationDirection;
  /** When it took place. */
  occurredAt: Instant;
  /** Anything else. */
  extra: Extra;
}

/** How somebody was reached. */
export type CommunicationMode =
  /** The EHR names no mode, or one without a case here. */
  | "none"
  /** E-mail. */
  | "email"
  /** Letter. */
  | "mail"
  /** Telephone. */
  | "phone"
  /** In person. */
  | "in-person"
  /** Text message. */
  | "text";

/** A conversation the EHR keeps. */
export interface Conversation {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** Subject. */
  subject: string | null;
  /** The messages, earliest first. */
  messages: Message[];
  /** Anything else. */
  extra: Extra;
}

/** A patient's coverage by a plan. */
export interface Coverage {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId;
  /** The insurance plan. */
  plan: ForeignId;
  /** What the patient is to the subscriber. */
  relation: Relation;
  /** 1 is primary, 2 secondary; 1 to 1,000. */
  priority: number | null;
  /** The subscriber, where they are a patient of the same EHR. */
  subscriber: ForeignId | null;
  /** Name of the subscriber. */
  subscriberName: string | null;
  /** Date of birth of the subscriber. */
  subscriberDateOfBirth: Date | null;
  /** Number of the subscriber at the payer. */
  subscriberNumber: string | null;
  /** First day of coverage. */
  effectiveDate: Date | null;
  /** Last day of coverage. */
  expirationDate: Date | null;
  /** What the plan insures. */
  insuranceType: InsuranceType | null;
  /** In force. */
  active: boolean;
  /** Anything else. */
  extra: Extra;
}

/** A calendar date, `YYYY-MM-DD`, in the years 0001 to 9999. */
export type Date = string;

/** How the end of a pass tells deletions. */
export type Deletions =
  /** The EHR reports deleted records in `page.deleted`. */
  | "reported"
  /** A whole pass shows every record there is: what it does not show is gone. One that shows nothing at all is not believed. */
  | "by-absence";

/** What this EHR can do, and its limits. */
export interface Description {
  /** Name of the EHR to show, for example `Open Dental`; not empty. */
  name: string;
  /** Version of this adapter. */
  version: string;
  /** Where the EHR runs. */
  hosting: Hosting;
  /** What can be pulled, in the order in which it should be; each resource at most once. */
  pulls: PullAbility[];
  /** What can be written. What is not named is refused to clients at once. */
  writes: WriteKind[];
  /**
   * Patient fields it needs to create a patient, besides names and date of birth. Any of the phone numbers asks for one: a new
   * patient has a single one, in `cell-phone`. A field that clients cannot give keeps new patients out. At most 200.
   */
  requiredPatientFields: PatientField[];
  /** Fields of a patient it has no place for. Clients are told when they send one. At most 200. */
  unkeptPatientFields: PatientField[];
  /** Longest values it takes, at most 200. Clients are warned of a longer one; it is sent all the same. */
  maxLengths: MaxLength[];
  /** Creates patients. */
  newPatients: boolean;
  /** Appointments carry an operatory. */
  operatories: boolean;
  /** Requests a minute it bears, at least 1; none where it names no limit. The lower of this and the manifest's counts. */
  requestsPerMinute: number | null;
  /** Writes go through a workstation (`gate`). */
  gated: boolean;
  /** Anything else; nobody is shown it yet. */
  extra: Extra;
}

/** Metadata of a document kept in the EHR. */
export interface Document {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId;
  /** File name. */
  filename: string;
  /** Media type, for example `application/pdf`. */
  mediaType: string;
  /** The kind of document. */
  documentType: ForeignId | null;
  /** When it was created. */
  createdAt: Instant | null;
  /** Anything else. */
  extra: Extra;
}

/** A kind of document. */
export interface DocumentType {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Name. */
  name: string;
  /** In use. */
  active: boolean;
  /** Anything else. */
  extra: Extra;
}

/** Why there is no answer. */
export type Error =
  /** Nothing was sent: the name did not resolve or nobody accepted the connection. */
  | { tag: "not-sent"; val: string }
  /** It may have been sent and acted upon: the answer timed out, broke off or was too large. */
  | { tag: "no-answer"; val: string }
  /** The engine refuses this request: path, header or size outside what the location allows. */
  | { tag: "refused"; val: string };

/** What an EHR knows beyond the fields of a record, at most 64 values. In a write: what a client gave beyond them. */
export type Extra = ExtraValue[];

/** A value an EHR has beyond the fields of a record. */
export interface ExtraValue {
  /** Its name, 1 to 200 bytes. */
  name: string;
  /** The value, cut after 4,096 bytes. */
  value: string;
}

/**
 * Why a call did not succeed, by what the engine does next. A reason is cut after 500 bytes and shown to operators and clients:
 * no patient data in it. `wit/README.md` says what each of them does in which call.
 */
export type Fault =
  /** The EHR said no; the same write will never be accepted. */
  | { tag: "rejected"; val: string }
  /** Nothing was written; try again. */
  | { tag: "retry-later"; val: RetryLater }
  /** It may have been written: the engine looks it up by write key before any resend. */
  | { tag: "unknown"; val: string }
  /** The credentials were not accepted. */
  | { tag: "unauthorized"; val: string }
  /** This EHR cannot do it. */
  | { tag: "unsupported"; val: string }
  /** The workstation gate is closed. */
  | { tag: "gate-closed" };

/** The fee of one procedure code in a fee schedule. */
export interface Fee {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The fee schedule. */
  feeSchedule: ForeignId;
  /** The procedure code, by its identifier. */
  procedureCode: ForeignId | null;
  /** The procedure code itself. */
  code: string | null;
  /** The fee. */
  amount: Money;
  /** Anything else. */
  extra: Extra;
}

/** A list of fees. */
export interface FeeSchedule {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Name. */
  name: string;
  /** In use. */
  active: boolean | null;
  /** Anything else. */
  extra: Extra;
}

/**
 * The identifier of a record in the EHR. Opaque to the engine, compared byte by byte; 1 to 200 bytes, no control characters.
 * Empty only as the `id` of a record in a write that creates it.
 */
export type ForeignId = string;

/** A patient's answers to a form. */
export interface FormResponse {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId;
  /** The form that was answered. */
  formSchema: ForeignId;
  /**
   * The answers as a JSON object, their names those of the form's components. At most 65,536 bytes. A text for the same
   * reason as the form's components.
   */
  answersJson: string;
  /** When it was submitted. */
  submittedAt: Instant;
  /** Anything else. */
  extra: Extra;
}

/** A patient intake form. */
export interface FormSchema {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Title to show. */
  title: string;
  /** Short name for addresses. */
  slug: string | null;
  /** Version of the form. */
  version: string | null;
  /**
   * The form's components as a JSON object: `{"components": [...]}`. At most 65,536 bytes. A text, because what a component
   * may have is the form designer's, and grows with it.
   */
  schemaJson: string;
  /** Anything else. */
  extra: Extra;
}

/** Gender of a person. */
export type Gender =
  /** Male. */
  | "male"
  /** Female. */
  | "female"
  /** Any other that the EHR states; none where it states nothing. */
  | "other";

/** A header of a request or an answer. */
export interface Header {
  /** Its name, 1 to 100 bytes. */
  name: string;
  /** Its value, at most 8,192 bytes. */
  value: string;
}

/** The three catalogues of medical history. */
export type HistoryCategory =
  | "allergies"
  | "conditions"
  | "medications";

/** An entry of a medical history catalogue. */
export interface HistoryItem {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Catalogue it belongs to. */
  category: HistoryCategory;
  /** Name. */
  name: string;
  /** Anything else. */
  extra: Extra;
}

/** Where an EHR runs. */
export type Hosting =
  /** At its vendor. */
  | "cloud"
  /** In the practice. */
  | "onprem";

/** What a working hour is. */
export type HourKind =
  /** Ordinary working hours. */
  | "working-hour"
  /** A block of the schedule set aside for certain appointment types. */
  | "schedulable-block";

/**
 * Seconds since 1970-01-01T00:00:00Z, without leap seconds, in the years 1 to 9999. Adapters convert a local time of the office
 * with `clock.to-instant`.
 */
export type Instant = number;

/** An insurance plan. */
export interface InsurancePlan {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Payer id for electronic claims. */
  payerId: string | null;
  /** Name of the plan. */
  name: string;
  /** Postal address of the payer. */
  address: Address | null;
  /** Group number. */
  groupNumber: string | null;
  /** Employer that offers the plan. */
  employerName: string | null;
  /** Fee schedule the plan pays by. */
  feeSchedule: ForeignId | null;
  /** Most it pays a year for one person. */
  annualMaxIndividual: Money | null;
  /** Month 1 to 12 in which the benefit year resets. */
  benefitYearRenewalMonth: number | null;
  /** Anything else. */
  extra: Extra;
}

/** What a plan insures. */
export type InsuranceType =
  /** Dental care. */
  | { tag: "dental" }
  /** Medical care. */
  | { tag: "medical" }
  /** Vision care. */
  | { tag: "vision" }
  /** Another word of the EHR: the coverage is kept without a type, the word in its `extra` as `insurance_type`. Never in a write. */
  | { tag: "other"; val: string };

/** Unit of the time between two visits. */
export type IntervalUnit =
  | "day"
  | "week"
  | "month"
  | "year";

/** How loud. */
export type Level =
  | "debug"
  | "info"
  | "warn"
  | "error";

/** A local date and time, second precision. */
export interface Local {
  /** `YYYY-MM-DDTHH:MM:SS`, 24 hours, without zone. */
  text: string;
  /** Seconds east of UTC, -86,399 to 86,399. */
  offset: number;
  /** Zone abbreviation, for example `EST`. */
  abbreviation: string;
}

/** The longest value an EHR takes in a field. */
export interface MaxLength {
  /** Record and field as they are named here: `insurance-plan.name`. At most 1,024 bytes. */
  field: string;
  /** Unicode code points. */
  characters: number;
}

/** A message of a conversation. */
export interface Message {
  /** Who said it, as the EHR names them. */
  from: string | null;
  /** What was said; long. All messages of a conversation together have at most 65,536 bytes, written as JSON. */
  text: string | null;
  /** When it was said. */
  at: Instant | null;
}

/** Method of a request. */
export type Method =
  | "get"
  | "post"
  | "put"
  | "patch"
  | "delete";

/** An amount of money. Never binary floating point. */
export interface Money {
  /** Up to 28 decimal digits with an optional sign and point, for example `-12.50`; neither exponent nor separators. */
  amount: string;
  /** ISO 4217 code, three capital letters, for example `USD`. */
  currency: string;
}

/** A chair, column or room. One operatory never holds two appointments at once. */
export interface Operatory {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Name. */
  name: string;
  /** Name to show. */
  displayName: string | null;
  /** In use. */
  active: boolean;
  /** May be booked online. */
  bookableOnline: boolean;
  /** Appointment types it is meant for; empty means all. */
  appointmentTypes: ForeignId[];
  /** Anything else. */
  extra: Extra;
}

/** One page of a pull. */
export interface Page {
  /**
   * Records created or changed, at most as many as were asked for. One that comes twice on a page counts once, as it comes last.
   * Operatories, working hours and appointments are those of the location the call is for: an appointment belongs to one location
   * at a time.
   */
  records: Record[];
  /**
   * Records that are there and could not be read: one bad record does not keep the others from being read. What is known of them
   * stays, they count as shown in a whole pass, and the operator is told. Together with `records` at most as many as were asked for.
   */
  skipped: SkippedRecord[];
  /**
   * Records deleted, by foreign id, at most 10,000; also an appointment that staff moved to another location, at the location it
   * left.
   */
  deleted: ForeignId[];
  /**
   * Where the next page starts, or, with `last`, where the next pass starts. Opaque to the engine, at most 4,096 bytes; another one
   * than was given unless the page is the last. The page of a cursor may be asked for again. After 500 pages in a row that bring
   * nothing new a resource is left for the cycle.
   */
  cursor: string;
  /** This pass is complete. */
  last: boolean;
  /** This pass shows every record there is, not only changes. */
  whole: boolean;
  /** Records in all, where the EHR tells. */
  estimate: number | null;
}

/** A patient. */
export interface Patient {
  /** Identifier in the EHR; empty in a write that creates the patient. */
  id: ForeignId;
  /** First name. */
  firstName: string;
  /** Middle name. */
  middleName: string | null;
  /** Last name. */
  lastName: string;
  /** Date of birth. */
  dateOfBirth: Date | null;
  /** Gender, where the EHR states one. */
  gender: Gender | null;
  /** E-mail address. */
  email: string | null;
  /** Cell phone number, as the EHR writes it. A new patient's number arrives here. */
  cellPhone: string | null;
  /** Home phone number. */
  homePhone: string | null;
  /** Work phone number. */
  workPhone: string | null;
  /** Extension of the work phone. */
  workPhoneExtension: string | null;
  /** The number of an EHR that keeps one number without a type. A new patient has it only next to a cell phone. */
  primaryPhone: string | null;
  /** Postal address. */
  address: Address | null;
  /** Social security number; written, never read back: one in a pulled record is dropped. */
  ssn: string | null;
  /** The responsible party, a patient of the same EHR. */
  guarantor: ForeignId | null;
  /** The primary provider. */
  provider: ForeignId | null;
  /** Billing or account type. */
  billingType: string | null;
  /** Number staff use for the patient. */
  chartId: string | null;
  /** ISO 639-1 code of two letters, for example `en`. */
  preferredLanguage: string | null;
  /** Premedication notes; long. */
  premedication: string | null;
  /** No longer active in the EHR. */
  inactive: boolean;
  /** Not yet seen: some systems convert a new patient at the first visit. */
  newPatient: boolean;
  /** A person on file who is not a patient. */
  nonPatient: boolean;
  /** Unsubscribed from text messages in the EHR. */
  unsubscribedSms: boolean;
  /** Unsubscribed from e-mail in the EHR. */
  unsubscribedEmail: boolean;
  /** Anything else. */
  extra: Extra;
}

/** An alert staff see with a patient. */
export interface PatientAlert {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId;
  /** Text of the alert; long. */
  note: string;
  /** When it was disabled. */
  disabledAt: Instant | null;
  /** Anything else. */
  extra: Extra;
}

/** A patient to change. */
export interface PatientChange {
  /** As they should be. */
  patient: Patient;
  /**
   * As the EHR last showed them. Only what differs between the two is to be written: what is the same staff may have changed since.
   * None: all of it is to be written.
   */
  before: Patient | null;
}

/** A field of `patient` that an EHR may need, or have no place for. Names are never optional, and every EHR keeps them. */
export type PatientField =
  /** `middle-name`. */
  | "middle-name"
  /** `date-of-birth`. */
  | "date-of-birth"
  /** `gender`. */
  | "gender"
  /** `email`. */
  | "email"
  /** `cell-phone`. */
  | "cell-phone"
  /** `home-phone`. */
  | "home-phone"
  /** `work-phone`. */
  | "work-phone"
  /** `work-phone-extension`. */
  | "work-phone-extension"
  /** `primary-phone`. */
  | "primary-phone"
  /** `address`. */
  | "address"
  /** `ssn`. */
  | "ssn"
  /** `guarantor`. */
  | "guarantor"
  /** `provider`. */
  | "provider"
  /** `billing-type`. */
  | "billing-type"
  /** `chart-id`. */
  | "chart-id"
  /** `preferred-language`. */
  | "preferred-language"
  /** `premedication`. */
  | "premedication"
  /** `inactive`. */
  | "inactive"
  /** `new-patient`. */
  | "new-patient"
  /** `non-patient`. */
  | "non-patient"
  /** `unsubscribed-sms`. */
  | "unsubscribed-sms"
  /** `unsubscribed-email`. */
  | "unsubscribed-email"
  /** All that `extra` holds. */
  | "extra";

/** An entry of a patient's medical history. */
export interface PatientHistoryItem {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId;
  /** Catalogue of the item. */
  category: HistoryCategory;
  /** Entry of the catalogue. */
  item: ForeignId;
  /** Free text; long. */
  note: string | null;
  /** Still applies. */
  active: boolean;
  /** Anything else. */
  extra: Extra;
}

/** A patient due for recall. */
export interface PatientRecall {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The appointment made for it. */
  appointment: ForeignId | null;
  /** The kind of recall. */
  recallType: ForeignId | null;
  /** When the patient is due. */
  dateDue: Date | null;
  /** Anything else. */
  extra: Extra;
}

/** A payment on the ledger. */
export interface Payment {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The responsible party, a patient of the same EHR. */
  guarantor: ForeignId | null;
  /** The provider. */
  provider: ForeignId | null;
  /** The charge it settles. */
  charge: ForeignId | null;
  /** The claim it belongs to. */
  claim: ForeignId | null;
  /** The payment plan it belongs to. */
  paymentPlan: ForeignId | null;
  /** The plan that paid. */
  insurancePlan: ForeignId | null;
  /** The kind of payment. */
  paymentType: ForeignId | null;
  /** Amount paid. */
  amount: Money;
  /** Date of the payment. */
  paidAt: Date | null;
  /** Identifier of the transaction at its processor. */
  transactionId: string | null;
  /** Description; long. */
  description: string | null;
  /** Parts by charge. */
  chargeSplits: Split[];
  /** Parts by provider. */
  providerSplits: Split[];
  /** Anything else. */
  extra: Extra;
}

/** A plan of payments. */
export interface PaymentPlan {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The responsible party, a patient of the same EHR. */
  guarantor: ForeignId | null;
  /** When the first payment is due. */
  firstPaymentDue: Date | null;
  /** When it was made. */
  created: Date | null;
  /** In force. */
  active: boolean;
  /** Anything else. */
  extra: Extra;
}

/** A kind of payment. */
export interface PaymentType {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Name. */
  name: string;
  /** In use. */
  active: boolean;
  /** Anything else. */
  extra: Extra;
}

/** A planned or performed procedure. */
export interface Procedure {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The patient. */
  patient: ForeignId | null;
  /** The provider. */
  provider: ForeignId | null;
  /** Appointment it is planned for or was performed in. */
  appointment: ForeignId | null;
  /** Procedure code. */
  code: string | null;
  /** Name to show. */
  name: string | null;
  /** How far it is. */
  status: ProcedureStatus | null;
  /** Teeth it concerns, as the EHR numbers them. */
  teeth: string[];
  /** Surfaces it concerns. */
  surface: string | null;
  /** Fee. */
  fee: Money | null;
  /** First day. */
  startDate: Date | null;
  /** Last day. */
  endDate: Date | null;
  /** Treatment plans it is part of. */
  treatmentPlans: ForeignId[];
  /** Anything else. */
  extra: Extra;
}

/** An entry of the billable procedure code catalogue. */
export interface ProcedureCode {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Code. */
  code: string;
  /** Description; long. */
  description: string;
  /** Group it belongs to. */
  category: ForeignId | null;
  /** May still be used. */
  active: boolean;
  /** Anything else. */
  extra: Extra;
}

/** A group of procedure codes. */
export interface ProcedureCodeCategory {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Name. */
  name: string;
  /** Anything else. */
  extra: Extra;
}

/** How far a procedure is. */
export type ProcedureStatus =
  /** Planned. */
  | { tag: "planned" }
  /** Scheduled. */
  | { tag: "scheduled" }
  /** Completed. */
  | { tag: "completed" }
  /** No longer valid. */
  | { tag: "inactive" }
  /** Referred to somebody else. */
  | { tag: "referred" }
  /** Another word of the EHR: the procedure is kept without a status, the word in its `extra` as `status`. */
  | { tag: "other"; val: string };

/** A provider of care. */
export interface Provider {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** First name. */
  firstName: string;
  /** Middle name. */
  middleName: string | null;
  /** Last name. */
  lastName: string;
  /** Name to show, when the EHR has one. */
  displayName: string | null;
  /** E-mail address. */
  email: string | null;
  /** National provider identifier, ten digits in the United States. */
  npi: string | null;
  /** Taxpayer identification number. */
  tin: string | null;
  /** State licence number. */
  stateLicense: string | null;
  /** Specialty code. */
  specialtyCode: string | null;
  /** No longer active. */
  inactive: boolean;
  /** Anything else. */
  extra: Extra;
}

/** What can be pulled of one resource. */
export interface PullAbility {
  /** What. */
  resource: Resource;
  /** A cursor of an earlier pass yields only what changed since. */
  delta: boolean;
  /** How a pass over it tells deletions. */
  deletions: Deletions;
}

/** A kind of recall. */
export interface RecallType {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Name. */
  name: string;
  /** Description; long. */
  description: string | null;
  /** Units between two visits, 1 to 1,000. */
  intervalNumber: number;
  /** Unit of the time between two visits. */
  intervalUnit: IntervalUnit;
  /** Anything else. */
  extra: Extra;
}

/** Proof of a write. */
export interface Receipt {
  /** Foreign id of the record written: of the new one, or of the one that was changed or removed. */
  id: ForeignId;
  /** Version tag of the record, where the EHR has one; at most 500 bytes. */
  version: string | null;
}

/** One pulled record. */
export type Record =
  /** A patient. */
  | { tag: "patient"; val: Patient }
  /** A provider of care. */
  | { tag: "provider"; val: Provider }
  /** A chair, column or room. One operatory never holds two appointments at once. */
  | { tag: "operatory"; val: Operatory }
  /** A kind of appointment. */
  | { tag: "appointment-type"; val: AppointmentType }
  /** A descriptor an EHR attaches to appointments or types (procedure code, reason, colour). */
  | { tag: "appointment-descriptor"; val: AppointmentDescriptor }
  /** When a provider sees patients. Exactly one of `days` (not empty), `specific-date` and `recurrence` applies. */
  | { tag: "working-hour"; val: WorkingHour }
  /** An appointment, or a block of unavailable time (`unavailable`, without patient). */
  | { tag: "appointment"; val: Appointment }
  /** An insurance plan. */
  | { tag: "insurance-plan"; val: InsurancePlan }
  /** A patient's coverage by a plan. */
  | { tag: "coverage"; val: Coverage }
  /** An entry of a medical history catalogue. */
  | { tag: "history-item"; val: HistoryItem }
  /** An entry of a patient's medical history. */
  | { tag: "patient-history-item"; val: PatientHistoryItem }
  /** An alert staff see with a patient. */
  | { tag: "patient-alert"; val: PatientAlert }
  /** An entry of a patient's communication log. */
  | { tag: "communication-log"; val: CommunicationLog }
  /** A conversation the EHR keeps. */
  | { tag: "conversation"; val: Conversation }
  /** A patient intake form. */
  | { tag: "form-schema"; val: FormSchema }
  /** A patient's answers to a form. */
  | { tag: "form-response"; val: FormResponse }
  /** An entry of the billable procedure code catalogue. */
  | { tag: "procedure-code"; val: ProcedureCode }
  /** A group of procedure codes. */
  | { tag: "procedure-code-category"; val: ProcedureCodeCategory }
  /** A planned or performed procedure. */
  | { tag: "procedure"; val: Procedure }
  /** A treatment plan. */
  | { tag: "treatment-plan"; val: TreatmentPlan }
  /** A clinical note. */
  | { tag: "clinical-note"; val: ClinicalNote }
  /** A kind of recall. */
  | { tag: "recall-type"; val: RecallType }
  /** A patient due for recall. */
  | { tag: "patient-recall"; val: PatientRecall }
  /** Metadata of a document kept in the EHR. */
  | { tag: "document"; val: Document }
  /** A kind of document. */
  | { tag: "document-type"; val: DocumentType }
  /** A list of fees. */
  | { tag: "fee-schedule"; val: FeeSchedule }
  /** The fee of one procedure code in a fee schedule. */
  | { tag: "fee"; val: Fee }
  /** A kind of payment. */
  | { tag: "payment-type"; val: PaymentType }
  /** A kind of adjustment. */
  | { tag: "adjustment-type"; val: AdjustmentType }
  /** A charge on the ledger. */
  | { tag: "charge"; val: Charge }
  /** A payment on the ledger. */
  | { tag: "payment"; val: Payment }
  /** An adjustment on the ledger. */
  | { tag: "adjustment"; val: Adjustment }
  /** An insurance claim. */
  | { tag: "claim"; val: Claim }
  /** A plan of payments. */
  | { tag: "payment-plan"; val: PaymentPlan }
  /** A guarantor's balance by age. */
  | { tag: "guarantor-balance"; val: Balance }
  /** Insurance's estimate for a patient by age. */
  | { tag: "insurance-balance"; val: Balance };

/** Every `number` units, counted from `reference`. */
export interface Recurrence {
  /** Number of units, 1 to 10,000. */
  number: number;
  /** Unit. */
  unit: RecurrenceUnit;
  /** A date on which the hours apply; earlier and later ones are counted from it. */
  reference: Date;
}

/** Unit of a custom recurrence. */
export type RecurrenceUnit =
  | "day"
  | "week"
  | "month";

/** What a patient is to the subscriber of a plan. */
export type Relation =
  /** The patient is the subscriber. */
  | "oneself"
  /** Spouse. */
  | "spouse"
  /** Child. */
  | "child"
  /** Employee. */
  | "employee"
  /** Dependent with a handicap. */
  | "handicap-dep"
  /** Significant other. */
  | "signif-other"
  /** Injured plaintiff. */
  | "injured-plaintiff"
  /** Life partner. */
  | "life-partner"
  /** Dependent. */
  | "dependent"
  /** Any other. */
  | "other";

/** A request. */
export interface Request {
  /** Its method. */
  method: Method;
  /** Path and query below the configured base URL, starting with `/`, percent-encoded; at most 8,192 bytes. */
  path: string;
  /**
   * At most 64 headers. The engine adds the configured credentials and refuses Host, Content-Length, hop-by-hop, forwarding and
   * override headers, names of other than letters, digits and hyphens, and Authorization and Cookie unless the manifest's
   * `headers` has them.
   */
  headers: Header[];
  /** Body, at most 8 MiB. */
  body: Uint8Array | null;
}

/** What can be pulled. */
export type Resource =
  /** Patients. */
  | "patients"
  /** Providers of care. */
  | "providers"
  /** Chairs, columns or rooms. */
  | "operatories"
  /** Kinds of appointment. */
  | "appointment-types"
  /** Descriptors of appointments. */
  | "appointment-descriptors"
  /** When providers see patients. */
  | "working-hours"
  /** Appointments and blocks of unavailable time. */
  | "appointments"
  /** Insurance plans. */
  | "insurance-plans"
  /** Patients' coverages. */
  | "coverages"
  /** Catalogues of medical history. */
  | "history-items"
  /** Patients' medical history. */
  | "patient-history-items"
  /** Alerts on patients. */
  | "patient-alerts"
  /** Communication logs. */
  | "communication-logs"
  /** Conversations. */
  | "conversations"
  /** Patient intake forms. */
  | "form-schemas"
  /** Answers to forms. */
  | "form-responses"
  /** Procedure codes. */
  | "procedure-codes"
  /** Groups of procedure codes. */
  | "procedure-code-categories"
  /** Planned and performed procedures. */
  | "procedures"
  /** Treatment plans. */
  | "treatment-plans"
  /** Clinical notes. */
  | "clinical-notes"
  /** Kinds of recall. */
  | "recall-types"
  /** Patients due for recall. */
  | "patient-recalls"
  /** Metadata of documents. */
  | "documents"
  /** Kinds of document. */
  | "document-types"
  /** Fee schedules. */
  | "fee-schedules"
  /** Fees by procedure code. */
  | "fees"
  /** Kinds of payment. */
  | "payment-types"
  /** Kinds of adjustment. */
  | "adjustment-types"
  /** Charges on the ledger. */
  | "charges"
  /** Payments on the ledger. */
  | "payments"
  /** Adjustments on the ledger. */
  | "adjustments"
  /** Insurance claims. */
  | "claims"
  /** Plans of payments. */
  | "payment-plans"
  /** Balances of guarantors by age. */
  | "guarantor-balances"
  /** Insurance's estimates for patients by age. */
  | "insurance-balances";

/** An answer of any status. Redirects are not followed. */
export interface Response {
  /** HTTP status, 100 to 599. */
  status: number;
  /** Headers, names in lower case, at most 200; one that comes several times stands here several times. */
  headers: Header[];
  /** Body, at most 8 MiB; a longer one is `no-answer`. */
  body: Uint8Array;
}

/** A call to be made again. */
export interface RetryLater {
  /** Why. */
  reason: string;
  /** Seconds to wait at least, where the EHR names them. More than 86,400, a day, counts as a day. */
  seconds: number | null;
}

/** A record that the EHR shows and that cannot be made one of the contract. */
export interface SkippedRecord {
  /** Its identifier in the EHR. */
  id: ForeignId;
  /** Why, for the operator: which field, and what is wrong with it. Cut after 500 bytes; no patient data in it. */
  reason: string;
}

/** The part of a payment or adjustment that goes to one charge or provider. */
export interface Split {
  /** The charge or provider. */
  id: ForeignId;
  /** Its part. */
  amount: Money;
}

/** Where the gate stands. */
export type State =
  /** No workstation is connected or logged in. */
  | "closed"
  /** A workstation holds the lease and is logged in. */
  | "open";

/** A local time of day, `HH:MM`, `00:00` to `23:59`; where a field says so also `24:00`, the end of the day. */
export type TimeOfDay = string;

/** A treatment plan. */
export interface TreatmentPlan {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** Name. */
  name: string | null;
  /** The patient. */
  patient: ForeignId | null;
  /** How it stands. */
  status: TreatmentPlanStatus | null;
  /** Procedures it consists of. */
  procedures: ForeignId[];
  /** Anything else. */
  extra: Extra;
}

/** How a treatment plan stands. */
export type TreatmentPlanStatus =
  /** The EHR has no status for such a plan. */
  | { tag: "not-applicable" }
  /** Proposed. */
  | { tag: "proposed" }
  /** Accepted by the patient. */
  | { tag: "accepted" }
  /** Rejected by the patient. */
  | { tag: "rejected" }
  /** Completed. */
  | { tag: "completed" }
  /** Another word of the EHR: the plan is kept without a status, the word in its `extra` as `status`. */
  | { tag: "other"; val: string };

/** A day of the week. */
export type Weekday =
  | "monday"
  | "tuesday"
  | "wednesday"
  | "thursday"
  | "friday"
  | "saturday"
  | "sunday";

/** When a provider sees patients. Exactly one of `days` (not empty), `specific-date` and `recurrence` applies. */
export interface WorkingHour {
  /** Identifier in the EHR. */
  id: ForeignId;
  /** The provider. */
  provider: ForeignId;
  /** The operatory; none where the EHR schedules by provider only. */
  operatory: ForeignId | null;
  /** Begin, local time. */
  beginTime: TimeOfDay;
  /** End, local time, `24:00` included; not after begin means the next day. */
  endTime: TimeOfDay;
  /** Weekly days, each at most once. */
  days: Weekday[];
  /** One date only. */
  specificDate: Date | null;
  /** Custom recurrence. */
  recurrence: Recurrence | null;
  /** Working hours or a block. */
  kind: HourKind;
  /** Appointment types it accepts; empty means all. */
  appointmentTypes: ForeignId[];
  /** Label of the hours in the EHR, such as `Hygiene`. */
  label: string | null;
  /** In force. */
  active: boolean;
  /** Anything else. */
  extra: Extra;
}

/** One write. */
export type Write =
  /** A new patient. */
  | { tag: "create-patient"; val: Patient }
  /** A patient to change. */
  | { tag: "update-patient"; val: PatientChange }
  /** A new appointment. */
  | { tag: "create-appointment"; val: AppointmentChange }
  /** The appointment at its new time, operatory or provider. */
  | { tag: "reschedule-appointment"; val: AppointmentChange }
  /** The appointment, now confirmed. */
  | { tag: "confirm-appointment"; val: AppointmentChange }
  /** The appointment, now checked in. */
  | { tag: "check-in-appointment"; val: AppointmentChange }
  /** The appointment, now cancelled. */
  | { tag: "cancel-appointment"; val: AppointmentChange }
  /** The appointment with its new note. */
  | { tag: "note-appointment"; val: AppointmentChange }
  /** New working hours. */
  | { tag: "create-working-hour"; val: WorkingHour }
  /** Working hours as they should be. */
  | { tag: "update-working-hour"; val: WorkingHour }
  /** Working hours to remove, by identifier. */
  | { tag: "delete-working-hour"; val: ForeignId }
  /** A new insurance plan. */
  | { tag: "create-insurance-plan"; val: InsurancePlan }
  /** A new coverage. */
  | { tag: "create-coverage"; val: Coverage }
  /** A coverage to remove, by identifier. */
  | { tag: "delete-coverage"; val: ForeignId }
  /** An entry of a patient's history, new or changed. */
  | { tag: "save-patient-history-item"; val: PatientHistoryItem }
  /** A new alert. */
  | { tag: "create-patient-alert"; val: PatientAlert }
  /** The alert, now disabled. */
  | { tag: "disable-patient-alert"; val: PatientAlert }
  /** A new entry of the communication log. */
  | { tag: "create-communication-log"; val: CommunicationLog }
  /** New answers to a form. */
  | { tag: "create-form-response"; val: FormResponse }
  /** A new payment. */
  | { tag: "create-payment"; val: Payment }
  /** A new adjustment. */
  | { tag: "create-adjustment"; val: Adjustment };

/** What can be written. */
export type WriteKind =
  /** Create a patient. */
  | "create-patient"
  /** Change a patient. */
  | "update-patient"
  /** Create an appointment. */
  | "create-appointment"
  /** Move an appointment in time, operatory or provider. */
  | "reschedule-appointment"
  /** Confirm an appointment. */
  | "confirm-appointment"
  /** Check a patient in. */
  | "check-in-appointment"
  /** Cancel an appointment. */
  | "cancel-appointment"
  /** Create working hours. */
  | "create-working-hour"
  /** Change working hours. */
  | "update-working-hour"
  /** Remove working hours. */
  | "delete-working-hour"
  /** Create an insurance plan. */
  | "create-insurance-plan"
  /** Create a coverage. */
  | "create-coverage"
  /** Remove a coverage. */
  | "delete-coverage"
  /** Create or change an entry of a patient's history. */
  | "save-patient-history-item"
  /** Create an alert. */
  | "create-patient-alert"
  /** Disable an alert. */
  | "disable-patient-alert"
  /** Add to the communication log. */
  | "create-communication-log"
  /** Store answers to a form. */
  | "create-form-response"
  /** Post a payment. */
  | "create-payment"
  /** Post an adjustment. */
  | "create-adjustment"
  /** Change an appointment's note. */
  | "note-appointment";

/**
 * What an adapter implements. Every call gets a fresh instance with its own memory: an adapter remembers nothing, so cursors
 * and tokens go in and come back.
 */
export interface Ehr {
  /** What this EHR can do. Called when a location starts and once a day; it may ask the EHR. */
  describe(): Description;
  /** One page, at most `limit` records, 1 to 1,000. No cursor: a first, whole pass. */
  pull(resource: Resource, cursor: string | null, limit: number): Page;
  /**
   * Writes once. `write-key` is the same over all attempts at one write and no other's: keep it in the EHR where it has a place for
   * it. Lower-case letters, digits and hyphens, at most 60 bytes.
   */
  push(writeKey: string, write: Write): Receipt;
  /**
   * Looks for an earlier `push` of this write key. None means: certainly not written, and not on its way either. An EHR that
   * cannot tell is a fault.
   */
  find(writeKey: string, write: Write): Receipt | null;
}
