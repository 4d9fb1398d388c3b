// An engine and an EHR controlled by a test, for behaviour that the real ones never show.
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

import { until } from "./chromium.mjs";

const SUBPROTOCOL = "practice-sync.workstation.v1";

/** Pairs clients with the code and records all messages of all connections. */
export class FakeEngine {
  code = "K7QM-2XRD";
  approval = false;
  /** Longer than a test, because a fake engine sends no pings. */
  heartbeatSeconds = 600;
  /** Answers each hello with a welcome immediately. */
  welcomes = false;
  pairings = [];
  connections = [];
  #server = createServer((request, response) => void this.#answer(request, response));

  static async start(ehr) {
    const engine = new FakeEngine();
    engine.ehr = ehr;
    const sockets = new WebSocketServer({ server: engine.#server, path: "/workstations/connect", handleProtocols: (offered) => offered.has(SUBPROTOCOL) && SUBPROTOCOL });
    sockets.on("connection", (socket) => engine.connections.push(new FakeConnection(socket, engine)));
    engine.url = await listening(engine.#server);
    return engine;
  }

  /** Waits for the hello of the n-th connection and returns the connection. */
  async connection(n) {
    await waited(`connection ${n}`, () => this.connections[n]?.of("hello").length > 0);
    return this.connections[n];
  }

  /** Waits until the last connection after the first `n` has this state. */
  async stands(n, fields) {
    const last = () => (this.connections.length > n ? this.connections.at(-1) : undefined);
    const wanted = () => `state ${JSON.stringify(fields)} after ${JSON.stringify(last()?.heard.at(-1))}`;
    await waited(wanted, () => last()?.isOpen && last().isAt(fields));
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
    this.connections.forEach((connection) => connection.socket.terminate());
  }

  async #answer(request, response) {
    const body = JSON.parse((await bodyOf(request)) || "null");
    if (request.method !== "POST" || request.url !== "/workstations/pair" || body.code !== this.code) {
      response.writeHead(404).end();
      return;
    }
    this.pairings.push(body);
    const paired = { token: `psw_${this.pairings.length}`, workstation: "8e0c6a6e-0000-4000-8000-000000000001", location: this.location, ehr: this.ehr };
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(paired));
  }

  get location() {
    return { id: 101, name: "Main Street" };
  }
}

class FakeConnection {
  heard = [];
  isOpen = true;
  #number = 0;
  #lease = null;

  constructor(socket, engine) {
    this.socket = socket;
    socket.on("message", (data) => {
      this.heard.push(JSON.parse(data));
      if (engine.welcomes && this.heard.at(-1).type === "hello") {
        this.welcome();
      }
    });
    socket.on("close", () => (this.isOpen = false));
    this.engine = engine;
  }

  of(type) {
    return this.heard.filter((message) => message.type === type);
  }

  say(message) {
    this.socket.send(JSON.stringify(message));
  }

  /** Waits for a message from the extension. */
  async says(type, fields = {}) {
    const fits = (message) => Object.entries(fields).every(([name, value]) => message[name] === value);
    await waited(`${type} ${JSON.stringify(fields)}`, () => this.of(type).some(fits));
    return this.of(type).find(fits);
  }

  async stands(fields) {
    await waited(() => `state ${JSON.stringify(fields)} after ${JSON.stringify(this.heard.at(-1))}`, () => this.isAt(fields));
  }

  /** Returns whether the last reported state matches. */
  isAt(fields) {
    const now = this.of("state").at(-1);
    return now !== undefined && Object.entries(fields).every(([name, value]) => now[name] === value);
  }

  welcome() {
    const { location, ehr, approval, heartbeatSeconds } = this.engine;
    this.say({ type: "welcome", protocol: 1, workstation: "8e0c6a6e-0000-4000-8000-000000000001", location, ehr, approval, heartbeat_seconds: heartbeatSeconds, later: "unknown fields are ignored" });
  }

  lease(lease) {
    this.#lease = lease;
    this.say({ type: "lease", lease });
  }

  /** Sends a request and waits for its result. */
  async ask(fields) {
    const sent = this.send(fields);
    return this.outcome(sent);
  }

