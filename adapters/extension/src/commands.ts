// What the popup asks of the service worker.

import type { PairingError } from "./pairing.js";
import type { Write } from "./protocol.js";

export type Command =
  | { do: "pair"; engine: string; code: string; name: string }
  | { do: "unpair" }
  | { do: "pause"; paused: boolean }
  /** About these as the popup showed them. */
  | { do: "decide"; writes: Write[]; yes: boolean }
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
