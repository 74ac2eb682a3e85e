// Waiting between attempts: longer after each failure, shorter when the browser hints that the network is back.

const longest = 10_000;

export class Pause {
  failures = 0;

  constructor(signal) {
    this.signal = signal;
  }

  reset() {
    this.failures = 0;
  }

  /** Waits about `first` milliseconds, doubled with each call since the last reset. */
  async next(first = 1_000) {
    const length = Math.min(longest, first * 2 ** Math.min(this.failures, 10));
    this.failures += 1;
    if (await interrupted(length * (0.5 + Math.random() / 2), this.signal)) this.reset();
  }
}

/**
 * The time is over, the signal aborted, or the browser says that it is online: a hint that may be wrong either way.
 * @returns {Promise<boolean>} whether it was the hint
 */
export function interrupted(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = (event) => {
      clearTimeout(timer);
      globalThis.removeEventListener?.("online", done);
      signal?.removeEventListener("abort", done);
      resolve(event?.type === "online");
    };
    const timer = setTimeout(done, milliseconds);
    globalThis.addEventListener?.("online", done);
    if (signal?.aborted) done();
    else signal?.addEventListener("abort", done);
  });
}

/** Something that loops wait for: a nudge counts for every loop that asked for the next one before it came. */
export class Nudge {
  constructor() {
    this.renew();
  }

  renew() {
    this.next = new Promise((resolve) => { this.resolve = resolve; });
  }

  give() {
    this.resolve();
    this.renew();
  }
}

/** One attempt. What is under way while the browser is offline may never be answered, so `online` ends it then. */
class Attempt {
  constructor(signal) {
    this.ending = new AbortController();
    this.signal = /** @type {any} */ (AbortSignal).any([signal, this.ending.signal]);
    this.wasOffline = globalThis.navigator?.onLine === false;
    for (const name of ["offline", "online"]) globalThis.addEventListener?.(name, this);
  }

  handleEvent({ type }) {
    if (type === "offline") this.wasOffline = true;
    else if (this.wasOffline) this.ending.abort();
  }

  get isOvertaken() {
    return this.ending.signal.aborted;
  }

  close() {
    for (const name of ["offline", "online"]) globalThis.removeEventListener?.(name, this);
  }
}

/**
 * @typedef {{signal: AbortSignal, nudge: Nudge, recover: (error: any) => Promise<boolean>}} Doing
 *   `recover`: whether to wait before the next attempt
 */

/**
 * Does `work` again after each nudge, until `signal` aborts, and at once when the browser says that it is online. A
 * failure delays it and never ends it.
 * @param {(signal: AbortSignal) => Promise<void>} work
 * @param {Doing} doing
 */
export async function keepDoing(work, { signal, nudge, recover }) {
  const pause = new Pause(signal);
  while (!signal.aborted) {
    const nudged = nudge.next;
    const attempt = new Attempt(signal);
    try {
      await work(attempt.signal);
      pause.reset();
      if (!attempt.isOvertaken) await nudged;
    } catch (error) {
      if (signal.aborted) return;
      if (attempt.isOvertaken) pause.reset();
      else if (await recover(error)) await Promise.race([pause.next((error.retryAfter ?? 1) * 1_000), nudged]);
    } finally {
      attempt.close();
    }
  }
}
