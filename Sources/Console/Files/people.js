// Accounts, what they may do, where they are signed in, and who tried to.

import { ask } from "./dialog.js";
import { agentName, element, Code } from "./elements.js";
import { change, may, path, read } from "./gateway.js";
import { Table } from "./table.js";
import { badge, button, count, facts, heading, moment, toast, View, when } from "./view.js";

const names = (text) => text.split(/[\s,]+/).filter(Boolean);

export class People extends View {
  find = "";

  async load(again) {
    if (this.place.length) return this.account(this.place[0]);
    const [accounts, entries] = await Promise.all([
      read("/admin/v1/accounts", { again }), read("/admin/v1/audit/entries", { again, body: { limit: 500 } })]);
    const ids = new Map(accounts.accounts.map((one) => [one.id, one.name]));
    const failures = entries.entries.filter((one) => one.kind === "signIn.refused" || one.kind === "administration.refused");
    this.put(heading("People", may("admin") ? button("Add an account", () => this.add(), { class: "main" }) : null),
      element("div", { class: "tools" }, element("p", { class: "field" }, element("label", { for: "find" }, "Name or role"), element("input", {
        id: "find", type: "search", value: this.find, spellcheck: "false", autocapitalize: "off",
        oninput: (event) => { this.find = event.target.value; this.list(accounts.accounts); },
      }))),
      element("div", { id: "accounts" }),
      element("section", {}, element("h2", {}, "Sign-ins that were refused"), Table.of({
        caption: "Refused sign-ins", rows: failures, empty: "None among the last 500 entries of the audit log.",
        columns: [{ name: "time", show: (one) => moment(one.time) }, { name: "subject", title: "Account", show: (one) => ids.get(one.subject) ?? (one.subject || "unknown") },
          { name: "address", title: "From" }, { name: "detail", wide: true }],
      })));
    this.list(accounts.accounts);
  }

  list(accounts) {
    const word = this.find.trim().toLowerCase();
    const rows = accounts.filter((one) => [one.name, one.displayName, ...one.roles].some((text) => String(text ?? "").toLowerCase().includes(word)));
    this.querySelector("#accounts")?.replaceChildren(Table.of({
        caption: "Accounts", rows, empty: "There is no such account.", order: { name: "name", isDescending: false },
        columns: [
          { name: "name", show: (one) => element("a", { href: `#/people/${encodeURIComponent(one.name)}` }, one.name) },
          { name: "displayName", title: "Shown as" }, { name: "roles", sort: (one) => one.roles.join(), show: (one) => one.roles.map((role) => badge(role)) },
          { name: "state", show: (one) => badge(one.state, one.state === "active" ? "good" : "warn") }],
      }));
  }

  async account(name) {
    const at = path`/admin/v1/accounts/${name}`;
    const [account, sessions, keys, consoles] = await Promise.all([
      read(at), read(`${at}/sessions`), read(`${at}/keys`), read(`${at}/console-sessions`)]);
    const all = [...sessions.sessions.map((one) => ({ ...one, of: "sessions", used: agentName(one.agent) || "An app or page" })),
      ...consoles.sessions.map((one) => ({ ...one, of: "console-sessions", used: `Console${one.agent ? `, ${agentName(one.agent)}` : ""}` }))];
    const end = (one) => change(`${at}/${one.of}/revoke`, { id: one.id });
    const endAll = async () => {
      await change(`${at}/sessions/revoke`);
      await change(`${at}/console-sessions/revoke`);
      return {};
    };
    const isActive = account.state === "active";
    this.put(element("p", { class: "trail" }, element("a", { href: "#/people" }, "People")),
      heading(account.name, badge(account.state, isActive ? "good" : "warn")),
      may("admin") ? element("p", { class: "row" },
        isActive
          ? button("Stop access now", () => this.disable(at, account, all, keys.keys), { class: "danger" })
          : button("Enable", () => this.act(() => change(`${at}/enable`, {}, `Enable ${account.name}`), keys.keys.length
            ? `${account.name} may sign in again; ${count(keys.keys.length, "API key works", "API keys work")} again too.` : `${account.name} may sign in again.`)),
        button("Roles", () => this.roles(at, account)), button("Set a password", () => this.password(at, account)),
        button("Delete", () => this.remove(at, account), { class: "quiet" })) : "",
      facts([["Shown as", account.displayName], ["Roles", account.roles.length ? account.roles.map((role) => badge(role)) : "none"], ["Id", element("code", {}, account.id)]]),
      element("section", {}, element("div", { class: "heading" }, element("h2", {}, "Sessions"),
        may("admin") && all.length ? button("End all of them", () => this.act(endAll, "All sessions have ended.")) : null),
      Table.of({
        caption: "Sessions", rows: all, empty: "Not signed in anywhere.", order: { name: "lastUsed", isDescending: true },
        columns: [{ name: "used", title: "In" }, { name: "address", title: "From" }, { name: "created", title: "Began", show: (one) => moment(one.created) },
          { name: "lastUsed", title: "Last used", show: (one) => moment(one.lastUsed) }, { name: "expires", title: "Ends", show: (one) => when(one.expires) },
          { name: "", sort: null, show: (one) => may("admin") ? button("End", () => this.act(() => end(one), "The session has ended."),
            { class: "quiet", "aria-label": `End the session of ${one.used} from ${one.address} that began ${new Date(one.created).toLocaleString("sv")}` }) : "" }],
      })),
      element("section", {}, element("div", { class: "heading" }, element("h2", {}, "API keys"),
        may("admin") ? button("Create a key", () => this.key(at)) : null),
      Table.of({
        caption: "API keys", rows: keys.keys, empty: "There are none.",
        columns: [{ name: "title" }, { name: "readOnly", title: "May", show: (one) => one.readOnly ? "read" : "read and write" },
          { name: "created", show: (one) => when(one.created) }, { name: "expires", show: (one) => when(one.expires) },
          { name: "", sort: null, show: (one) => may("admin") ? button("Revoke", () => this.act(() => change(`${at}/keys/revoke`, { id: one.id }), "The key is revoked."),
            { class: "quiet", "aria-label": `Revoke the key ${one.title}` }) : "" }],
      })));
  }