  send(fields) {
    const plain = { method: "GET", path: "/api/schedule", headers: [["accept", "application/json"]], body: null };
    const limits = { deadline_ms: 120_000, max_body: 1 << 20, write: null };
    const request = { type: "request", lease: this.#lease, number: ++this.#number, location: 101, ...plain, ...limits, ...fields };
    this.say(request);
    return request;
  }

  async outcome({ number }) {
    const found = () => this.outcomes(number);
    await waited(`an answer to ${number}`, () => found().length > 0);
    const [outcome] = found();
    return outcome.type === "answer" ? { ...outcome, text: Buffer.from(outcome.body, "base64").toString() } : outcome;
  }

  outcomes(number) {
    return this.heard.filter((message) => ["answer", "failure"].includes(message.type) && message.number === number);
  }
}

/** A web application with a login. `outsiders` specifies the answer to requests without a session. */
export class FakeEhr {
  /** `unauthorized`, `redirect` or `page` (the login page, with 200). */
  outsiders = "unauthorized";
  requests = [];
  written = [];
  brokenOff = 0;
  #sessions = new Set();
  #slow = [];
  #server = createServer((request, response) => void this.#answer(request, response));

  static async start(host = "127.0.0.1") {
    const ehr = new FakeEhr();
    ehr.url = (await listening(ehr.#server)).replace("127.0.0.1", host);
    return ehr;
  }

  get access() {
    return { origin: this.url, base_path: "/app", paths: ["/api"], probe: "/api/me" };
  }

  /** Answers the requests to `/api/slow`, which otherwise remain open. */
  answerSlow() {
    this.#slow.forEach((response) => json(response, 200, { id: 1 }));
    this.#slow = [];
  }

  endSessions() {
    this.#sessions.clear();
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request, response) {
    const path = request.url.split("?")[0];
    const body = await bodyOf(request);
    const session = /session=(\w+)/.exec(request.headers.cookie ?? "")?.[1];
    this.requests.push({ method: request.method, url: request.url, headers: request.headers, session });
    response.once("close", () => (this.brokenOff += response.writableEnded ? 0 : 1));
    if (path === "/app/login" && request.method === "POST") {
      const fresh = `s${Math.random().toString(36).slice(2)}`;
      this.#sessions.add(fresh);
      response.writeHead(303, { location: "/app/schedule", "set-cookie": `session=${fresh}; HttpOnly; SameSite=Strict; Path=/app` }).end();
    } else if (path === "/app/logout") {
      this.#sessions.delete(session);
      response.writeHead(303, { location: "/app/login" }).end();
    } else if (path === "/app/login") {
      page(response, 200, LOGIN);
    } else if (!this.#sessions.has(session)) {
      this.#turnAway(path, response);
    } else {
      this.#serve(request.method, path, body, response);
    }
  }

  #turnAway(path, response) {
    if (this.outsiders === "redirect" || !path.startsWith("/app/api")) {
      response.writeHead(302, { location: "/app/login" }).end();
    } else if (this.outsiders === "page") {
      page(response, 200, LOGIN);
    } else {
      json(response, 401, { error: "log in" });
    }
  }

  #serve(method, path, body, response) {
    switch (`${method} ${path}`) {
      case "GET /app/schedule":
        return page(response, 200, "<h1>Schedule</h1><a id=logout href=/app/logout>Log out</a>");
      case "GET /app/api/me":
        return json(response, 200, { user: "front desk" });
      case "GET /app/api/schedule":
        return json(response, 200, { day: "Monday" });
      case "GET /app/api/page":
        return page(response, 200, "<p>An answer in HTML");
      case "GET /app/api/huge":
        return json(response, 200, { text: "x".repeat(3_000_000) });
      case "GET /app/api/moved":
        return response.writeHead(302, { location: "http://localhost:1/elsewhere" }).end();
      case "POST /app/api/moved":
        return response.writeHead(303, { location: "/app/schedule" }).end();
      case "POST /app/api/slow":
        this.written.push(body);
        return this.#slow.push(response);
      case "POST /app/api/appointments":
        this.written.push(body);
        return json(response, 201, { id: this.written.length });
      default:
        return json(response, 404, { error: "no such thing" });
    }
  }
}

const LOGIN = `<form method=post action=/app/login><h1>Log in</h1><input name=user id=user><button id=enter>Log in</button></form>`;

// With its own icon, so that the browser requests no other at a time of its choice.
function page(response, status, body) {
  response.writeHead(status, { "content-type": "text/html; charset=utf-8" }).end(`<!doctype html><title>EHR</title><link rel=icon href="data:,">${body}`);
}

function json(response, status, value) {
  response.writeHead(status, { "content-type": "application/json", "x-csrf": "t0k3n" }).end(JSON.stringify(value));
}

async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) {
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

async function listening(server) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${server.address().port}`;
}

export async function waited(what, look) {
  if (!(await until(look))) {
    throw new Error(`${typeof what === "function" ? what() : what} did not happen`);
  }
}
