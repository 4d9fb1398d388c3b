// The staff's yes and no to writes, where the operator wants them asked.

import type { Write } from "./protocol.js";

const KEPT_MS = 24 * 60 * 60 * 1000;
const MOST = 1_000;

export interface Decision {
  yes: boolean;
  at: number;
}

/** By a write's id, as they are stored. */
export type Decisions = Record<string, Decision>;

export type Verdict = "approved" | "declined" | "open";

export class Approvals {
  #decisions: Map<string, Decision>;
  /** Those that wait, in the order in which they came, under this lease. */
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

  /** What the staff said about a write; one they have not been asked about waits from now on. */
  ask(write: Write, now: number): Verdict {
    this.#forgetOld(now);
    const decision = this.#decisions.get(write.id);
    if (decision !== undefined) {
      return decision.yes ? "approved" : "declined";
    }
    if (this.#open.size < MOST) {
      this.#open.set(write.id, write);
    }
    return "open";
  }

  /** The ids that were waiting and are decided now. */
  decide(ids: string[], yes: boolean, now: number): string[] {
    const known = ids.filter((id) => this.#open.delete(id));
    for (const id of known) {
      this.#decisions.set(id, { yes, at: now });
    }
    this.#forgetOld(now);
    return known;
  }

  /** Under another lease the engine tries again what still waits. */
  newLease(): void {
    this.#open.clear();
  }

  #forgetOld(now: number): void {
    const young = [...this.#decisions].filter(([, { at }]) => now - at < KEPT_MS);
    this.#decisions = new Map(young.slice(-MOST));
  }
}
