// The modules that need no browser. Run after `npm run build`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mock, test } from "node:test";

import { address, below, hostPattern, isOfEhr } from "../dist/allowed.js";
import { Approvals } from "../dist/approvals.js";
import { delay } from "../dist/backoff.js";
import * as base64 from "../dist/base64.js";
import { Connection } from "../dist/connection.js";
import { Pace } from "../dist/pace.js";
import { engineAddress, plainCode, socketAddress } from "../dist/pairing.js";
import { ProtocolError, read } from "../dist/protocol.js";
import { age, status } from "../dist/view.js";

const EHR = { origin: "https://ehr.example", base_path: "/app/", paths: ["/api", "/files/"], probe: "/me" };
const GET = { method: "GET", headers: [], body: null };

test("addresses below the base path that are allowed, as they leave", () => {
  for (const [path, expected] of [
    ["/api", "https://ehr.example/app/api"],
    ["/api/a%20b?x=http://y//z", "https://ehr.example/app/api/a%20b?x=http://y//z"],
    ["/files/a%2Fb", "https://ehr.example/app/files/a%2Fb"],
    ["/api/..x", "https://ehr.example/app/api/..x"],
  ]) {
    assert.equal(address(EHR, { ...GET, path }).href, expected);
  }
  assert.equal(below(EHR, EHR.probe).href, "https://ehr.example/app/me");
});

test("no path leads anywhere else", () => {
  const paths = ["", "api", "//evil.example/api", "/apix", "/files", "/me", "/api/../me", "/api/./x", "/api/%2e%2E/me", "/api/..%2fme", "/api/..%5Cme"];
  for (const path of [...paths, "/api\\..\\me", "/api#x", "/api/\n", "/api/é", "/api/a b", "/api//x", `/api/${"x".repeat(9_000)}`, "/files/../api/../me"]) {
    assert.throws(() => address(EHR, { ...GET, path }), { message: "path" }, JSON.stringify(path));
  }
});

test("methods, bodies, headers and origins that are refused", () => {
  const refused = (fields, ehr = {}) => assert.throws(() => address({ ...EHR, ...ehr }, { ...GET, path: "/api", ...fields }), JSON.stringify(fields));
  refused({ method: "get" });
  refused({ method: "CONNECT" });
  refused({ method: "HEAD", body: "" });
  for (const name of ["Cookie", "AUTHORIZATION", "Sec-Fetch-Site", "proxy-x", "Origin", "Host"]) {
    refused({ headers: [[name, "x"]] });
  }
  for (const origin of ["http://ehr.example", "https://ehr.example/", "https://user@ehr.example", "ftp://ehr.example", "ehr.example", "file://", "http://127.0.0.2"]) {
    refused({}, { origin });
  }
  assert.equal(address({ ...EHR, origin: "http://127.0.0.1:8080" }, { ...GET, path: "/api" }).port, "8080");
});

test("a permission names the host, and pages are the EHR's below its base path", () => {
  assert.equal(hostPattern({ ...EHR, origin: "https://ehr.example:8443" }), "https://ehr.example/*");
  for (const [page, expected] of [["https://ehr.example/app", true], ["https://ehr.example/app/x#y", true], ["https://ehr.example/apple", false], ["https://ehr.example.evil/app", false], ["chrome://settings", false], ["", false]]) {
    assert.equal(isOfEhr(EHR, page), expected, page);
  }
});

test("messages are read strictly, and what they have besides is left out", () => {
  assert.deepEqual(read('{"type":"lease","lease":7,"later":1}'), { type: "lease", lease: 7 });
  assert.deepEqual(read('{"type":"lease"}'), { type: "lease", lease: null });
  const request = { type: "request", lease: 1, number: 2, location: 3, method: "GET", path: "/x", headers: [["a", "b"]], body: null, deadline_ms: 5, max_body: 6, write: null };
  assert.deepEqual(read(JSON.stringify(request)), request);
  const broken = ["", "[]", "null", "1", "{}", '{"type":"future"}', '{"type":"ping"}', '{"type":"ping","n":-1}', '{"type":"ping","n":1.5}', '{"type":"ping","n":"1"}'];
  const requests = [{ headers: [["a"]] }, { headers: "x" }, { lease: null }, { method: 1 }, { write: { id: 1 } }, { deadline_ms: 1e300 }];
  for (const text of [...broken, ...requests.map((fields) => JSON.stringify({ ...request, ...fields }))]) {
    assert.throws(() => read(text), ProtocolError, text);
  }
});

