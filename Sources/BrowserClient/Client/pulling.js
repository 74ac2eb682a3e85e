// Brings the replica up to date, and keeps it there.

import { PorticoError } from "./errors.js";
import { events } from "./events.js";
import { Pull } from "./pull.js";

const operationsOfPage = 1_000;
/** How often scopes are fetched again that disagree with their checksums. */
const refetches = 2;

export class Pulling {
  /**
   * @param {import("./requests.js").Requests} requests
   * @param {IDBDatabase} database
   * @param {import("./outbox.js").Outbox} outbox
   * @param {string[]} collections
   * @param {(collections: string[]) => void} changed hears what a pull has touched
   * @param {(move: {collection: string, id: string, movedTo: string}) => void} moved hears of records that have another id from now on
   */
  constructor(requests, database, outbox, collections, changed, moved) {
    this.requests = requests;
    this.database = database;
    this.outbox = outbox;
    this.collections = collections;
    this.changed = changed;
    this.moved = moved;
  }

  /** To the end; applied as a whole. */
  async once(signal) {
    const pull = await this.begin();
    await this.finish(pull, { checkpoint: pull.from ?? undefined }, signal);
  }

  /** What changes from now on, as it changes. Ends with the signal, or by throwing. */
  async follow(signal, onState) {
    let pull = await this.begin();
    const query = new URLSearchParams({ checkpoint: pull.from, collections: this.collections.join(","), clientId: pull.clientId });
    for await (const event of events(this.requests, `/sync/v1/live?${query}`, { signal, onState })) {
      const page = JSON.parse(event.data);
      if (event.event === "error") throw new PorticoError(page.error.code, page.error.message, { status: 503 });
      const wrong = await this.receive(pull, page);
      if (wrong?.length) await this.finish(pull, refetch(page, wrong), signal);
      if (wrong) pull = await this.begin();
    }
  }

  async begin() {
    return new Pull(this.database, await this.outbox.device());
  }

  async finish(pull, ask, signal) {
    for (let attempts = 0; attempts <= refetches;) {
      const describe = pull.known?.description ?? "none";
      const body = { ...ask, collections: this.collections, limit: operationsOfPage, describe, clientId: pull.clientId };
      const page = (await this.requests.json("POST", "/sync/v1/pull", { body, signal })).value;
      const wrong = await this.receive(pull, page);
      if (wrong?.length === 0) return;
      if (wrong) attempts += 1;
      ask = wrong ? refetch(page, wrong) : { checkpoint: page.next };
    }
    throw new PorticoError("client.disagreement", "The server's records and its checksums do not agree.");
  }

  async receive(pull, page) {
    const wrong = await pull.receive(page);
    if (wrong?.length === 0 && pull.touched.size > 0) this.changed([...pull.touched]);
    if (wrong?.length === 0) pull.moves.forEach((move) => this.moved(move));
    return wrong;
  }
}

const refetch = (page, wrong) => ({ checkpoint: page.complete.checkpoint, refetch: wrong });
