// The staff's approvals of writes, if the operator requires them.

import type { Write } from "./protocol.js";

const KEPT_MS = 24 * 60 * 60 * 1000;
const MOST = 1_000;

export interface Decision {
  yes: boolean;
  at: number;
}

/** Decisions by the description of the write, as stored. */
export type Decisions = Record<string, Decision>;

export type Verdict = "approved" | "declined" | "open";

export class Approvals {
  #decisions: Map<string, Decision>;
  /** Pending writes by id under this lease, in the order of their arrival. */
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
   * Returns the staff's decision on the current state of a write. A write without a decision becomes pending. A
   * rejection is returned once: the write ends with it, and a retry needs another decision.
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

  /** Records a decision. Returns the ids of those writes that were pending in the displayed state. */
  decide(writes: Write[], yes: boolean, now: number): string[] {
    const known = writes.filter((write) => this.#waits(write));
    for (const write of known) {
      this.#open.delete(write.id);
      this.#decisions.set(about(write), { yes, at: now });
    }
    this.#forgetOld(now);
    return known.map(({ id }) => id);
  }

  /** Under another lease the engine retries the pending writes. */
  newLease(): void {
    this.#open.clear();
  }

  /** Replaces an earlier state of the same write. */
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

/** The data of a write that staff see. A decision applies to this data, and not to a later state of the write. */
function about({ id, kind, at }: Write): string {
  return JSON.stringify([id, kind, at]);
}
