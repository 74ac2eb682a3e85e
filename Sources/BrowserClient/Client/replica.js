// What an app works with: a user's records in this browser, there with and without a network.

import { answer, deleteDatabase, everything, openDatabase, transact, within } from "./database.js";
import { idIn, keyed, overlay } from "./edits.js";
import { Outbox, around, described } from "./outbox.js";
import { PorticoError } from "./errors.js";
import { Synchronizer } from "./synchronizer.js";

/**
 * @typedef {"syncing" | "live" | "offline" | "signedOut" | "failed"} Phase
 * @typedef {{id: string, rev: number, fields: Record<string, any>, isPending: boolean}} ReplicaRecord
 *   `isPending`: something of it was done here and not sent yet
 * @typedef {{number: number, collection: string, id: string, operation: "create" | "update" | "delete",
 *   fields?: Record<string, any>, mine: any, cause: "conflict" | "rejected", record: any, reason?: string, message?: string}} Problem
 */

/**
 * Events, each a CustomEvent with a `detail`:
 * `change` {collections}: records look different; `state` {phase, error?}: `syncing`, `live`, `offline`, `signedOut` or
 * `failed`; `settled` {edit, outcome}: the server made an edit; `problem` {edit, outcome}: it did not; `moved`
 * {collection, id, movedTo}: a record has another id from now on, because another system chose its key.
 */
export class Replica extends EventTarget {
  /**
   * Opens at once with whatever was last synced, and syncs for as long as the page lives or until `close`.
   * @param {import("./requests.js").Requests} requests
   * @param {string} name
   * @param {string[]} collections
   * @param {{sync?: boolean}} options
   */
  static async open(requests, name, collections, { sync = true } = {}) {
    if (!globalThis.navigator?.locks) {
      throw new PorticoError("client.insecure", "A replica needs a page from https, or from this very machine.");
    }
    const replica = new Replica(requests, name, collections, await openDatabase(name));
    if (sync) replica.start();
    return replica;
  }

  /**
   * @param {import("./requests.js").Requests} requests
   * @param {string} name
   * @param {string[]} collections
   * @param {IDBDatabase} database
   */
  constructor(requests, name, collections, database) {
    super();
    this.name = name;
    /** The names of the collections that it holds. */
    this.collections = collections;
    this.database = database;
    /**
     * How it stands with the server.
     * @type {Phase}
     */
    this.phase = "offline";
    this.outbox = new Outbox(database);
    /**
     * Ends with the syncing.
     * @type {Promise<void> | undefined}
     */
    this.running = undefined;
    this.synchronizer = new Synchronizer(this, requests);
    // The other pages of this browser that have it open.
    this.others = new BroadcastChannel(name);
    this.others.onmessage = ({ data }) => this.heard(data);
  }

  start() {
    this.running = this.synchronizer.start();
  }

  /**
   * Every record of a collection, what was done here laid over it.
   * @param {string} collection
   * @returns {Promise<ReplicaRecord[]>}
   */
  records(collection) {
    return transact(this.database, ["rows", "edits", "acknowledged", "state"], "readonly", async (stores) => {
      const [device, rows, edits, acknowledged] = await Promise.all([
        answer(stores.state.get("device")),
        answer(stores.rows.getAll(within(collection))), answer(stores.edits.index("record").getAll(within(collection))),
        answer(stores.acknowledged.index("record").getAll(within(collection))),
      ]);
      const description = described(device, collection);
      return overlaid(rows, acknowledged, edits).map((record) => keyed(record, description));
    });
  }

  /**
   * One record, or null.
   * @param {string} collection
   * @param {string} id
   * @returns {Promise<ReplicaRecord | null>}
   */
  record(collection, id) {
    return transact(this.database, everything, "readonly", async (stores) => {
      const { row, acknowledged, edits } = await around(stores, { collection, id });
      const device = await answer(stores.state.get("device"));
      return keyed(overlay(row, acknowledged, edits), described(device, collection));
    });
  }

  /**
   * How old the collection's records are by the last sync, where another system has their truth; else null. `isStale`: they
   * are older than `freshFor` milliseconds.
   * @param {string} collection
   * @param {{freshFor?: number}} options
   * @returns {Promise<{asOf: Date, isStale: boolean} | null>}
   */
  async age(collection, { freshFor = 300_000 } = {}) {
    const text = (await this.outbox.device()).ages?.[collection];
    if (!text) return null;
    const asOf = new Date(text);
    return { asOf, isStale: Date.now() - asOf.getTime() > freshFor };
  }