  async add() {
    const given = await ask({
      title: "Add an account", action: "Add",
      fields: [{ name: "name", label: "Name", required: true }, { name: "displayName", label: "Shown as" },
        { name: "password", label: "Password", type: "password", hint: "Left out: programs use the account, by API keys." },
        { name: "roles", label: "Roles", hint: "By commas." }, { name: "newRole", label: "A role that nothing names yet is meant", type: "checkbox" }],
      check: async (values) => {
        const body = { name: values.name.trim(), roles: names(values.roles) };
        if (values.displayName.trim()) body.displayName = values.displayName.trim();
        if (values.password) body.password = values.password;
        if (values.newRole) body.newRole = true;
        if (await change("/admin/v1/accounts", body, `Add the account ${body.name}`) === null) throw new Error("It was not confirmed.");
      },
    });
    if (!given) return;
    toast(`${given.name} is added.`);
    this.update(false);
  }

  async disable(at, account, sessions, keys) {
    const has = count(keys.length, "API key", "API keys");
    const given = await ask({
      title: `Stop the access of ${account.name}?`, action: "Stop access", danger: true,
      text: `${sessions.length ? `${count(sessions.length, "session ends", "sessions end")} at once. ` : ""}The account cannot sign in`
        + `${keys.length ? `, and its ${keys.length === 1 ? "API key does" : `${has} do`} not work,` : ""} while it is disabled.`
        + `${keys.length ? ` Once it is enabled ${keys.length === 1 ? "the key works" : "the keys work"} again, unless revoked.` : ""} What the account has stays.`,
      fields: keys.length ? [{ name: "keys", label: `Revoke its ${has} too`, type: "checkbox" }] : [],
    });
    if (!given) return;
    await this.act(async () => {
      const done = await change(`${at}/disable`);
      if (given.keys) for (const one of keys) await change(`${at}/keys/revoke`, { id: one.id });
      return done;
    }, `${account.name} has no access any more.${given.keys ? ` ${has} revoked.` : ""}`);
  }

  async roles(at, account) {
    const given = await ask({
      title: `Roles of ${account.name}`, action: "Save",
      fields: [{ name: "roles", label: "Roles", value: account.roles.join(", "), hint: "By commas. They count from the next request on." },
        { name: "newRole", label: "A role that nothing names yet is meant", type: "checkbox" }],
      check: async (values) => {
        if (await change(`${at}/roles`, { roles: names(values.roles), ...(values.newRole ? { newRole: true } : {}) }, `Set the roles of ${account.name}`) === null) throw new Error("It was not confirmed.");
      },
    });
    if (given) { toast("Saved."); this.update(false); }
  }

  async password(at, account) {
    const given = await ask({
      title: `A new password for ${account.name}`, text: "The account is signed out everywhere.", action: "Set",
      fields: [{ name: "password", label: "New password", type: "password", required: true }],
      check: async (values) => { if (await change(`${at}/password`, { password: values.password }, `Set a password for ${account.name}`) === null) throw new Error("It was not confirmed."); },
    });
    if (given) { toast("The password is set."); this.update(false); }
  }

  async key(at) {
    /** @type {any} */ let made = null;
    const given = await ask({
      title: "Create an API key", action: "Create",
      fields: [{ name: "title", label: "What it is for", required: true }, { name: "readOnly", label: "It may only read", type: "checkbox", value: true }],
      check: async (values) => {
        made = await change(`${at}/keys`, { title: values.title, readOnly: values.readOnly }, `Create the API key ${values.title}`);
        if (made === null) throw new Error("It was not confirmed.");
      },
    });
    if (!given || !made) return;
    await ask({ title: "The key", text: element("div", {}, element("p", {}, "It is shown this once."), Code.of(made.key)), action: "I have it", only: true });
    this.update(false);
  }

  async remove(at, account) {
    const preview = await read(`${at}/deletion`);
    const rows = preview.rows.map((one) => `${one.deleted} of ${one.collection}${one.kept ? ` (${one.kept} stay, others have them too)` : ""}`);
    const isSure = await ask({
      title: `Delete ${account.name}?`, danger: true, action: "Delete",
      text: element("div", {}, element("p", {}, `Gone would be: ${count(preview.sessions, "session")}, ${count(preview.keys, "key")}, ${count(preview.devices, "device")}`,
        rows.length ? `, and the rows ${rows.join(", ")}` : "", ". No other account gets the name.")),
    });
    if (!isSure) return;
    try {
      if (await change(`${at}/delete`, {}, `Delete the account ${account.name}`) === null) return;
      location.hash = "#/people";
      toast(`${account.name} is deleted.`);
    } catch (error) {
      toast(error.message, true);
    }
  }
}
customElements.define("portico-people", People);
