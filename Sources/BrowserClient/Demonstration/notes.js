// A page that works without a network: notes from the replica, edits into its outbox.

import { connect } from "./portico.js";
import "/pages/account.js";
import { at, attempt, element } from "/pages/elements.js";
import { Deletion } from "./deletion.js";
import { conflictCard } from "./conflicts.js";
import "./note-list.js";
import "./note-editor.js";

const portico = connect();
const account = /** @type {import("/pages/account.js").Account} */ (document.querySelector("portico-account"));
const list = /** @type {import("./note-list.js").NoteList} */ (document.querySelector("portico-notes"));
const editor = /** @type {import("./note-editor.js").NoteEditor} */ (document.querySelector("portico-note"));
const words = { live: "Up to date", syncing: "Syncing…", offline: "No network", signedOut: "Signed out", failed: "Failed" };
/** @type {import("./replica.js").Replica | undefined} */
let replica;
/** @type {() => void} */
let ended = () => {};
/** @type {Deletion | undefined} */
let deletion;
let records = [];

start();

async function start() {
  navigator.serviceWorker?.register("worker.js").catch(() => {});
  account.leaving = leaving;
  account.addEventListener("change", () => enter());
  at("enter").addEventListener("click", () => account.open());
  at("new").addEventListener("submit", attempt(add));
  list.addEventListener("open", (event) => open(/** @type {CustomEvent} */ (event).detail));
  editor.addEventListener("close", () => close());
  editor.addEventListener("remove", (event) => remove(/** @type {CustomEvent} */ (event).detail));
  await account.load(portico);
  await enter();
}

async function enter() {
  const { user } = account;
  at("welcome").hidden = user !== null;
  at("work").hidden = user === null;
  if (!user) {
    await leave();
    at("state").textContent = "";
    return;
  }
  if (replica && editor.user?.id === user.id) return replica.sync();
  await leave();
  try {
    replica = await portico.replica(["notes"]);
  } catch (error) {
    at("work").hidden = true;
    at("welcome").hidden = false;
    at("reason").textContent = error.message;
    return;
  }
  editor.begin(replica, user);
  list.user = user;
  deletion = new Deletion(replica, at("undo"), show);
  await deletion.resume();
  ended = replica.observe("notes", (found) => { records = found; show(); });
  for (const type of ["state", "problem", "settled", "change"]) replica.addEventListener(type, showState);
  await showState();
}

/** Ends with the account's notes in this page; they stay in the browser. */
async function leave() {
  ended();
  await deletion?.finish();
  await replica?.close();
  [replica, deletion, records] = [undefined, undefined, []];
  close();
}

/** Whether one may sign out: what was never sent would be lost with the copy in this browser. */
async function leaving() {
  if (!replica) return true;
  await editor.save();
  await deletion?.finish();
  if ((await replica.pending()) > 0 && !confirm("Some notes were not sent yet. Forget them?")) return false;
  ended();
  await replica.destroy();
  replica = undefined;
  return true;
}

async function add() {
  const id = await replica?.create("notes", { title: at("title").value, text: "" });
  at("title").value = "";
  if (id) await open(id);
}

async function open(id) {
  await editor.save();
  editor.open(id, records);
  document.body.dataset.view = "note";
  at("hint").hidden = true;
  list.show(shown(), id, isLive());
}

function close() {
  editor.leave();
  delete document.body.dataset.view;
  at("hint").hidden = false;
  list.show(shown(), null, isLive());
}

async function remove(record) {
  await editor.save();
  await deletion?.begin(record);
  close();
}

const isLive = () => replica?.phase === "live";

const shown = () => records.filter((record) => record.id !== deletion?.id);

function show() {
  const open = editor.id !== null && shown().some((record) => record.id === editor.id);
  if (editor.id !== null && !open && records.length) close();
  editor.refresh(records);
  list.show(shown(), editor.id, isLive());
}

async function showState() {
  if (!replica) return;
  if (!records.length) list.show(shown(), editor.id, isLive());
  const [pending, problems] = await Promise.all([replica.pending(), replica.problems()]);
  const parts = [];
  // A conflict is what counts; that everything else is up to date would say that there is nothing to do.
  if (problems.length) parts.push(problems.length === 1 ? "One note to be settled" : `${problems.length} notes to be settled`);
  if (!problems.length || replica.phase !== "live") parts.push(words[replica.phase]);
  if (pending) parts.push(`${pending} to be sent`);
  at("state").textContent = parts.join(", ");
  at("state").dataset.phase = replica.phase;
  at("state").dataset.open = problems.length > 0;
  if (replica.phase === "signedOut") at("state").append(" ", element("button", { type: "button", class: "quiet", onclick: () => account.open() }, "Sign in"));
  at("conflicts").replaceChildren(...problems.map((problem) => conflictCard(problem, replica, showState)));
}
