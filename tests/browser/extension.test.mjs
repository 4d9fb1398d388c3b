// The extension in Chromium, against an engine and an EHR that misbehave on request.
// CHROMIUM, EXTENSION, PROFILE and SCREENSHOTS name the program and the folders.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { Browser, until } from "./chromium.mjs";
import { FakeEhr, FakeEngine, waited } from "./fakes.mjs";

const { CHROMIUM, EXTENSION, PROFILE, SCREENSHOTS } = process.env;
const JSON_BODY = [["accept", "application/json"], ["content-type", "application/json"]];

let browser;
let engine;
let ehr;

before(async () => {
  browser = await start();
  await browser.open("popup", "popup");
});
after(() => browser.close());

afterEach(async () => {
  await command({ do: "unpair" });
  await browser.see("popup", "#status-title", "Not paired");
  engine.stop();
  ehr.stop();
});

test("a code pairs, a login opens the gate, the session reads and writes, a logout shuts it", async () => {
  await fakes();
  await pair("AAAA-2222");
  await browser.see("popup", "#pair-error", "not good");
  assert.deepEqual(engine.pairings, []);
  await browser.screenshot("popup", `${SCREENSHOTS}/popup-pairing.png`);
  await pair("k7qm2xrd");
  await browser.see("popup", "#location", "Main Street");
  const [{ name, code, install }] = engine.pairings;
  assert.deepEqual({ name, code }, { name: "Front desk 1", code: "K7QM-2XRD" });
  assert.match(install, /^[0-9a-f-]{36}$/);

  const connection = await engine.connection(0);
  assert.deepEqual(connection.of("hello").map(({ token }) => token), ["psw_1"]);
  assert.match(connection.socket.protocol, /workstation\.v1$/);
  connection.welcome();
  await connection.stands({ session: "out", paused: false, awaiting: 0 });
  await browser.see("popup", "#status-title", "Logged out");

  await logIn();
  await connection.stands({ session: "in" });
  await browser.see("popup", "#status-title", "Standing by");
  connection.lease(7);
  await browser.see("popup", "#status-title", "Connected");
  const read = await connection.ask({ path: "/api/schedule?day=1" });
  assert.deepEqual([read.type, read.status, read.text, read.lease, read.location], ["answer", 200, '{"day":"Monday"}', 7, 101]);
  assert.ok(read.headers.some(([name, value]) => name === "x-csrf" && value === "t0k3n"));
  const body = Buffer.from('{"patient":"Zoë"}').toString("base64");
  const write = await connection.ask({ method: "POST", path: "/api/appointments", headers: JSON_BODY, body, write: aWrite("w1") });
  assert.deepEqual([write.status, ehr.written], [201, ['{"patient":"Zoë"}']]);
  const sent = ehr.requests.find(({ method, url }) => method === "POST" && url === "/app/api/appointments");
  assert.equal(sent.headers["content-type"], "application/json");

  connection.say({ type: "queue", waiting: 2, oldest_seconds: 200, last: [{ kind: "create-appointment", at: "2026-11-23T09:30", state: "written", when: "2026-11-21T10:00:00Z" }] });
  await browser.see("popup", "#waiting", "2 changes wait");
  await browser.see("popup", "#last", "Mon, Nov 23, 9:30 AM");
  await browser.screenshot("popup", `${SCREENSHOTS}/popup-connected.png`);

  await browser.click("ehr", "#logout", { leads: true });
  await connection.stands({ session: "out" });
  await browser.see("popup", "#status-title", "Logged out");
  assert.equal((await connection.ask({})).kind, "logged_out");
});

test("what the engine may not ask for is refused, and nothing leaves the browser", async () => {
  const connection = await working();
  // Requests of the extension itself, which checks the session from time to time.
  const asked = () => ehr.requests.filter(({ url }) => url !== "/app/api/me").map(({ method, url }) => `${method} ${url}`);
  const before = asked();
  const refused = [
    { path: "/admin" },
    { path: "/apiary" },
    { path: "/api/../admin" },
    { path: "/api/%2e%2e/admin" },
    { path: "/api\\..\\admin" },
    { path: "//evil.example/api" },
    { path: "@evil.example/api" },
    { path: "/api/x#y" },
    { method: "TRACE" },
    { headers: [["Cookie", "session=mine"]] },
    { headers: [["authorization", "Bearer x"]] },
    { location: 102 },
    { body: "AAAA" },
    { method: "POST", body: "not base64!" },
  ];
  for (const fields of refused) {
    assert.equal((await connection.ask(fields)).kind, "refused", JSON.stringify(fields));
  }
  assert.deepEqual(asked(), before);
});

