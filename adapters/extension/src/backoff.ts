// Backoff of reconnections: exponential with full jitter, so that ten thousand workstations do not reconnect within one
// second.

const SHORTEST_MS = 100;
const FIRST_MS = 2_000;
const LONGEST_MS = 60_000;

/** Returns the delay after consecutive failures. `random` is in 0..1. */
export function delay(failures: number, random: number): number {
  const window = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 16));
  return Math.max(SHORTEST_MS, Math.floor(window * random));
}
