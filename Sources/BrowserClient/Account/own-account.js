// The page of one's own account: where one is signed in, keys for programs, the password.

import { connect } from "/client/portico.js";
import "/pages/account.js";
import { agentName, announce, at, attempt, Code, element, time } from "/pages/elements.js";

const portico = connect();
const account = /** @type {import("/pages/account.js").Account} */ (document.querySelector("portico-account"));
const content = at("content");

async function begin() {
  // It leads to a place of this page and not to another one.
  document.querySelector(".skip")?.addEventListener("click", (event) => { event.preventDefault(); content.focus(); });
  account.addEventListener("change", () => show());
  await account.load(portico);
  await show();
}

async function show() {
  const { user } = account;
  if (!user) return content.replaceChildren(...signedOut());
  try {
    const [{ sessions }, { keys, adapters }] = await Promise.all([portico.request("GET", "/auth/sessions"), portico.request("GET", "/auth/keys")]);
    content.replaceChildren(
      element("h1", {}, user.displayName ?? user.name),
      element("p", { class: "lead" }, `Signs in as ${user.name}, with ${["no role", "the role "][user.roles.length] ?? "the roles "}${user.roles.join(", ")}.`),
      sessionSection(sessions), keySection(keys, adapters), passwordSection());
  } catch (error) {
    content.replaceChildren(
      element("h1", {}, user.displayName ?? user.name),
      element("p", { role: "alert" }, /** @type {Error} */ (error).message),
      element("button", { class: "main", onclick: () => show() }, "Try again"));
  }
}

function signedOut() {
  return [
    element("h1", {}, "Your account"),
    element("p", { class: "lead" }, "Signed in, you see here where else you are, the keys that your programs use, and change your password."),
    element("p", { class: "row" }, element("button", { class: "main", onclick: () => account.open() }, "Sign in")),
  ];
}

/** @param {string[]} heads @param {any[]} rows */
function table(heads, rows) {
  const head = element("tr", { role: "row" }, heads.map((one) => element("th", { scope: "col", role: "columnheader" }, one)));
  return element("div", { class: "scroll" },
    element("table", { class: "records", role: "table" }, element("thead", { role: "rowgroup" }, head), element("tbody", { role: "rowgroup" }, rows)));
}

/** @param {any} name @param {[string, any][]} cells @param {any} action */
function row(name, cells, action) {
  return element("tr", { role: "row" },
    element("th", { scope: "row", role: "rowheader" }, name),
    cells.map(([label, value]) => element("td", { role: "cell", "data-label": label, class: value === null ? "empty" : null }, value)),
    element("td", { role: "cell", class: "action" }, action));
}

/** @param {{id: string, created: string, lastUsed: string, expires: string, address: string, agent?: string, current: boolean}[]} sessions */
function sessionSection(sessions) {
  const newest = [...sessions].sort((one, other) => Number(other.current) - Number(one.current) || other.lastUsed.localeCompare(one.lastUsed));
  const rows = newest.map((one) => row(
    one.current ? element("strong", {}, "This browser") : agentName(one.agent) || one.address || "elsewhere",
    [["Since", time(one.created)], ["Last used", time(one.lastUsed)], ["Ends", time(one.expires)], ["Address", one.address]],
    one.current ? null : ending("End", `End the sign-in of ${agentName(one.agent) || "an app"} from ${one.address}`, () => portico.request("DELETE", `/auth/sessions/${encodeURIComponent(one.id)}`), "The sign-in has ended.")));
  const everywhere = asked("Sign out everywhere", "Sign out everywhere", attempt(async () => { await portico.signOut({ everywhere: true }); account.change(null); }));
  return element("section", { "aria-labelledby": "sessions" },
    element("h2", { id: "sessions" }, "Where you are signed in"), table(["Where", "Since", "Last used", "Ends", "Address", ""], rows),
    element("p", { class: "problem", role: "alert" }), element("p", { class: "row" }, everywhere));
}

/** @param {{id: string, title: string, readOnly: boolean, adapters?: string[], created: string, expires?: string}[]} keys @param {string[]} adapters */
function keySection(keys, adapters) {
  const rows = keys.map((one) => row(
    one.title,
    [["Reaches", [one.adapters?.join(", ") ?? "every adapter", one.readOnly ? ", to read" : ""]], ["Made", time(one.created)], ["Ends", time(one.expires) ?? "when you revoke it"]],
    ending("Revoke", `Revoke the key ${one.title}`, () => portico.request("DELETE", `/auth/keys/${encodeURIComponent(one.id)}`), "The key is revoked.")));
  return element("section", { "aria-labelledby": "keys" },
    element("h2", { id: "keys" }, "Keys for programs"),
    element("p", {}, "A program that acts for you sends a key in place of your password, in the header field ", element("code", {}, "Authorization: Bearer KEY"), ". It does what you may do, or less."),
    keys.length ? table(["Key", "Reaches", "Made", "Ends", ""], rows) : element("p", { class: "nothing" }, "You have no key."),
    element("p", { class: "problem", role: "alert" }), keyForm(adapters));
}

