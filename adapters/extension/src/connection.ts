// A WebSocket connection to the engine with liveness checks and reconnection.

import { delay } from "./backoff.js";
import { Pace } from "./pace.js";
import { ProtocolError, read, SUBPROTOCOL, VERSION, type FromEngine, type Ping, type ToEngine } from "./protocol.js";
import { Timer } from "./timer.js";

/** Maximum frames per second; the engine closes a connection at 50. */
const MOST_FRAMES = 40;
const WELCOME_LIMIT_MS = 15_000;
/** Reasons of `bye` after which the extension must not reconnect. */
const FINAL = ["token", "revoked", "replaced"];

export type Phase = "off" | "connecting" | "open";

/** The part of a browser's WebSocket that is used. */
export type Socket = Pick<WebSocket, "onopen" | "onmessage" | "onclose" | "send" | "close">;

export interface ConnectionParts {
  open: (url: string, subprotocol: string) => Socket;
  received: (message: Exclude<FromEngine, Ping>) => void;
  changed: (phase: Phase) => void;
}

/** The engine's address and the credentials. */
export interface Peer {
  url: string;
  token: string;
  extension: string;
}

export class Connection {
  readonly #parts: ConnectionParts;
  #peer: Peer | null = null;
  #socket: Socket | null = null;
  /** Maximum silence of the engine; null before its `welcome`. */
  #silenceMs: number | null = null;
  #failures = 0;
  #notBefore = 0;
  #retry = new Timer();
  #silence = new Timer();
  #waiting: ToEngine[] = [];
  #pace = new Pace(MOST_FRAMES, 1_000);
  #pacing = new Timer();

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** Ensures a connection, now or after the backoff of the last failure. Idempotent. */
  keep(peer: Peer): void {
    if (JSON.stringify(peer) !== JSON.stringify(this.#peer)) {
      this.end();
      this.#peer = peer;
    }
    if (this.#socket !== null || this.#retry.isSet) {
      return;
    }
    const wait = this.#notBefore - Date.now();
    if (wait > 0) {
      this.#retry.set(wait, () => this.keep(peer));
    } else {
      this.#open(peer);
    }
  }

  /** Closes the connection without reconnecting. */
  end(): void {
    this.#peer = null;
    this.#failures = 0;
    this.#notBefore = 0;
    this.#retry.stop();
    this.#drop();
  }

  /** Sends a message. Without a connection it is dropped; its response would be lost, too. */
  send(message: ToEngine): void {
    if (this.#silenceMs !== null) {
      this.#waiting.push(message);
      this.#flush();
    }
  }

  #open(peer: Peer): void {
    // Assigned before any await, so that concurrent callers find this connection.
    const socket = this.#parts.open(peer.url, SUBPROTOCOL);
    this.#socket = socket;
    socket.onopen = () => this.#write({ type: "hello", token: peer.token, extension: peer.extension });
    socket.onmessage = ({ data }) => this.#received(socket, data);
    socket.onclose = () => this.#lost(socket);
    this.#silence.set(WELCOME_LIMIT_MS, () => this.#lost(socket));
    this.#parts.changed("connecting");
  }

  #received(socket: Socket, data: unknown): void {
    let message: FromEngine;
    try {
      message = read(typeof data === "string" ? data : "");
      this.#expect(message);
    } catch (error) {
      console.warn("the engine broke the protocol:", error instanceof ProtocolError ? error.message : error);
      this.#lost(socket);
      return;
    }
    if (this.#silenceMs !== null) {
      this.#silence.set(this.#silenceMs, () => this.#lost(socket));
    }
    if (message.type === "ping") {
      // The connection has been stable, so the next loss starts a new backoff.
      this.#failures = 0;
      this.send({ type: "pong", n: message.n });
      return;
    }
    if (message.type === "bye" && FINAL.includes(message.reason)) {
      this.end();
    }
    this.#parts.received(message);
  }

  /** `welcome` must be the first message, and must not be repeated. */
  #expect(message: FromEngine): void {
    if (message.type === "welcome") {
      if (this.#silenceMs !== null || message.protocol !== VERSION) {
        throw new ProtocolError("welcome");
      }
      this.#silenceMs = message.heartbeat_seconds * 2_000 + 5_000;
      this.#parts.changed("open");
    } else if (this.#silenceMs === null && message.type !== "bye") {
      throw new ProtocolError(`${message.type} before welcome`);
    }
  }

  #lost(socket: Socket): void {
    if (socket !== this.#socket) {
      return;
    }
    this.#notBefore = Date.now() + delay(this.#failures, Math.random());
    this.#failures += 1;
    this.#drop();
    if (this.#peer !== null) {
      this.keep(this.#peer);
    }
  }

  /** Releases the socket and ignores its remaining events. */
  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#silenceMs = null;
    this.#waiting = [];
    this.#silence.stop();
    this.#pacing.stop();
    if (socket !== null) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
      this.#parts.changed("off");
    }
  }

  #flush(): void {
    while (!this.#pacing.isSet && this.#waiting.length > 0) {
      const wait = this.#pace.wait(Date.now());
      if (wait > 0) {
        this.#pacing.set(wait, () => this.#flush());
      } else {
        this.#write(this.#waiting.shift()!);
      }
    }
  }

  #write(message: ToEngine): void {
    this.#socket?.send(JSON.stringify(message));
  }
}