  /**
   * Calls back with the records now and after every change.
   * @param {string} collection
   * @param {(records: ReplicaRecord[]) => void} callback
   * @returns {() => void} ends it
   */
  observe(collection, callback) {
    let isReading = false;
    let isStale = false;
    const read = async () => {
      isStale = true;
      if (isReading) return;
      isReading = true;
      while (isStale) {
        isStale = false;
        callback(await this.records(collection));
      }
      isReading = false;
    };
    const heard = (event) => { if (event.detail.collections.includes(collection)) read(); };
    this.addEventListener("change", heard);
    read();
    return () => this.removeEventListener("change", heard);
  }

  /**
   * The edit is durable when these return, and sent as soon as that is possible. The id: where none is given, the key
   * field's, else a new one.
   * @param {string} collection
   * @param {Record<string, any>} fields
   * @param {string} [id]
   * @returns {Promise<string>} it
   */
  async create(collection, fields, id) {
    id ??= idIn(fields, described(await this.outbox.device(), collection)) ?? crypto.randomUUID();
    await this.edit({ operation: "create", collection, id, fields });
    return id;
  }

  /** @param {string} collection @param {string} id @param {Record<string, any>} fields those that change */
  update(collection, id, fields) {
    return this.edit({ operation: "update", collection, id, fields });
  }

  /** @param {string} collection @param {string} id */
  delete(collection, id) {
    return this.edit({ operation: "delete", collection, id });
  }

  /**
   * Edits that the server did not make, until each is resolved:
   * `{number, collection, id, operation, fields, mine, cause: "conflict" | "rejected", record, reason, message}`;
   * `record` is the server's copy, null where it is gone; `mine` is the record as it was wanted.
   * @returns {Promise<Problem[]>}
   */
  problems() {
    return this.outbox.problems();
  }

  /**
   * The server's copy stays.
   * @param {number} number
   */
  async discard(number) {
    await this.outbox.resolve(number, null);
    this.tell("state", { phase: this.phase });
  }

  /**
   * These fields are set on what the server has now; on nothing, where the record is gone, it is created anew.
   * @param {number} number
   * @param {Record<string, any>} [fields] nothing: those of the edit
   */
  async retry(number, fields) {
    const problem = (await this.problems()).find((one) => one.number === number);
    const operation = problem?.cause === "conflict" && !problem.record ? "create" : problem?.operation;
    await this.outbox.resolve(number, { operation, fields: fields ?? wanted(problem, operation) });
    this.edited(problem.collection);
  }

  /**
   * How many edits wait for the server.
   * @returns {Promise<number>}
   */
  pending() {
    return transact(this.database, ["edits"], "readonly", ({ edits }) => answer(edits.count()));
  }

  /** Tries at once: after a sign-in, or where the app knows better than the browser. */
  sync() {
    this.synchronizer.hurry();
    this.others.postMessage({ nudge: true });
  }

  /** Ends syncing in this page; the records stay. */
  async close() {
    this.synchronizer.stop();
    await this.running;
    this.others.close();
    this.database.close();
  }

  /** Closes it and forgets everything, edits that were never sent included. */
  async destroy() {
    await this.close();
    await deleteDatabase(this.name);
  }

  async edit(change) {
    const number = await this.outbox.add(change);
    this.edited(change.collection);
    return number;
  }

  edited(collection) {
    this.tell("change", { collections: [collection] });
    this.sync();
  }

  /** Tells this page and the others. */
  tell(type, detail) {
    this.emit(type, detail);
    this.others.postMessage({ type, detail });
  }

  emit(type, detail) {
    if (type === "state") this.phase = detail.phase;
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  heard({ nudge, type, detail }) {
    if (nudge) this.synchronizer.hurry();
    else this.emit(type, detail);
  }
}

function overlaid(rows, acknowledged, edits) {
  const records = new Map(rows.map((row) => [row.id, { row, acknowledged: [], edits: [] }]));
  const of = (id) => records.get(id) ?? records.set(id, { acknowledged: [], edits: [] }).get(id);
  for (const known of acknowledged.sort((one, other) => one.rev - other.rev)) of(known.id).acknowledged.push(known);
  for (const edit of edits.sort((one, other) => one.number - other.number)) of(edit.id).edits.push(edit);
  const shown = [...records.values()].map(({ row, acknowledged, edits }) => overlay(row, acknowledged, edits));
  return shown.filter((record) => record).sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** What an edit wanted; the whole record, where there is none any more that the rest could come from. */
function wanted(problem, operation) {
  return operation === "create" ? problem?.mine?.fields ?? problem?.fields : problem?.fields;
}
