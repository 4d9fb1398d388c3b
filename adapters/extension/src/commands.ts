// What the popup asks of the service worker.

import type { PairingError } from "./pairing.js";

export type Command =
  | { do: "pair"; engine: string; code: string; name: string }
  | { do: "unpair" }
  | { do: "pause"; paused: boolean }
  | { do: "decide"; writes: string[]; yes: boolean }
  /** See whether somebody is logged in, and be connected. */
  | { do: "look" }
  /** Take the connection back from the other browser with this installation's name. */
  | { do: "return" };

export interface Reply {
  error: PairingError | null;
}

export function ask(command: Command): Promise<Reply> {
  return chrome.runtime.sendMessage<Command, Reply>(command);
}
