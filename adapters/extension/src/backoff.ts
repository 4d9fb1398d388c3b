// When to connect again: exponential, with full jitter, so that ten thousand workstations do not come back in one second.

const SHORTEST_MS = 100;
const FIRST_MS = 2_000;
const LONGEST_MS = 60_000;

/** How long to wait after so many attempts in a row that came to nothing. `random` is in 0..1. */
export function delay(failures: number, random: number): number {
  const window = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 16));
  return Math.max(SHORTEST_MS, Math.floor(window * random));
}