test("a number is performed once, and only under the lease of now", async () => {
  const connection = await working();
  const body = Buffer.from("{}").toString("base64");
  const post = { method: "POST", path: "/api/appointments", headers: JSON_BODY, body, write: aWrite("once") };
  const sent = connection.send(post);
  await connection.outcome(sent);
  connection.say(sent);
  const older = connection.send({ ...post, lease: 6 });
  assert.equal((await connection.outcome(older)).kind, "not_sent");
  connection.lease(8);
  const stale = connection.send({ ...post, lease: 7 });
  assert.equal((await connection.outcome(stale)).kind, "not_sent");
  connection.lease(null);
  assert.equal((await connection.ask({ ...post, lease: 8 })).kind, "not_sent");
  assert.equal(connection.outcomes(sent.number).length, 1);
  assert.equal(ehr.written.length, 1);
});

for (const outsiders of ["unauthorized", "redirect", "page"]) {
  test(`a session that ended is noticed by its answer: ${outsiders}`, async () => {
    const connection = await working();
    ehr.outsiders = outsiders;
    assert.equal((await connection.ask({})).status, 200);
    ehr.endSessions();
    const outcome = await connection.ask({});
    assert.deepEqual([outcome.kind, outcome.reason], ["no_answer", "the session ended"]);
    await connection.stands({ session: "out" });
    const [answered, said] = [outcome, connection.of("state").at(-1)].map((message) => connection.heard.findIndex((heard) => heard === message || (heard.number !== undefined && heard.number === message.number)));
    assert.ok(answered < said, "the answer goes before the state it leads to");
    assert.equal((await connection.ask({})).kind, "logged_out");
    await logIn();
    await connection.stands({ session: "in" });
    connection.lease(8);
    assert.equal((await connection.ask({})).status, 200);
  });
}

test("an answer that breaks the rules is none: huge, late, led elsewhere", async () => {
  const connection = await working();
  assert.deepEqual(kinds(await connection.ask({ path: "/api/huge", max_body: 100_000 })), ["no_answer", "its answer is larger than 100000 bytes"]);
  assert.equal((await connection.ask({ path: "/api/huge", max_body: 5_000_000 })).text.length, 3_000_011);
  assert.deepEqual(kinds(await connection.ask({ path: "/api/moved" })), ["refused", "redirect"]);
  assert.deepEqual(kinds(await connection.ask({ method: "POST", path: "/api/moved", write: aWrite("moved") })), ["no_answer", "redirect"]);
  assert.equal((await connection.ask({ method: "POST", path: "/api/slow", deadline_ms: 300, write: aWrite("slow") })).kind, "no_answer");
  assert.equal((await connection.ask({ path: "/api/none" })).status, 404);
  // HTML instead of JSON, but the session is open: the engine gets the answer.
  assert.equal((await connection.ask({ path: "/api/page" })).status, 200);
  await connection.stands({ session: "in" });
});

test("writes wait for the staff where the operator wants it", async () => {
  const connection = await working({ approval: true });
  const ask = (id) => connection.ask({ method: "POST", path: "/api/appointments", write: aWrite(id) });
  for (const id of ["a", "b", "c", "d"]) {
    assert.equal((await ask(id)).kind, "approval");
  }
  assert.equal((await connection.ask({})).status, 200, "reads go on");
  await connection.stands({ awaiting: 4 });
  await browser.see("popup", "#status-title", "Your approval");
  await browser.see("popup", "#approvals-list", "New appointment");
  await browser.screenshot("popup", `${SCREENSHOTS}/popup-approvals.png`);
  await browser.click("popup", "#approvals-list li:nth-child(2) button:first-child");
  assert.deepEqual((await connection.says("approved")).writes, ["b"]);
  assert.equal((await ask("b")).status, 201);
  await browser.see("popup", "#approvals-title", "(3)");
  await browser.click("popup", "#approvals-list li:nth-child(1) button:last-child");
  await browser.see("popup", "#approvals-title", "(2)");
  assert.equal((await ask("a")).kind, "declined");
  await browser.click("popup", "#approve-all");
  await waited("approve all", () => connection.of("approved").length === 3);
  assert.deepEqual(connection.of("approved").at(-1).writes, ["c", "d"]);
  await connection.stands({ awaiting: 0 });
  assert.equal((await ask("c")).status, 201);
  assert.equal(ehr.written.length, 2);
});

