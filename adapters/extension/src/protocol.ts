// The extension's side of the workstation protocol (PROTOCOL.md): its messages, and parsing of the engine's.

export const SUBPROTOCOL = "practice-sync.workstation.v1";
export const VERSION = 1;

/** The part of the EHR that the extension may access. */
export interface Ehr {
  origin: string;
  base_path: string;
  /** Prefixes below the base path. */
  paths: string[];
  /** A path below the base path that responds with 200 and JSON only in a logged-in session. */
  probe: string;
}

export interface Place {
  id: number;
  name: string;
}

/** A change of the EHR without patient data, for display to staff. */
export interface Write {
  id: string;
  kind: string;
  /** The appointment's local time. */
  at: string | null;
}

export type Headers = [string, string][];

export interface Welcome {
  type: "welcome";
  protocol: number;
  workstation: string;
  location: Place;
  ehr: Ehr;
  approval: boolean;
  heartbeat_seconds: number;
}

export interface Lease {
  type: "lease";
  lease: number | null;
}

export interface EhrRequest {
  type: "request";
  lease: number;
  number: number;
  location: number;
  method: string;
  path: string;
  headers: Headers;
  /** Base64. */
  body: string | null;
  deadline_ms: number;
  max_body: number;
  /** Null for reads. */
  write: Write | null;
}

export interface LastWrite {
  kind: string;
  at: string | null;
  state: string;
  when: string | null;
}

export interface Queue {
  type: "queue";
  waiting: number;
  oldest_seconds: number | null;
  last: LastWrite[];
}

export interface Ping {
  type: "ping";
  n: number;
}

export interface Bye {
  type: "bye";
  reason: string;
}

export type FromEngine = Welcome | Lease | EhrRequest | Queue | Ping | Bye;

export type FailureKind = "not_sent" | "no_answer" | "refused" | "logged_out" | "approval" | "declined";

export type ToEngine =
  | { type: "hello"; token: string; extension: string }
  | { type: "state"; session: "in" | "out"; paused: boolean; awaiting: number }
  | { type: "answer"; lease: number; number: number; location: number; status: number; headers: Headers; body: string }
  | { type: "failure"; lease: number; number: number; location: number; kind: FailureKind; reason: string }
  | { type: "approved"; writes: string[] }
  | { type: "pong"; n: number };

/** A message that this version does not understand; it closes the connection. */
export class ProtocolError extends Error {}

/** Parses one message. Unknown fields are ignored. */
export function read(text: string): FromEngine {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ProtocolError("not JSON");
  }
  const message = new Fields(json, "message");
  const type = message.text("type");
  switch (type) {
    case "welcome":
      return {
        type,
        protocol: message.number("protocol"),
        workstation: message.text("workstation"),
        location: readPlace(message.value("location")),
        ehr: readEhr(message.value("ehr")),
        approval: message.flag("approval"),
        heartbeat_seconds: message.number("heartbeat_seconds"),
      };
    case "lease":
      return { type, lease: message.numberOrNull("lease") };
    case "request":
      return readRequest(message);
    case "queue":
      return {
        type,
        waiting: message.number("waiting"),
        oldest_seconds: message.numberOrNull("oldest_seconds"),
        last: message.list("last").map(readLastWrite),
      };
    case "ping":
      return { type, n: message.number("n") };
    case "bye":
      return { type, reason: message.text("reason") };
    default:
      throw new ProtocolError(`unknown type ${type}`);
  }
}

export function readPlace(value: unknown): Place {
  const place = new Fields(value, "location");
  return { id: place.number("id"), name: place.text("name") };
}

export function readEhr(value: unknown): Ehr {
  const ehr = new Fields(value, "ehr");
  return {
    origin: ehr.text("origin"),
    base_path: ehr.text("base_path"),
    paths: ehr.list("paths").map((path) => asText(path, "paths")),
    probe: ehr.text("probe"),
  };
}

/** The response of `POST /workstations/pair`. */
export interface Paired {
  token: string;
  workstation: string;
  location: Place;
  ehr: Ehr;
}

export function readPaired(value: unknown): Paired {
  const paired = new Fields(value, "answer");
  return {
    token: paired.text("token"),
    workstation: paired.text("workstation"),
    location: readPlace(paired.value("location")),
    ehr: readEhr(paired.value("ehr")),
  };
}

function readRequest(message: Fields): EhrRequest {
  const write = message.value("write") ?? null;
  return {
    type: "request",
    lease: message.number("lease"),
    number: message.number("number"),
    location: message.number("location"),
    method: message.text("method"),
    path: message.text("path"),
    headers: message.list("headers").map(readHeader),
    body: message.textOrNull("body"),
    deadline_ms: message.number("deadline_ms"),
    max_body: message.number("max_body"),
    write: write === null ? null : readWrite(new Fields(write, "write")),
  };
}

function readWrite(write: Fields): Write {
  return { id: write.text("id"), kind: write.text("kind"), at: write.textOrNull("at") };
}

function readLastWrite(value: unknown): LastWrite {
  const last = new Fields(value, "last");
  return { kind: last.text("kind"), at: last.textOrNull("at"), state: last.text("state"), when: last.textOrNull("when") };
}

function readHeader(value: unknown): [string, string] {
  if (!Array.isArray(value) || value.length !== 2) {
    throw new ProtocolError("headers: not a pair");
  }
  return [asText(value[0], "headers"), asText(value[1], "headers")];
}

function asText(value: unknown, where: string): string {
  if (typeof value !== "string") {
    throw new ProtocolError(`${where}: not a text`);
  }
  return value;
}

/** An object whose fields are checked one by one. */
class Fields {
  readonly #object: Record<string, unknown>;
  readonly #where: string;

  constructor(value: unknown, where: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new ProtocolError(`${where}: not an object`);
    }
    this.#object = value as Record<string, unknown>;
    this.#where = where;
  }

  value(name: string): unknown {
    return Object.hasOwn(this.#object, name) ? this.#object[name] : undefined;
  }

  text(name: string): string {
    return asText(this.value(name), `${this.#where}.${name}`);
  }

  textOrNull(name: string): string | null {
    return this.value(name) == null ? null : this.text(name);
  }

  /** A non-negative integer, such as a count, id or duration. */
  number(name: string): number {
    const value = this.value(name);
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
      throw new ProtocolError(`${this.#where}.${name}: not a whole number`);
    }
    return value;
  }

  numberOrNull(name: string): number | null {
    return this.value(name) == null ? null : this.number(name);
  }

  flag(name: string): boolean {
    const value = this.value(name);
    if (typeof value !== "boolean") {
      throw new ProtocolError(`${this.#where}.${name}: neither true nor false`);
    }
    return value;
  }

  list(name: string): unknown[] {
    const value = this.value(name);
    if (!Array.isArray(value)) {
      throw new ProtocolError(`${this.#where}.${name}: not a list`);
    }
    return value;
  }
}
