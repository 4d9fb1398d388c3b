// The staff's yes and no to writes, where the operator wants them asked.

import type { Write } from "./protocol.js";

const KEPT_MS = 24 * 60 * 60 * 1000;
const MOST = 1_000;

export interface Decision {
  yes: boolean;
  at: number;
}

/** By what was decided on, as they are stored. */
export type Decisions = Record<string, Decision>;

export type Verdict = "approved" | "declined" | "open";

export class Approvals {
  #decisions: Map<string, Decision>;
  /** Those that wait, by id, in the order in which they came, under this lease. */
  #open = new Map<string, Write>();

  constructor(stored: Decisions, now: number) {
    this.#decisions = new Map(Object.entries(stored));
    this.#forgetOld(now);
  }

  get open(): Write[] {
    return [...this.#open.values()];
  }

  get stored(): Decisions {
    return Object.fromEntries(this.#decisions);
  }

  /**
   * What the staff said about a write as it is now; one they have not been asked about waits from now on. A no is said once: the
   * write ends with it, and one that is tried again all the same is asked about again.
   */
  ask(write: Write, now: number): Verdict {
    this.#forgetOld(now);
    const decision = this.#decisions.get(about(write));
    if (decision === undefined) {
      this.#wait(write);
      return "open";
    }
    this.#open.delete(write.id);
    if (decision.yes) {
      return "approved";
    }
    this.#decisions.delete(about(write));
    return "declined";
  }

  /** The ids of those that were waiting, as they were shown, and are decided now. */
  decide(writes: Write[], yes: boolean, now: number): string[] {
    const known = writes.filter((write) => this.#waits(write));
    for (const write of known) {
      this.#open.delete(write.id);
      this.#decisions.set(about(write), { yes, at: now });
    }
    this.#forgetOld(now);
    return known.map(({ id }) => id);
  }

  /** Under another lease the engine tries again what still waits. */
  newLease(): void {
    this.#open.clear();
  }

  /** What it was before it was changed does not wait any more. */
  #wait(write: Write): void {
    if (this.#open.size < MOST || this.#open.has(write.id)) {
      this.#open.set(write.id, write);
    }
  }

  #waits(write: Write): boolean {
    const open = this.#open.get(write.id);
    return open !== undefined && about(open) === about(write);
  }

  #forgetOld(now: number): void {
    const young = [...this.#decisions].filter(([, { at }]) => now - at < KEPT_MS);
    this.#decisions = new Map(young.slice(-MOST));
  }
}

/** All that the staff is shown of a write: a decision is about this, and not about what became of it later. */
function about({ id, kind, at }: Write): string {
  return JSON.stringify([id, kind, at]);
}