test("base64 of every length comes back", () => {
  for (const length of [0, 1, 2, 3, 0x8000, 0x8001, 200_000]) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 7) % 256);
    assert.equal(base64.encode(bytes), Buffer.from(bytes).toString("base64"));
    assert.deepEqual(base64.decode(base64.encode(bytes)), bytes);
  }
});

test("the wait grows, is spread over its whole window and is never longer than a minute", () => {
  assert.deepEqual([0, 1, 2, 3].map((failures) => delay(failures, 0.5)), [1_000, 2_000, 4_000, 8_000]);
  assert.deepEqual([delay(0, 0), delay(4, 0), delay(50, 0.999999)], [100, 100, 59_999]);
});

test("so many in a period, the rest when it is their turn", () => {
  const pace = new Pace(2, 1_000);
  assert.deepEqual([pace.wait(0), pace.wait(300), pace.wait(400), pace.wait(999), pace.wait(1_000), pace.wait(1_100)], [0, 0, 600, 1, 0, 200]);
});

test("addresses and codes as people type them", () => {
  for (const [typed, expected] of [
    [" sync.example ", "https://sync.example"],
    ["https://sync.example/", "https://sync.example"],
    ["https://sync.example:8443/practice/?x#y", "https://sync.example:8443/practice"],
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["http://localhost:8080", "http://127.0.0.1:8080"],
    ["http://sync.example", null],
    ["https://me:secret@sync.example", null],
    ["ftp://sync.example", null],
    ["", null],
  ]) {
    assert.equal(engineAddress(typed), expected, typed);
  }
  assert.equal(socketAddress("https://sync.example/x"), "wss://sync.example/x/workstations/connect");
  assert.equal(socketAddress("http://127.0.0.1:1"), "ws://127.0.0.1:1/workstations/connect");
  for (const typed of ["k7qm-2xrd", " K7QM 2XRD ", "k7qm2xrd", "K7QM–2XRD"]) {
    assert.equal(plainCode(typed), "K7QM-2XRD", typed);
  }
  assert.equal(plainCode("abcdefghjkmnpqrstvwxyz2345"), "ABCDEFGHJKMNPQRSTVWXYZ2345");
});

const WAITING = (id, at = null) => ({ id, kind: "create-appointment", at });
const DAY = 24 * 60 * 60 * 1_000;

test("decisions hold for a day, and only for what was asked", () => {
  const write = WAITING;
  const before = new Approvals({}, 0);
  before.ask(write("old"), 0);
  before.decide([write("old")], true, 0);
  assert.equal(before.ask(write("old"), DAY - 1), "approved");
  const approvals = new Approvals(before.stored, DAY);
  assert.equal(approvals.ask(write("old"), DAY), "open");
  assert.equal(approvals.ask(write("a"), DAY), "open");
  assert.deepEqual(approvals.open.map(({ id }) => id), ["old", "a"]);
  assert.deepEqual(approvals.decide([write("a"), write("unheard of")], true, DAY), ["a"]);
  assert.deepEqual(approvals.decide([write("old")], false, DAY), ["old"]);
  assert.deepEqual([approvals.ask(write("a"), DAY + 1), approvals.ask(write("old"), DAY + 1)], ["approved", "declined"]);
  const later = new Approvals(approvals.stored, 2 * DAY - 1);
  assert.deepEqual([later.ask(write("a"), 2 * DAY - 1), later.ask(write("a"), 2 * DAY)], ["approved", "open"]);
  later.newLease();
  assert.deepEqual(later.open, []);
});

test("a no is said once: what is tried again is asked about again", () => {
  const approvals = new Approvals({}, 0);
  approvals.ask(WAITING("a"), 0);
  approvals.decide([WAITING("a")], false, 0);
  // A decision not yet returned outlives the service worker.
  const later = new Approvals(approvals.stored, 1);
  assert.deepEqual([later.ask(WAITING("a"), 1), later.stored], ["declined", {}]);
  assert.equal(later.ask(WAITING("a"), 2), "open");
  later.decide([WAITING("a")], true, 2);
  assert.equal(later.ask(WAITING("a"), 3), "approved");
});

