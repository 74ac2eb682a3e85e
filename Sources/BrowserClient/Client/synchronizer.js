// Keeps a replica up to date and its outbox empty, for as long as a page lives.

import { keepDoing, Nudge } from "./pause.js";
import { Overtaken } from "./pull.js";
import { Pulling } from "./pulling.js";
import { Pushing } from "./pushing.js";

export class Synchronizer {
  nudges = { push: new Nudge(), pull: new Nudge() };
  ending = new AbortController();

  constructor(replica, requests) {
    this.replica = replica;
    this.outbox = replica.outbox;
    const { database, outbox, collections } = replica;
    const changed = (names) => replica.tell("change", { collections: names });
    this.pushing = new Pushing(requests, outbox, (ended) => this.settled(ended));
    const moved = (move) => replica.tell("moved", move);
    this.pulling = new Pulling(requests, database, outbox, collections, changed, moved);
  }

  /** One page of the browser at a time syncs; the next takes over when it closes. Returns when stopped. */
  start() {
    const { signal } = this.ending;
    return navigator.locks.request(this.replica.name, { signal }, () => this.run(signal)).catch((error) => {
      if (!signal.aborted) throw error;
    });
  }

  /** There is something to send, or a reason to believe that the server can be reached. */
  hurry() {
    this.nudges.push.give();
    this.nudges.pull.give();
  }

  stop() {
    this.ending.abort();
    this.hurry();
  }

  async run(signal) {
    const recover = (error) => this.recover(error);
    await Promise.all([
      keepDoing((attempt) => this.pushing.all(attempt), { signal, recover, nudge: this.nudges.push }),
      keepDoing((attempt) => this.pullAndFollow(attempt), { signal, recover, nudge: this.nudges.pull }),
    ]);
  }

  async pullAndFollow(signal) {
    if (this.replica.phase !== "live") this.phase("syncing");
    await this.pulling.once(signal);
    // Edits wait for a first checkpoint.
    this.nudges.push.give();
    await this.pulling.follow(signal, (isOpen) => this.phase(isOpen ? "live" : "offline"));
  }

  async recover(error) {
    if (error instanceof Overtaken) return false;
    if (error.code === "sync.fetchAgain") {
      const had = (await this.outbox.device()).checkpoint !== null;
      await this.outbox.startOver();
      return !had;
    }
    this.phase(error.needsSignIn ? "signedOut" : error.isTemporary ? "offline" : "failed", error);
    return true;
  }

  settled(ended) {
    const collections = [...new Set(ended.map(({ edit }) => edit.collection))];
    if (collections.length > 0) this.replica.tell("change", { collections });
    for (const { edit, outcome } of ended) {
      const isMade = outcome.outcome === "applied" || outcome.outcome === "merged";
      this.replica.tell(isMade ? "settled" : "problem", { edit, outcome });
    }
  }

  phase(phase, error) {
    if (this.ending.signal.aborted) return;
    this.replica.tell("state", { phase, error: error && { code: error.code, message: error.message } });
  }
}
