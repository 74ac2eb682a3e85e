// Sends what waits in the outbox, batch by batch, until nothing waits.

import { PorticoError } from "./errors.js";

const mutationsOfBatch = 100;

export class Pushing {
  limit = mutationsOfBatch;

  /** @param {(ended: {edit: any, outcome: any}[]) => void} settled hears what became of edits */
  constructor(requests, outbox, settled) {
    this.requests = requests;
    this.outbox = outbox;
    this.settled = settled;
  }

  async all(signal) {
    while (!signal?.aborted) {
      const batch = await this.outbox.next(this.limit);
      if (!batch) return;
      await this.push(batch, signal).catch((error) => this.narrow(error, batch));
    }
  }

  async push({ message, history }, signal) {
    const { value } = await this.requests.json("POST", "/sync/v1/push", { body: message, signal });
    const ended = await this.outbox.settle(value.outcomes, history);
    this.limit = mutationsOfBatch;
    this.settled(ended);
    // What has no outcome is sent again, but not at once.
    if (ended.length < message.mutations.length) {
      const pauses = value.outcomes.map((one) => one.retryAfter ?? 0);
      throw new PorticoError("client.retry", "Not now.", { status: 503, retryAfter: Math.max(1, ...pauses) });
    }
  }

  /** Finds what a batch is refused for by sending less of it, and sets that aside, so that it blocks nothing. */
  async narrow(error, { message: { mutations }, history }) {
    if (error.status === 403) return this.outbox.renew();
    if (![400, 413, 422].includes(error.status)) throw error;
    this.limit = Math.max(1, mutations.length >> 1);
    if (mutations.length > 1) return;
    const refusal = { sequence: mutations[0].sequence, outcome: "rejected", reason: error.code, message: error.message };
    this.settled(await this.outbox.settle([refusal], history));
  }
}