test("a decision is about a write as it was shown, not about what became of it", () => {
  const [ten, three] = [WAITING("a", "2026-11-23T10:00"), WAITING("a", "2026-11-23T15:00")];
  const approvals = new Approvals({}, 0);
  approvals.ask(ten, 0);
  approvals.ask(WAITING("b"), 0);
  assert.deepEqual(approvals.decide([ten], true, 0), ["a"]);
  assert.equal(approvals.ask(three, 1), "open");
  assert.deepEqual(approvals.decide([ten, { ...three, kind: "cancel-appointment" }], true, 1), [], "of what is shown no more");
  assert.equal(approvals.ask({ ...three, kind: "cancel-appointment" }, 1), "open");
  assert.equal(approvals.ask(three, 1), "open");
  assert.deepEqual(approvals.open, [WAITING("b"), three], "each once, as it is now");
  assert.deepEqual(approvals.decide(approvals.open, true, 2), ["b", "a"]);
  assert.equal(approvals.ask(three, 3), "approved");
});

test("the one word for where things stand", () => {
  const working = { pairing: {}, connection: "open", granted: true, session: "in", paused: false, holds: true, awaiting: [] };
  const said = (fields) => status({ ...working, ...fields });
  assert.equal(said({}), "working");
  assert.equal(said({ holds: false }), "standby");
  assert.equal(said({ awaiting: [{}] }), "approval");
  assert.equal(said({ session: "out", awaiting: [{}] }), "logged_out");
  assert.equal(said({ connection: "connecting", session: "out" }), "offline");
  assert.equal(said({ paused: true, connection: "off" }), "paused");
  assert.equal(said({ granted: false, paused: true }), "ungranted");
  assert.equal(said({ connection: "replaced", granted: false }), "replaced");
  assert.equal(said({ pairing: null, connection: "replaced" }), "unpaired");
  assert.deepEqual([0, 59.9, 60, 7_200, 172_800].map((seconds) => Object.values(age(seconds)).join(" ")), ["seconds 0", "seconds 59", "minutes 1", "hours 2", "days 2"]);
});

test("every text the sources name is there, and none is there in vain", () => {
  const file = (path) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
  const messages = JSON.parse(file("static/_locales/en/messages.json"));
  const sources = ["view", "popup", "texts", "worker", "workstation", "pairing"].map((name) => file(`src/${name}.ts`)).join("\n");
  const statuses = [...file("src/view.ts").matchAll(/^ {2}\| "(\w+)"/gm)].map(([, name]) => name);
  assert.equal(statuses.length, 9);
  const named = new Set([
    ...[...file("static/popup.html").matchAll(/data-text="(\w+)"/g)].map(([, name]) => name),
    ...[...file("static/manifest.json").matchAll(/__MSG_(\w+)__/g)].map(([, name]) => name),
    ...[...sources.matchAll(/"((?:error|cut_off|waiting|button|title|location|workstation)_\w+|language)"/g)].map(([, name]) => name),
    ...statuses.flatMap((name) => [`status_${name}`, `explain_${name}`, ...(name === "approval" ? [] : [`badge_${name}`])]),
    ...["revoked", "token"].map((name) => `explain_${name}`),
    ...["seconds", "minutes", "hours", "days"].map((name) => `age_${name}`),
  ]);
  const open = Object.keys(messages).filter((name) => !/^(kind|state)_/.test(name));
  assert.deepEqual(open.sort(), [...named].sort());
});

class FakeSocket {
  static all = [];
  sent = [];
  closed = false;

  constructor() {
    FakeSocket.all.push(this);
  }

  static get last() {
    return FakeSocket.all.at(-1);
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.closed = true;
  }

  hears(message) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

function connected(t) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  t.mock.method(Math, "random", () => 0.5);
  FakeSocket.all = [];
  const received = [];
  const phases = [];
  const connection = new Connection({ open: () => new FakeSocket(), received: (message) => received.push(message), changed: (phase) => phases.push(phase) });
  const peer = { url: "wss://sync.example/workstations/connect", token: "psw_1", extension: "1.0.0" };
  return { connection, peer, received, phases };
}

const WELCOME = { type: "welcome", protocol: 1, workstation: "w", location: { id: 1, name: "x" }, ehr: EHR, approval: false, heartbeat_seconds: 20 };

