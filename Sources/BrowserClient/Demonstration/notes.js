// A page that works without a network: notes from the replica, edits into its outbox.

import { connect } from "./portico.js";

const portico = connect();
const at = (id) => document.getElementById(id);
let replica;

start();

async function start() {
  navigator.serviceWorker?.register("worker.js").catch(() => {});
  at("sign-in").addEventListener("submit", attempt(signIn));
  at("sign-out").addEventListener("click", attempt(signOut));
  at("new").addEventListener("submit", attempt(add));
  (await portico.user()) ? await work() : show("sign-in", "No account is signed in.");
}

async function signIn() {
  await portico.signIn(at("username").value, at("password").value);
  at("password").value = "";
  await work();
}

async function signOut() {
  if ((await replica.pending()) > 0 && !confirm("Some notes were not sent yet. Forget them?")) return;
  await replica.destroy();
  replica = undefined;
  await portico.signOut();
  show("sign-in", "Signed out.");
}

async function work() {
  if (replica) return replica.sync();
  replica = await portico.replica(["notes"]);
  replica.observe("notes", showNotes);
  for (const type of ["state", "problem", "settled", "change"]) replica.addEventListener(type, showState);
  show("work");
  await showState();
}

async function add() {
  await replica.create("notes", { title: at("title").value, text: "" });
  at("title").value = "";
}

async function showState() {
  const pending = await replica.pending();
  const words = { live: "Up to date", syncing: "Syncing…", offline: "No network", signedOut: "Signed out", failed: "Failed" };
  at("state").textContent = pending ? `${words[replica.phase]}, ${pending} to be sent` : words[replica.phase];
  at("state").dataset.phase = replica.phase;
  if (replica.phase === "signedOut") at("sign-in").hidden = false;
  at("conflicts").replaceChildren(...(await replica.problems()).map(problemItem));
}

function showNotes(records) {
  const list = at("notes");
  // What a person types into must not be replaced under the hands.
  const focused = document.activeElement?.closest("li")?.dataset.id;
  const items = records.map((record) => (record.id === focused ? document.activeElement.closest("li") : item(record)));
  list.replaceChildren(...items);
}

function item({ id, fields, isPending }) {
  const field = element("input", { value: fields.title ?? "", ariaLabel: "Title" });
  field.addEventListener("change", attempt(() => replica.update("notes", id, { title: field.value })));
  const remove = element("button", { textContent: "Delete", type: "button" });
  remove.addEventListener("click", attempt(() => replica.delete("notes", id)));
  const line = element("li", {}, field, remove);
  Object.assign(line.dataset, { id, pending: isPending });
  return line;
}

function problemItem({ number, cause, mine, record, message }) {
  const said = cause === "conflict"
    ? `Another client changed this note too. Yours: “${mine?.fields.title ?? "deleted"}”. Theirs: “${record?.fields.title ?? "deleted"}”.`
    : `The server refused this: ${message ?? ""}`;
  const keep = element("button", { textContent: "Keep mine", type: "button" });
  keep.addEventListener("click", attempt(() => replica.retry(number)));
  const take = element("button", { textContent: "Take theirs", type: "button" });
  take.addEventListener("click", attempt(() => replica.discard(number)));
  return element("div", { role: "alert" }, element("p", { textContent: said }), keep, take);
}

function show(section, state) {
  for (const id of ["sign-in", "work"]) at(id).hidden = id !== section;
  if (state) at("state").textContent = state;
}

function attempt(work) {
  return async (event) => {
    event.preventDefault();
    try {
      await work();
    } catch (error) {
      at("state").textContent = error.message;
    }
  };
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
