// A timer with at most one pending callback.

export class Timer {
  #running: ReturnType<typeof setTimeout> | null = null;

  get isSet(): boolean {
    return this.#running !== null;
  }

  /** Replaces the pending callback. */
  set(ms: number, call: () => void): void {
    this.stop();
    this.#running = setTimeout(() => {
      this.#running = null;
      call();
    }, ms);
  }

  stop(): void {
    if (this.#running !== null) {
      clearTimeout(this.#running);
      this.#running = null;
    }
  }
}
