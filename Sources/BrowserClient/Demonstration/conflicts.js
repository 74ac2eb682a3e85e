// What the server did not make of an edit: both versions beside each other, and the choice between them.

import { attempt, element } from "/pages/elements.js";

/**
 * @param {any} problem as `Replica.problems` has it
 * @param {any} replica
 * @param {() => Promise<void>} onSettled
 */
export function conflictCard({ number, cause, mine, record, message }, replica, onSettled) {
  const settle = (work) => attempt(async () => { await work(); await onSettled(); });
  const isConflict = cause === "conflict";
  const title = mine?.fields.title ?? record?.fields.title ?? "A note";
  return element("div", { class: "conflict" },
    element("h2", {}, title),
    element("p", {}, isConflict ? "It was changed here and elsewhere. Which one stays?" : `The server refused this change: ${message ?? ""}`),
    element("div", { class: "versions" }, version("Yours", mine), version(isConflict ? "Theirs" : "On the server", record)),
    element("p", { class: "problem", role: "alert" }),
    element("p", { class: "row" },
      isConflict ? element("button", { type: "button", class: "main", onclick: settle(() => replica.retry(number)) }, "Keep mine") : null,
      element("button", { type: "button", onclick: settle(() => replica.discard(number)) }, isConflict ? "Take theirs" : "Forget mine")));
}

function version(name, record) {
  const content = record
    ? [element("p", {}, element("strong", {}, record.fields.title ?? "")), element("p", { class: "text" }, record.fields.text ?? "")]
    : [element("p", { class: "nothing" }, "deleted")];
  return element("div", {}, element("h3", {}, name), content);
}
