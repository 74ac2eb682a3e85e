// The edits that have no outcome yet, in the database: added by any page, sent by the one that syncs.

import { acknowledge, applied, batch, check, draft, mutation, overlay, settled } from "./edits.js";
import { answer, everything, transact } from "./database.js";
import { PorticoError } from "./errors.js";

/** Edits that wait at most. */
const capacity = 10_000;

export class Outbox {
  constructor(database) {
    this.database = database;
  }

  /** Durable when this returns. @returns {Promise<number>} the edit's number */
  async add(change) {
    return transact(this.database, everything, "readwrite", async (stores) => {
      if ((await answer(stores.edits.count())) >= capacity) {
        throw new PorticoError("client.outboxFull", "Too many changes wait to be sent.");
      }
      const { row, acknowledged, edits } = await around(stores, change);
      const shown = overlay(row, acknowledged, edits);
      if (change.operation === "create" && shown) throw new PorticoError("record.exists", "There is such a record.");
      if (change.operation !== "create" && !shown) {
        throw new PorticoError("record.notFound", "There is no such record.");
      }
      check(change, described(await answer(stores.state.get("device")), change.collection));
      return answer(stores.edits.add(draft(change, settled(row, acknowledged), edits.at(-1))));
    });
  }

  /** What is to be sent now, with sequences that are durable before they are sent. */
  async next(limit) {
    return transact(this.database, ["edits", "state"], "readwrite", async ({ edits, state }) => {
      const device = await answer(state.get("device"));
      if (device.checkpoint === null) return null;
      const chosen = batch(await answer(edits.getAll()), limit);
      if (chosen.length === 0) return null;
      for (const edit of chosen.filter((one) => one.sequence === null)) {
        edit.sequence = ++device.lastSequence;
        edits.put(edit);
      }
      state.put(device, "device");
      const { clientId, checkpoint, history } = device;
      return { history, message: { clientId, checkpoint, mutations: chosen.map(mutation) } };
    });
  }

  /** @returns {Promise<object[]>} the outcomes that ended an edit, each with its edit */
  async settle(outcomes, history) {
    return transact(this.database, everything, "readwrite", async (stores) => {
      const device = await answer(stores.state.get("device"));
      // An answer from a history that is gone is ignored; the same mutations go out again.
      if (device.history !== history) return [];
      const ended = [];
      const waiting = new Map((await answer(stores.edits.getAll())).map((edit) => [edit.sequence, edit]));
      for (const outcome of outcomes.filter((one) => one.outcome !== "retry")) {
        const edit = waiting.get(outcome.sequence);
        if (!edit) continue;
        stores.edits.delete(edit.number);
        if (outcome.outcome === "applied" || outcome.outcome === "merged") await made(stores, device, edit, outcome);
        else stores.setAside.put(refused(edit, outcome));
        ended.push({ edit, outcome });
      }
      return ended;
    });
  }

  problems() {
    return transact(this.database, ["setAside"], "readonly", ({ setAside }) => answer(setAside.getAll()));
  }

  /** Ends a problem; `change` is what is wanted in its place, made on the server's copy. Null: nothing. */
  async resolve(number, change) {
    return transact(this.database, everything, "readwrite", async (stores) => {
      const problem = await answer(stores.setAside.get(number));
      if (!problem) throw new PorticoError("record.notFound", "There is no such problem.");
      stores.setAside.delete(number);
      if (!change) return;
      const wanted = { ...change, collection: problem.collection, id: problem.id };
      check(wanted, described(await answer(stores.state.get("device")), problem.collection));
      const { row, acknowledged, edits } = await around(stores, wanted);
      const record = onServer(problem, settled(row, acknowledged));
      stores.edits.add(draft(wanted, record, edits.at(-1)));
    });
  }

  /** The checkpoint is worth nothing any more; rows stay in sight until there are others. */
  async startOver() {
    await this.change((device) => ({ ...device, checkpoint: null, history: device.history + 1 }));
  }

  /** The client id is another account's: nothing that was sent under it was made. */
  async renew() {
    await transact(this.database, ["edits", "state"], "readwrite", async ({ edits, state }) => {
      const device = await answer(state.get("device"));
      state.put({ ...device, clientId: crypto.randomUUID(), lastSequence: 0, history: device.history + 1 }, "device");
      for (const edit of await answer(edits.getAll())) edits.put({ ...edit, sequence: null });
    });
  }

  device() {
    return transact(this.database, ["state"], "readonly", ({ state }) => answer(state.get("device")));
  }

  async change(work) {
    await transact(this.database, ["state"], "readwrite", async ({ state }) => {
      state.put(work(await answer(state.get("device"))), "device");
    });
  }
}

/** What the server said of the collection in the last pull: `{key, fields}`; undefined: nothing. */
export const described = (device, collection) => device.known?.collections[collection];

/** The row of a record, and what lies over it. */
export async function around(stores, { collection, id }) {
  const key = [collection, id];
  const [row, acknowledged, edits] = await Promise.all([
    answer(stores.rows.get(key)), answer(stores.acknowledged.index("record").getAll(key)),
    answer(stores.edits.index("record").getAll(key)),
  ]);
  return { row, acknowledged: acknowledged.sort((one, other) => one.rev - other.rev), edits };
}

async function made(stores, device, edit, outcome) {
  const { edits: behind } = await around(stores, edit);
  const { shown, rebased } = acknowledge(edit, outcome, behind);
  // A pull that is complete beyond it contains it already.
  if (shown.rev > device.position) stores.acknowledged.put(shown);
  for (const later of rebased) stores.edits.put(later);
}

function refused(edit, { outcome, record, reason, message }) {
  return { ...edit, cause: outcome, record: record ?? null, reason, message, mine: applied(edit, edit.base) };
}

/** What the server has: the copy that came with a conflict, unless a pull has brought a later one. */
function onServer({ cause, record }, known) {
  if (cause !== "conflict") return known;
  return record && known && known.rev > record.rev ? known : record;
}
