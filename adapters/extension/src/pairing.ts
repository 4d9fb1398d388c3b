// Exchange of an enrolment code for a token.

import { isSafe, parsed } from "./allowed.js";
import { readPaired, type Paired } from "./protocol.js";

const LIMIT_MS = 15_000;

/** The key of an error message in `_locales`. */
export type PairingError = "error_engine" | "error_code" | "error_refused" | "error_wait" | "error_unreachable" | "error_answer";

export interface Asked {
  engine: string;
  code: string;
  name: string;
  install: string;
}

export type PairingOutcome = { paired: Paired; engine: string } | { error: PairingError; retryAfterSeconds?: number };

export async function pair(asked: Asked): Promise<PairingOutcome> {
  const engine = engineAddress(asked.engine);
  if (engine === null) {
    return { error: "error_engine" };
  }
  const body = JSON.stringify({ code: plainCode(asked.code), name: asked.name, install: asked.install });
  try {
    const answer = await fetch(`${engine}/workstations/pair`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    return await outcome(answer, engine);
  } catch {
    return { error: "error_unreachable" };
  }
}

async function outcome(answer: Response, engine: string): Promise<PairingOutcome> {
  switch (answer.status) {
    case 201:
      try {
        return { paired: readPaired(await answer.json()), engine };
      } catch {
        return { error: "error_answer" };
      }
    case 404:
      return { error: "error_code" };
    case 400:
    case 422:
      return { error: "error_refused" };
    case 429:
      return { error: "error_wait", retryAfterSeconds: Number.parseInt(answer.headers.get("retry-after") ?? "", 10) || 60 };
    default:
      return { error: answer.status >= 500 ? "error_unreachable" : "error_answer" };
  }
}

/**
 * Returns the address without query and fragment, or null if a token must not be sent there. `https://` may be omitted.
 */
export function engineAddress(typed: string): string | null {
  const text = typed.trim();
  const url = parsed(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
  if (url === null || !isSafe(url) || url.username !== "" || url.password !== "") {
    return null;
  }
  if (url.hostname === "localhost") {
    // The name of this machine for which the manifest has a permission.
    url.hostname = "127.0.0.1";
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Returns the address of the WebSocket. */
export function socketAddress(engine: string): string {
  return `${engine.replace(/^http/, "ws")}/workstations/connect`;
}

/** Normalises a typed code to the format on the operator's screen. */
export function plainCode(typed: string): string {
  return typed.trim().toUpperCase().replace(/[\s–—]+/g, "-").replace(/^([0-9A-Z]{4})-?([0-9A-Z]{4})$/, "$1-$2");
}