/** @param {string[]} names */
function keyForm(names) {
  const title = element("input", { id: "key-title", required: true, maxlength: 100, autocomplete: "off" });
  const adapters = names.map((name) => element("input", { id: `key-adapter-${name}`, type: "checkbox", value: name }));
  const days = element("input", { id: "key-days", type: "number", min: 1, max: 3650, value: "90" });
  const readOnly = element("input", { id: "key-read", type: "checkbox" });
  const submit = attempt(async () => {
    const wanted = { title: title.value, readOnly: readOnly.checked };
    const chosen = adapters.filter((one) => one.checked).map((one) => one.value);
    if (chosen.length) Object.assign(wanted, { adapters: chosen });
    if (days.value) Object.assign(wanted, { days: Number(days.value) });
    const made = await portico.request("POST", "/auth/keys", { body: wanted });
    await show();
    showKey(made);
  });
  return element("details", {}, element("summary", {}, "Make a key"),
    element("form", { class: "narrow", onsubmit: submit },
      element("label", { for: "key-title" }, "What it is for"), title,
      element("fieldset", { class: "choices", "aria-describedby": "key-hint" },
        element("legend", {}, "Adapters that it reaches"),
        adapters.map((one) => element("p", { class: "check" }, one, " ", element("label", { for: one.id }, one.value))),
        element("p", { id: "key-hint", class: "hint" }, "None chosen: all of them.")),
      element("label", { for: "key-days" }, "Days until it ends"), days,
      element("p", { class: "check" }, readOnly, " ", element("label", { for: "key-read" }, "To read only")),
      element("p", { class: "problem", role: "alert" }), element("p", { class: "row" }, element("button", { class: "main" }, "Make the key"))));
}

/** @param {{title: string, key: string}} made */
function showKey({ title, key }) {
  const heading = element("h3", { tabindex: "-1" }, `The key ${title}`);
  at("keys").after(element("div", { class: "made" }, heading, element("p", {}, "It is shown this once. Keep it where the program finds it and nobody else does."), Code.of(key),
    element("p", {}, "A program sends it so:"), Code.of(`curl -H 'Authorization: Bearer ${key}' '${location.origin}/auth/me'`)));
  heading.focus();
}

function passwordSection() {
  const old = element("input", { id: "old", type: "password", autocomplete: "current-password", required: true, maxlength: 1024 });
  const next = element("input", { id: "new", type: "password", autocomplete: "new-password", required: true, maxlength: 1024 });
  const again = element("input", { id: "again", type: "password", autocomplete: "new-password", required: true, maxlength: 1024 });
  const done = element("p", { role: "status" });
  const submit = attempt(async () => {
    done.textContent = "";
    if (next.value !== again.value) throw new Error("The new password is not the same twice.");
    await portico.request("POST", "/auth/password", { body: { old: old.value, new: next.value } });
    for (const field of [old, next, again]) field.value = "";
    await show();
    at("changed").textContent = "The password is changed, and every other sign-in has ended.";
  });
  done.id = "changed";
  return element("section", { "aria-labelledby": "password-title" },
    element("h2", { id: "password-title" }, "Password"),
    element("form", { class: "narrow", onsubmit: submit },
      element("label", { for: "old" }, "The present one"), old, element("label", { for: "new" }, "The new one"), next,
      element("label", { for: "again" }, "The new one again"), again,
      element("p", { class: "problem", role: "alert" }), done, element("p", { class: "row" }, element("button", { class: "main" }, "Change it"))));
}

/** A button that does a thing once, when it is pressed a second time. @param {string} words @param {string} label @param {() => Promise<any>} work @param {string} done */
function ending(words, label, work, done) {
  return asked(words, label, attempt(async () => {
    await work();
    await show();
    announce(done);
    content.focus();
  }));
}

/** A button that asks before it acts, and forgets the question when one goes elsewhere. @param {string} words @param {string} label @param {(event: any) => any} act */
function asked(words, label, act) {
  const calm = () => { button.textContent = words; button.setAttribute("aria-label", label); button.classList.remove("sure"); };
  const button = element("button", {
    type: "button", class: "quiet", "aria-label": label, onblur: calm,
    onclick: (/** @type {Event} */ event) => {
      if (button.classList.contains("sure")) return act(event);
      button.textContent = `${words}: sure?`;
      button.setAttribute("aria-label", `${label}: sure?`);
      button.classList.add("sure");
      // Where a click gives no focus, going elsewhere would not be noticed.
      button.focus();
      announce(`Press again: ${label}.`);
    },
  });
  calm();
  return button;
}

begin();