test("a no is for one try, a yes for what was shown", async () => {
  const connection = await working({ approval: true });
  const ask = (id, at) => connection.ask({ method: "POST", path: "/api/appointments", write: { ...aWrite(id), at } });
  const [ten, three] = ["2026-11-23T10:00", "2026-11-23T15:00"];
  assert.equal((await ask("a", ten)).kind, "approval");
  await browser.see("popup", "#approvals-list", "10:00 AM");
  await browser.click("popup", "#approvals-list li button:last-child");
  await waited("the no", () => connection.of("approved").length === 1);
  assert.equal((await ask("a", ten)).kind, "declined");
  const stored = () => browser.page("popup").evaluate(() => chrome.storage.local.get("decisions"));
  assert.deepEqual(await stored(), { decisions: {} });
  // An operator retries the write.
  assert.equal((await ask("a", ten)).kind, "approval");
  await browser.see("popup", "#approvals-list", "10:00 AM");
  await browser.click("popup", "#approvals-list li button:first-child");
  await waited("the yes", () => connection.of("approved").length === 2);
  // Rescheduled before it was sent, and again before the staff saw it.
  assert.equal((await ask("a", three)).kind, "approval");
  await browser.see("popup", "#approvals-list", "3:00 PM");
  assert.equal((await ask("a", "2026-11-23T16:00")).kind, "approval");
  await browser.see("popup", "#approvals-list", "4:00 PM");
  await command({ do: "decide", writes: [{ ...aWrite("a"), at: three }], yes: true });
  assert.equal((await ask("a", three)).kind, "approval");
  await browser.see("popup", "#approvals-title", "(1)");
  assert.deepEqual([connection.of("approved").length, ehr.written.length], [2, 0]);
  assert.equal((await ask("a", ten)).status, 201);
  await connection.stands({ awaiting: 0 });
});

test("paused, nothing new is begun and what is under way ends first", async () => {
  const connection = await working();
  const slow = connection.send({ method: "POST", path: "/api/slow", write: aWrite("slow") });
  await waited("the slow write", () => ehr.written.length === 1);
  await browser.click("popup", "#pause");
  await browser.see("popup", "#status-title", "Paused");
  assert.deepEqual(kinds(await connection.ask({})), ["not_sent", "paused"]);
  assert.equal(connection.of("state").at(-1).paused, false);
  ehr.answerSlow();
  assert.equal((await connection.outcome(slow)).status, 200);
  await connection.stands({ paused: true });
  await browser.click("popup", "#pause");
  await connection.stands({ paused: false });
});

test("a lease that goes takes with it what is under way", async () => {
  const connection = await working();
  const slow = connection.send({ method: "POST", path: "/api/slow", write: aWrite("slow") });
  await waited("the slow write", () => ehr.written.length === 1);
  connection.lease(null);
  await waited("its end", () => ehr.brokenOff > 0);
  connection.lease(8);
  assert.equal((await connection.ask({})).status, 200);
  assert.deepEqual(connection.outcomes(slow.number), []);
});

test("lost connections come back, one at a time", async () => {
  let connection = await working();
  for (let lost = 1; lost <= 3; lost++) {
    if (lost === 1) {
      connection.say({ type: "bye", reason: "shutdown" });
      connection.socket.close();
    } else if (lost === 2) {
      connection.socket.terminate();
    } else {
      connection.say({ type: "a type of the future" });
    }
    connection = await engine.connection(lost);
    assert.deepEqual(engine.connections.map(({ isOpen }) => isOpen), [...Array(lost).fill(false), true]);
    connection.welcome();
    await connection.stands({ session: "in" });
    connection.say({ type: "ping", n: lost });
    assert.deepEqual(await connection.says("pong"), { type: "pong", n: lost });
  }
});

test("the death of the service worker in the middle of a write: nothing is done twice, and the staff is told", async () => {
  const connection = await working();
  const slow = connection.send({ method: "POST", path: "/api/slow", write: aWrite("slow") });
  await waited("the slow write", () => ehr.written.length === 1);
  await browser.stopWorker();
  await waited("the end of the connection", () => !connection.isOpen);
  await browser.open("ehr", `${ehr.url}/app/schedule`);
  const next = await engine.connection(1);
  next.welcome();
  await next.stands({ session: "in" });
  await browser.see("popup", "#cut-off", "One change was cut off");
  // A repeated number under the same lease is not performed again.
  next.lease(7);
  next.say(slow);
  assert.equal((await next.ask({ number: slow.number + 1 })).status, 200);
  assert.deepEqual([next.outcomes(slow.number), ehr.written.length], [[], 1]);
  next.say({ type: "queue", waiting: 0, oldest_seconds: null, last: [] });
  await waited("the notice to go", async () => (await browser.text("popup", "#cut-off")) === null);
  assert.equal(engine.pairings.length, 1);
});

