// A rate limit below the number of frames per second at which the engine closes a connection.

export class Pace {
  readonly #most: number;
  readonly #periodMs: number;
  /** Times of recent frames, oldest first. */
  #gone: number[] = [];

  constructor(most: number, periodMs: number) {
    this.#most = most;
    this.#periodMs = periodMs;
  }

  /** Returns the delay of the next frame. If 0, the frame may be sent and is counted. */
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
