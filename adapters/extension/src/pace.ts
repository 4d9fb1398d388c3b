// Keeps the extension below the number of frames a second at which the engine ends a connection.

export class Pace {
  readonly #most: number;
  readonly #periodMs: number;
  /** When the last ones went, oldest first. */
  #gone: number[] = [];

  constructor(most: number, periodMs: number) {
    this.#most = most;
    this.#periodMs = periodMs;
  }

  /** How long the next one has to wait; 0: it may go, and counts as gone. */
  wait(now: number): number {
    this.#gone = this.#gone.filter((at) => now - at < this.#periodMs && at <= now);
    const oldest = this.#gone[0];
    if (oldest !== undefined && this.#gone.length >= this.#most) {
      return oldest + this.#periodMs - now;
    }
    this.#gone.push(now);
    return 0;
  }
}