test("a restart of the browser keeps the pairing and the installation, not the session", async () => {
  await working();
  // The browser may load the extension twice at its start. Every connection is welcomed, and the last one counts.
  engine.welcomes = true;
  await browser.kill();
  // A killed browser may still have the session's cookie, which the EHR no longer accepts.
  ehr.endSessions();
  browser = await start();
  await engine.stands(1, { session: "out" });
  await browser.open("popup", "popup");
  await logIn();
  await engine.stands(1, { session: "in" });
  const [first, ...later] = engine.connections.flatMap((connection) => connection.of("hello"));
  assert.deepEqual([first.token, ...new Set(later.map(({ token }) => token))], ["psw_1", "psw_1"]);
  assert.equal(engine.pairings.length, 1);
});

test("a flood of quick answers stays below what the engine allows", async () => {
  const connection = await working();
  const began = Date.now();
  const sent = Array.from({ length: 120 }, () => connection.send({ path: "/admin" }));
  await connection.outcome(sent.at(-1));
  // The network may bunch the frames, but 120 at 40 per second take at least two seconds.
  const took = Date.now() - began;
  assert.ok(took >= 1900, `${sent.length} answers within ${took} ms`);
  assert.equal(connection.isOpen, true);
});

test("revoked, it forgets its token and asks for a code", async () => {
  const connection = await working();
  connection.say({ type: "bye", reason: "revoked" });
  connection.socket.close();
  await browser.see("popup", "#status-text", "taken back");
  const stored = await browser.page("popup").evaluate(() => chrome.storage.local.get());
  assert.equal(JSON.stringify(stored).includes("psw_"), false);
  await pair("K7QM-2XRD");
  const [first, second] = await waited("a second pairing", () => engine.pairings.length === 2).then(() => engine.pairings);
  assert.equal(first.install, second.install);
  assert.equal((await engine.connection(1)).of("hello")[0].token, "psw_2");
});

test("replaced by a copy of its profile, it stays away until somebody wants it back", async () => {
  const connection = await working();
  connection.say({ type: "bye", reason: "replaced" });
  connection.socket.close();
  await browser.see("popup", "#status-title", "In use elsewhere");
  await command({ do: "look" });
  await browser.stopWorker();
  await command({ do: "look" });
  await browser.see("popup", "#status-title", "In use elsewhere");
  assert.equal(engine.connections.length, 1);
  await browser.click("popup", "#return");
  await engine.connection(1);
});

test("an EHR whose host was not granted is not reached", async () => {
  await fakes({ host: "localhost" });
  await pair("K7QM-2XRD");
  const connection = await engine.connection(0);
  connection.welcome();
  await connection.stands({ session: "out" });
  await browser.see("popup", "#status-title", "No access to the EHR");
  connection.lease(7);
  assert.equal((await connection.ask({})).kind, "refused");
  assert.deepEqual(ehr.requests, []);
  await browser.see("popup", "#status-text", "has to let the extension reach localhost");
});

async function start() {
  return Browser.start({ chromium: CHROMIUM, extension: EXTENSION, profile: PROFILE });
}

async function fakes({ host, approval = false } = {}) {
  ehr = await FakeEhr.start(host);
  engine = await FakeEngine.start(ehr.access);
  engine.approval = approval;
}

/** Returns a connection that is paired, logged in and has lease 7. */
async function working(options) {
  await fakes(options);
  await pair("K7QM-2XRD");
  const connection = await engine.connection(0);
  connection.welcome();
  await logIn();
  await connection.stands({ session: "in" });
  connection.lease(7);
  return connection;
}

async function pair(code) {
  await browser.type("popup", "#engine", engine.url);
  await browser.type("popup", "#code", code);
  await browser.type("popup", "#name", "Front desk 1");
  await browser.click("popup", "#pair-button");
}

async function logIn() {
  await browser.open("ehr", `${ehr.url}/app/login`);
  await browser.click("ehr", "#enter", { leads: true });
}

function command(command) {
  return browser.page("popup").evaluate((command) => chrome.runtime.sendMessage(command), command);
}

function aWrite(id) {
  return { id, kind: "create-appointment", at: "2026-11-23T09:30" };
}

function kinds({ kind, reason }) {
  return [kind, reason];
}
