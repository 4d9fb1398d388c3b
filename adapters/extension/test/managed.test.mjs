// A roll-out by policy in a simulated browser: the extension's storage, its requests, and removal of the policy.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Workstation } from "../dist/workstation.js";

const POLICY = { engine: "https://sync.example", code: "ABCDEFGHJKMNPQRSTVWXYZ2345", name: "Reception" };
const EHR = { origin: "https://ehr.example", base_path: "/app", paths: ["/api"], probe: "/api/me" };

let policy;
let local;
let calls;
let answer;
let views;
let workstations = [];

beforeEach(() => {
  policy = { ...POLICY };
  local = {};
  calls = [];
  views = [];
  FakeSocket.all = [];
  answer = () => ({ status: 201, json: async () => ({ token: "psw_1", workstation: "w", location: { id: 101, name: "Main Street" }, ehr: EHR }) });
  globalThis.chrome = {
    storage: { local: area(() => local), session: area(() => ({})), managed: { get: async () => policy } },
    permissions: { contains: async () => true },
    runtime: { getManifest: () => ({ version: "1.0.0" }) },
    i18n: { getMessage: (name) => name },
  };
  globalThis.fetch = async (url, options) => {
    calls.push({ url: String(url), body: options.body && JSON.parse(options.body) });
    return answer();
  };
  globalThis.WebSocket = FakeSocket;
});

// A paired extension keeps a connection open.
afterEach(async () => {
  await Promise.all(workstations.map((workstation) => workstation.command({ do: "unpair" })));
  workstations = [];
});

test("the policy's code pairs, by itself", async () => {
  const workstation = await started();
  assert.deepEqual(calls, [{ url: "https://sync.example/workstations/pair", body: { code: POLICY.code, name: "Reception", install: local.install } }]);
  assert.equal(FakeSocket.all.length, 1);
  assert.equal(local.pairing.token, "psw_1");
  await workstation.tick();
  assert.equal(calls.length, 1);
});

test("values that come late are seen by the next look", async () => {
  policy = {};
  const workstation = await started();
  assert.equal(calls.length, 0);
  policy = { ...POLICY };
  await workstation.tick();
  assert.equal(calls.length, 1);
});

test("a workstation whose access was taken back is not paired again by the same policy", async () => {
  const workstation = await started();
  FakeSocket.all[0].hears({ type: "bye", reason: "revoked" });
  await turns();
  assert.equal(local.pairing, null);
  await workstation.tick();
  await (await started()).tick();
  assert.equal(calls.length, 1);
  policy.code = "ZYXWVTSRQPNMKJHGFEDCBA5432";
  await workstation.tick();
  assert.equal(calls.length, 2);
  assert.equal(local.pairing.token, "psw_1");
});

test("a code that is not good is tried once; an engine that cannot be reached, until it can", async () => {
  answer = () => ({ status: 404 });
  let workstation = await started();
  await workstation.tick();
  assert.equal(calls.length, 1);
  local = {};
  answer = () => {
    throw new TypeError("Failed to fetch");
  };
  workstation = await started();
  await workstation.tick();
  assert.equal(calls.length, 3);
  answer = () => ({ status: 429, headers: new Headers({ "retry-after": "3600" }) });
  await workstation.tick();
  await workstation.tick();
  assert.equal(calls.length, 4);
});

test("a refusal of the workstation and a failure of the engine are not reported as a wrong code", async () => {
  for (const [status, error] of [[400, "error_refused"], [422, "error_refused"], [503, "error_unreachable"], [404, "error_code"], [403, "error_answer"]]) {
    local = {};
    answer = () => ({ status });
    await started();
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(views.at(-1).enrolment, error, String(status));
  }
});

test("a token goes nowhere but over TLS or to this machine", async () => {
  policy.engine = "http://sync.example";
  await started();
  assert.deepEqual([calls, FakeSocket.all], [[], []]);
});

test("whatever stops the worker in the middle of a write is shown when it is back", async () => {
  await started();
  local.begun = [{ id: "w1", kind: "create-appointment", at: null }];
  await started();
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(views.at(-1).cutOff, 1);
});

async function started() {
  const workstation = await Workstation.start((view) => views.push(view));
  workstations.push(workstation);
  return workstation;
}

function turns() {
  return new Promise((resolve) => setTimeout(resolve, 10));
}

/** `chrome.storage.*`: copies in, copies out. */
function area(held) {
  return {
    get: async (defaults) => structuredClone({ ...defaults, ...held() }),
    set: async (changes) => void Object.assign(held(), structuredClone(changes)),
  };
}

class FakeSocket {
  static all = [];

  constructor(url) {
    this.url = url;
    FakeSocket.all.push(this);
  }

  send() {}

  close() {}

  hears(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }
}
