// One pull: its pages, gathered apart from the rows, applied together with the checkpoint when they are whole and fit.

import { answer, everything, transact, within } from "./database.js";
import { Summary } from "./checksum.js";
import { moved, rebased } from "./edits.js";

/** The rows are not those that the pull began from: another page of this browser was quicker. */
export class Overtaken extends Error {}

export class Pull {
  cleared = new Set();
  changes = new Map();
  /** Records that have another id from now on: `{collection, id, movedTo}`. */
  moves = [];

  constructor(database, device) {
    this.database = database;
    this.clientId = device.clientId;
    this.from = device.checkpoint;
    this.history = device.history;
    this.known = device.known;
    this.startsOver = device.checkpoint === null;
    if (this.startsOver) Object.keys(device.scopes).forEach((scope) => this.clear(scope));
  }

  /** @returns {Promise<string[]?>} null: more is to come; the scopes that disagree; none: it is applied */
  async receive(page) {
    for (const scope of page.reset ?? []) this.clear(scope);
    for (const { collection, id, rev, operation, fields, movedTo } of page.operations) {
      if (movedTo) this.moves.push({ collection, id, movedTo });
      const row = operation === "put" ? { collection, id, rev, fields: fields ?? {} } : null;
      this.changes.set(JSON.stringify([collection, id]), { collection, id, row });
    }
    return page.complete ? this.finish(page.complete) : null;
  }

  clear(scope) {
    this.cleared.add(scope);
    for (const [key, change] of this.changes) if (change.collection === scope) this.changes.delete(key);
  }

  get touched() {
    return new Set([...this.cleared, ...[...this.changes.values()].map((change) => change.collection)]);
  }

  async finish(complete) {
    let wrong = [];
    await transact(this.database, everything, "readwrite", async (stores) => {
      const device = await answer(stores.state.get("device"));
      if (device.checkpoint !== this.from || device.history !== this.history) throw new Overtaken();
      this.forgetUnnamed(complete, device);
      const summaries = await this.write(stores.rows, device);
      wrong = complete.scopes.filter(({ scope, ...sent }) => !(summaries[scope] ?? new Summary()).agrees(sent));
      if (wrong.length > 0) throw wrong;
      await this.settle(stores, device, complete, summaries);
    }).catch((error) => { if (error !== wrong) throw error; });
    return wrong.map((disagreement) => disagreement.scope);
  }

  /** Records of scopes that are not named are not the user's any more. */
  forgetUnnamed(complete, device) {
    const named = new Set(complete.scopes.map((scope) => scope.scope));
    for (const scope of [...Object.keys(device.scopes), ...this.touched]) if (!named.has(scope)) this.clear(scope);
  }

  /** What is known of the collections after this pull. */
  describe(known, description, scopes) {
    // A live stream does not describe; where it resets a scope, the declaration may be another one.
    if (!description) return this.cleared.size > 0 ? undefined : known;
    if (description === this.known?.description) return this.known;
    const described = scopes.filter(({ key }) => key).map(({ scope, key, fields }) => [scope, { key, fields }]);
    return { description, collections: Object.fromEntries(described) };
  }

  async write(rows, device) {
    const stored = Object.entries(device.scopes).filter(([scope]) => !this.cleared.has(scope));
    const summaries = Object.fromEntries(stored.map(([scope, summary]) => [scope, new Summary(summary)]));
    for (const scope of this.cleared) rows.delete(within(scope));
    for (const { collection, id, row } of this.changes.values()) {
      const summary = (summaries[collection] ??= new Summary());
      const before = this.cleared.has(collection) ? null : await answer(rows.get([collection, id]));
      if (before) summary.remove(collection, id, before.rev);
      if (row) summary.add(collection, id, row.rev);
      if (row) rows.put(row);
      else if (before) rows.delete([collection, id]);
    }
    return summaries;
  }

  async settle(stores, device, { checkpoint, position, scopes, description }, summaries) {
    const stored = scopes.map(({ scope }) => [scope, (summaries[scope] ?? new Summary()).stored]);
    const known = this.describe(device.known, description, scopes);
    const ages = Object.fromEntries(scopes.filter(({ asOf }) => asOf).map(({ scope, asOf }) => [scope, asOf]));
    stores.state.put({ ...device, checkpoint, position, known, ages, scopes: Object.fromEntries(stored) }, "device");
    for (const known of await answer(stores.acknowledged.getAll())) {
      if (this.startsOver || known.rev <= position) stores.acknowledged.delete(known.number);
    }
    for (const move of this.moves) await follow(stores, move, known?.collections?.[move.collection]);
    if (!this.startsOver) return;
    for (const edit of await answer(stores.edits.getAll())) {
      stores.edits.put(rebased(edit, await answer(stores.rows.get([edit.collection, edit.id]))));
    }
  }
}

/** Edits of a record that has another id now are edits of that. */
async function follow({ rows, edits, acknowledged, setAside }, { collection, id, movedTo }, description) {
  const row = await answer(rows.get([collection, movedTo]));
  for (const store of [edits, acknowledged]) {
    for (const edit of await answer(store.index("record").getAll([collection, id]))) {
      store.put(moved(edit, movedTo, row, description));
    }
  }
  for (const problem of await answer(setAside.getAll())) {
    if (problem.collection === collection && problem.id === id) setAside.put(moved(problem, movedTo, row, description));
  }
}
