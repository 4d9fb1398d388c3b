// One timer that is set or not.

export class Timer {
  #running: ReturnType<typeof setTimeout> | null = null;

  get isSet(): boolean {
    return this.#running !== null;
  }

  /** Replaces what was set. */
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
