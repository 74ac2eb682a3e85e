// The replica's database in the browser (IndexedDB 3.0). What belongs together is written in one transaction.
//
//   rows          [collection, id]   the server's records, as of the last complete pull
//   edits         number             what was done here and has no outcome yet, in its order
//   acknowledged  number             what the server made, and no complete pull contains yet
//   setAside      number             what the server did not make: conflicts and rejections, until the app resolves them
//   state         "device"           client id, checkpoint, position, last sequence, what each scope comes to,
//                                  known: the collections' keys and fields, as the last pull described them

import { PorticoError } from "./errors.js";

const version = 1;
const perRecord = ["collection", "id"];
export const everything = ["rows", "edits", "acknowledged", "setAside", "state"];

export async function openDatabase(name) {
  const request = indexedDB.open(name, version);
  request.onupgradeneeded = () => {
    const database = request.result;
    database.createObjectStore("rows", { keyPath: perRecord });
    database.createObjectStore("edits", { keyPath: "number", autoIncrement: true }).createIndex("record", perRecord);
    database.createObjectStore("acknowledged", { keyPath: "number" }).createIndex("record", perRecord);
    database.createObjectStore("setAside", { keyPath: "number" });
    database.createObjectStore("state").put(newDevice(), "device");
  };
  const database = await answer(request);
  // Another page deletes or upgrades it: this one must not be in its way.
  database.onversionchange = () => database.close();
  return database;
}

export function deleteDatabase(name) {
  return answer(indexedDB.deleteDatabase(name));
}

const newDevice = () =>
  ({ clientId: crypto.randomUUID(), checkpoint: null, position: 0, lastSequence: 0, history: 0, scopes: {} });

/**
 * Runs `work` in one transaction, which is durable when this returns: all of it, or nothing where `work` throws.
 * @param {(stores: Record<string, IDBObjectStore>) => Promise<any>} work may wait for requests of the transaction only
 */
export async function transact(database, names, mode, work) {
  const transaction = database.transaction(names, mode, { durability: "strict" });
  const ended = new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(storageError(transaction.error));
  });
  // A caller that throws below does not wait for the end; a rejection is expected then.
  ended.catch(() => {});
  let result;
  try {
    result = await work(Object.fromEntries(names.map((name) => [name, transaction.objectStore(name)])));
  } catch (error) {
    try { transaction.abort(); } catch { /* it has ended by itself, for this very error */ }
    throw error instanceof DOMException ? storageError(error) : error;
  }
  await ended;
  return result;
}

export function answer(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** All records of a collection: keys that begin with its name. */
export const within = (collection) => IDBKeyRange.bound([collection], [collection, []]);

function storageError(error) {
  const isFull = error?.name === "QuotaExceededError";
  return new PorticoError(
    isFull ? "client.storageFull" : "client.storage", isFull ? "This device's storage is full." : `${error}`);
}