test("one socket, however often it is asked for", (t) => {
  const { connection, peer, phases } = connected(t);
  connection.keep(peer);
  connection.keep({ ...peer });
  FakeSocket.last.onopen();
  connection.keep(peer);
  assert.equal(FakeSocket.all.length, 1);
  assert.deepEqual(FakeSocket.last.sent, [{ type: "hello", token: "psw_1", extension: "1.0.0" }]);
  connection.keep({ ...peer, token: "psw_2" });
  assert.deepEqual(FakeSocket.all.map(({ closed }) => closed), [true, false]);
  assert.deepEqual(phases, ["connecting", "off", "connecting"]);
});

test("it backs off while it fails, and starts anew once a connection stood", (t) => {
  const { connection, peer } = connected(t);
  connection.keep(peer);
  const waits = [];
  const fails = () => {
    const before = FakeSocket.all.length;
    FakeSocket.last.onclose();
    let waited = 0;
    for (; FakeSocket.all.length === before; waited += 100) {
      connection.keep(peer);
      t.mock.timers.tick(100);
    }
    waits.push(waited);
  };
  [1, 2, 3, 4].forEach(fails);
  FakeSocket.last.onopen();
  FakeSocket.last.hears(WELCOME);
  fails();
  FakeSocket.last.hears(WELCOME);
  FakeSocket.last.hears({ type: "ping", n: 1 });
  fails();
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 1_000]);
});

test("an engine that falls silent is left", (t) => {
  const { connection, peer, phases } = connected(t);
  connection.keep(peer);
  FakeSocket.last.hears(WELCOME);
  for (let n = 0; n < 5; n++) {
    t.mock.timers.tick(20_000);
    FakeSocket.last.hears({ type: "ping", n });
  }
  assert.equal(FakeSocket.all.length, 1);
  t.mock.timers.tick(45_000);
  assert.deepEqual([FakeSocket.all[0].closed, phases.at(-1)], [true, "off"]);
  t.mock.timers.tick(1_000);
  assert.equal(FakeSocket.all.length, 2);
  // Also a connection without `welcome`.
  t.mock.timers.tick(15_000);
  assert.equal(FakeSocket.all[1].closed, true);
});

test("an engine that breaks the protocol is left", (t) => {
  t.mock.method(console, "warn", () => undefined);
  for (const words of [[{ type: "lease", lease: 1 }], [{ ...WELCOME, protocol: 2 }], [WELCOME, WELCOME], [WELCOME, { type: "unheard of" }]]) {
    const { connection, peer, received } = connected(t);
    connection.keep(peer);
    words.forEach((word) => FakeSocket.all[0].hears(word));
    assert.equal(FakeSocket.all[0].closed, true, JSON.stringify(words));
    assert.ok(received.length < words.length);
    connection.end();
    t.mock.timers.reset();
    mock.restoreAll();
    t.mock.method(console, "warn", () => undefined);
  }
});

test("after a final goodbye it stays away", (t) => {
  for (const [reason, stays] of [["token", true], ["revoked", true], ["replaced", true], ["shutdown", false], ["protocol", false], ["flood", false]]) {
    const { connection, peer, received } = connected(t);
    connection.keep(peer);
    FakeSocket.last.hears({ type: "bye", reason });
    FakeSocket.last.onclose?.();
    t.mock.timers.tick(120_000);
    assert.equal(FakeSocket.all.length > 1, !stays, reason);
    assert.deepEqual(received, [{ type: "bye", reason }]);
    connection.end();
    t.mock.timers.reset();
    mock.restoreAll();
    t.mock.restoreAll();
  }
});

test("what is said before the welcome, or to a lost engine, is not sent later", (t) => {
  const { connection, peer } = connected(t);
  connection.keep(peer);
  connection.send({ type: "approved", writes: ["a"] });
  FakeSocket.last.hears(WELCOME);
  connection.send({ type: "approved", writes: ["b"] });
  FakeSocket.last.onclose();
  connection.send({ type: "approved", writes: ["c"] });
  t.mock.timers.tick(1_000);
  FakeSocket.last.hears(WELCOME);
  assert.deepEqual(FakeSocket.all.map(({ sent }) => sent.length), [1, 0]);
});
