// Commands of the popup to the service worker.

import type { PairingError } from "./pairing.js";
import type { Write } from "./protocol.js";

export type Command =
  | { do: "pair"; engine: string; code: string; name: string }
  | { do: "unpair" }
  | { do: "pause"; paused: boolean }
  /** Decides on these writes as displayed by the popup. */
  | { do: "decide"; writes: Write[]; yes: boolean }
  /** Checks the session, and connects. */
  | { do: "look" }
  /** Takes the connection over from another browser with the same installation name. */
  | { do: "return" };

export interface Reply {
  error: PairingError | null;
}

export function ask(command: Command): Promise<Reply> {
  return chrome.runtime.sendMessage<Command, Reply>(command);
}
