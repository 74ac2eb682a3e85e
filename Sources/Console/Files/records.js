// Every entity as a table, and each record with its fields, its history and who reaches it.

import { ask } from "./dialog.js";
import { element } from "./elements.js";
import { change, may, path, read, session } from "./gateway.js";
import { Table } from "./table.js";
import { badge, button, changeKind, facts, figure, heading, moment, toast, View } from "./view.js";

const PAGE = 50;
/** Columns that are shown at first. */
const FIRST_COLUMNS = 6;
const LONG = 80;

/** Reasons for looks at rows of callers, by entity, while the page is open. @type {Map<string, string>} */
const reasons = new Map();

/** A value as text; what is long is cut where `isWhole` is not said. */
function shown(value, isWhole = false) {
  if (value === null || value === undefined) return element("span", { class: "null" }, "–");
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = typeof value === "object" ? JSON.stringify(value, null, isWhole ? 2 : 0) : String(value);
  if (isWhole) return typeof value === "object" ? element("pre", { tabindex: "0" }, text) : element("span", { class: "text" }, text);
  return text.length > LONG ? element("span", { title: text.slice(0, 400) }, `${text.slice(0, LONG)}…`) : text;
}

/** Who may, as the configuration says it. */
function words(access) {
  if (typeof access === "string") return { public: "everybody", login: "who is signed in", none: "nobody" }[access] ?? access;
  if (Array.isArray(access)) return access.map(words).join(" and ");
  if (access?.roles) return `the roles ${access.roles.join(", ")}`;
  return JSON.stringify(access);
}

/** A row rule in words. */
function rule(value) {
  if (typeof value === "string") return { everyone: "every row", nobody: "no row", signedIn: "every row, for who is signed in" }[value] ?? value;
  const [name, of] = Object.entries(value)[0] ?? ["", ""];
  // What changes nothing is left out, and what decides alone stands alone.
  const list = (rules, by, neutral, decisive) => {
    const said = rules.map(rule);
    return said.includes(decisive) ? decisive : said.filter((text) => text !== neutral).join(by) || neutral;
  };
  return {
    owner: () => `rows whose ${of} they are`, sharedWith: () => `rows whose ${of} names them`, hasRole: () => `every row, for the role ${of}`,
    attributeEquals: () => `rows whose ${of.field} is their ${of.attribute}`, fieldIsOneOf: () => of.values.length ? `rows whose ${of.field} is ${of.values.map((one) => one === "" || one === null ? "empty" : one).join(" or ")}` : "no row",
    memberOf: () => `rows of ${of.entity} that they are members of`, not: () => ({ "no row": "every row", "every row": "no row" })[rule(of)] ?? `every row but ${rule(of)}`,
    any: () => list(of, ", or ", "no row", "every row"), all: () => list(of, " that are also ", "every row", "no row"),
  }[name]?.() ?? JSON.stringify(value);
}

export class Records extends View {
  /** @type {any[]} */ entities = [];
  /** The page's cursors, the first is none. */ cursors = [""];
  list = { filter: "", search: "", order: "" };
  areColumnsOpen = false;
  /** Names of columns that are not shown. @type {Set<string> | null} */ left = null;

  async load() {
    this.entities = (await read("/admin/v1/records")).entities;
    if (!this.place.length) return this.overview();
    const name = `${this.place[0]}/${this.place[1] ?? ""}`;
    const entity = this.entities.find((one) => one.name === name);
    if (!entity) return this.put(heading("There is no such entity"), element("p", {}, element("a", { href: "#/records" }, "Every entity")));
    if (entity.needsReason && !reasons.has(name) && !(await this.reason(entity))) return;
    if (this.place.length > 2) return this.record(entity, this.place.slice(2).join("/"));
    return this.page(entity);
  }

  /** Rows of callers are looked at for a reason. */
  async reason(entity) {
    this.put(this.trail(entity), heading(entity.name), element("p", {}, "The rows of this entity belong to callers: ",
      rule(entity.rows.read), ". Looking at them needs the role admin and a reason, which stands in the audit log with each look."));
    if (!may("admin")) {
      this.append(element("p", { class: "problem" }, `You are signed in as ${session.name}, with the role ${session.role}. Ask somebody with the role admin, or sign in as one.`));
      return false;
    }
    const button_ = button("Give a reason", async () => {
      const given = await ask({ title: `Look at ${entity.name}`, fields: [{ name: "reason", label: "Why", required: true, hint: "Such as the number of a request for help." }], action: "Look" });
      if (given?.reason.trim()) {
        reasons.set(entity.name, given.reason.trim());
        this.update(false);
      }
    }, { class: "main" });
    this.append(element("p", { class: "row" }, button_));
    return false;
  }

  body(entity, more) { return reasons.has(entity.name) ? { ...more, reason: reasons.get(entity.name) } : more; }

  trail(entity, id = "") {
    return element("p", { class: "trail" }, element("a", { href: "#/records" }, "Records"), id
      ? [" / ", element("a", { href: this.link(entity) }, entity.name)] : null);
  }

  link(entity, id = null) {
    const parts = entity.name.split("/").map(encodeURIComponent).join("/");
    return `#/records/${parts}${id === null ? "" : `/${encodeURIComponent(id)}`}`;
  }

  overview() {
    /** @type {Map<string, any[]>} */ const groups = new Map();
    for (const one of this.entities) {
      const adapter = one.name.split("/")[0];
      groups.set(adapter, [...(groups.get(adapter) ?? []), one]);
    }
    this.put(heading("Records"), element("p", { class: "lead" }, "The rows of every adapter."),
      ...[...groups].map(([adapter, entities]) => element("section", {}, element("h2", {}, entities[0].adapter || adapter),
        Table.of({
          caption: `Entities of ${adapter}`, rows: entities,
          columns: [
            { name: "name", title: "Entity", show: (one) => element("a", { href: this.link(one) }, one.name.split("/")[1]) },
            { name: "summary", title: "What a record is", wide: true },
            { name: "rows", title: "Rows", sort: (one) => one.mirrorOf ?? "", show: (one) => [
              one.mirrorOf ? badge(`mirror of ${one.mirrorOf}`) : null, one.needsReason ? badge("rows of callers", "warn") : null,
              !one.mirrorOf && !one.needsReason ? "of the adapter" : null].filter(Boolean) },
          ],
        }))));
  }

  async page(entity) {
    const cursor = this.cursors.at(-1);
    const body = this.body(entity, { limit: PAGE, count: true, ...(cursor ? { cursor } : {}) });
    for (const [name, text] of Object.entries(this.list)) if (text) body[name] = text;
    let found;
    let wrong = "";
    try {
      found = await read(path`/admin/v1/records/${this.place[0]}/${this.place[1]}/list`, { body });
    } catch (error) {
      if (!["request.invalid", "record.searchUnavailable", "record.cursorInvalid"].includes(error.code)) throw error;
      [found, wrong] = [{ items: [], next: null, total: 0 }, error.message];
    }
    this.left ??= new Set(entity.fields.slice(FIRST_COLUMNS).map((field) => field.name));
    const isFirst = this.cursors.length === 1;
    const start = (this.cursors.length - 1) * PAGE;
    this.put(this.trail(entity), heading(entity.name), element("p", { class: "lead" }, entity.summary),
      this.tools(entity), wrong ? element("p", { class: "problem", role: "alert" }, wrong) : this.table(entity, found.items),
      element("p", { class: "row pages" },
        element("span", {}, found.items.length ? `${figure(start + 1)}–${figure(start + found.items.length)} of ${figure(found.total ?? 0)}` : ""),
        button("Back", () => { this.cursors.pop(); this.update(false); }, { disabled: isFirst }),
        button("Next", () => { this.cursors.push(found.next); this.update(false); }, { disabled: !found.next })),
      this.rights(entity));
  }

  tools(entity) {
    const field = (name, label, hint) => element("p", { class: "field" }, element("label", { for: name }, label),
      element("input", { id: name, name, value: this.list[name], placeholder: hint, spellcheck: "false", autocapitalize: "off" }));
    const columns = element("details", { class: "columns", open: this.areColumnsOpen, ontoggle: () => { this.areColumnsOpen = columns.open; } }, element("summary", {}, "Columns"),
      element("div", {}, entity.fields.map((one) => element("label", {}, element("input", {
        type: "checkbox", checked: !this.left?.has(one.name),
        onchange: (event) => { this.left?.[event.target.checked ? "delete" : "add"](one.name); this.update(false); },
      }), one.name))));
    const example = entity.fields.find((one) => one.type === "string") ?? entity.fields[0];
    return element("form", {
      class: "tools", role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        this.list = { ...this.list, filter: event.target.elements.filter.value, search: event.target.elements.search?.value ?? "" };
        this.cursors = [""];
        this.update(false);
      },
    }, field("filter", "Filter", `${example.name} eq 'x'`), entity.searchable ? field("search", "Words", "any word") : null,
    element("p", { class: "field" }, element("button", { class: "main" }, "Find")), columns);
  }

  table(entity, items) {
    const fields = entity.fields.filter((one) => one.name === entity.key || !this.left?.has(one.name));
    const order = this.list.order ? { name: this.list.order.replace(/^-/, ""), isDescending: this.list.order.startsWith("-") } : null;
    return Table.of({
      caption: entity.name, rows: items, empty: "There are no such records.", order,
      onorder: (name) => { this.list.order = this.list.order === name ? `-${name}` : name; this.cursors = [""]; this.update(false); },
      columns: fields.map((field) => ({
        name: field.name, title: field.name, number: ["integer", "double", "decimal"].includes(field.type), sort: ["list", "object", "any", "data"].includes(field.type) ? undefined : () => 0,
        show: (row) => field.name === entity.key ? element("a", { href: this.link(entity, row.id) }, row.id) : this.value(entity, field, row.fields[field.name]),
      })),
    });
  }

  /** Dates on one line, references as links. */
  value(entity, field, value, isWhole = false) {
    if (value === null || value === undefined) return shown(value);
    if (field.type === "date") return moment(value);
    const parent = entity.parents.find((one) => one.field === field.name);
    const other = parent && this.entities.find((one) => one.name === parent.entity);
    if (other && typeof value !== "object") return element("a", { href: this.link(other, String(value)) }, String(value));
    return shown(value, isWhole);
  }

  rights(entity) {
    return element("section", {}, element("h2", {}, "Who may"), facts([
      ["Read", [words(entity.access.read ?? entity.access), ": ", rule(entity.rows.read)]],
      ["Write", [words(entity.access.write ?? entity.access), ": ", rule(entity.rows.write)]],
      ["Change here", entity.obstacle ?? (entity.mirrorOf ? `Operators; the change waits to be made in ${entity.mirrorOf}.` : "Operators.")]]));
  }

  async record(entity, id) {
    const at = (verb) => path`/admin/v1/records/${this.place[0]}/${this.place[1]}/` + verb;
    const body = this.body(entity, { id });
    const [record, history] = await Promise.all([read(at("show"), { body }), read(at("history"), { body })]);
    const mayChange = !entity.obstacle && may("operator");
    this.put(this.trail(entity, id),
      heading(id, mayChange ? button("Edit", () => this.edit(entity, record, at("set")), { class: "main" }) : null,
        !entity.obstacle && may("admin") ? button("Delete", () => this.remove(entity, record, at("delete")), { class: "danger" }) : null),
      entity.obstacle ? element("p", { class: "hint" }, entity.obstacle) : "",
      element("section", { "aria-label": "Fields" }, element("dl", { class: "facts fields" }, entity.fields.map((field) => [
        element("dt", {}, field.name, element("span", { class: "hint" }, field.type)),
        element("dd", {}, this.value(entity, field, record.fields[field.name], true))]))),
      element("section", {}, element("h2", {}, "History"), Table.of({
        caption: "History", rows: history.changes, empty: "The log does not reach back to a change of it.",
        columns: [{ name: "position", number: true }, { name: "time", show: (one) => moment(one.time) }, { name: "kind", show: (one) => changeKind(one.kind) },
          { name: "changed", wide: true, show: (one) => one.changed?.join(", ") }],
      })),
      this.explanation(entity, id), this.rights(entity));
  }

  /** Whether one account reaches the record, and by which part of the rules. */
  explanation(entity, id) {
    const answer = element("div", { role: "status" });
    return element("section", {}, element("h2", {}, "Whether an account reaches it"),
      element("form", {
        class: "tools",
        onsubmit: async (event) => {
          event.preventDefault();
          try {
            const user = event.target.elements.user.value.trim();
            const found = await read(`/admin/v1/sync/explanations/${encodeURIComponent(user)}/${entity.name.split("/").map(encodeURIComponent).join("/")}/${encodeURIComponent(id)}`);
            answer.replaceChildren(facts([["Verdict", found.verdict], ["May write", found.mayWrite ? "yes" : "no"], ["Writers", found.writers]]),
              found.rules.length ? element("pre", { tabindex: "0" }, found.rules.join("\n")) : "");
          } catch (error) {
            answer.replaceChildren(element("p", { class: "problem" }, error.message));
          }
        },
      }, element("p", { class: "field" }, element("label", { for: "user" }, "Account"), element("input", { id: "user", name: "user", required: true, autocapitalize: "off", spellcheck: "false" })),
      element("p", { class: "field" }, element("button", {}, "Explain"))), answer);
  }

  async edit(entity, record, at) {
    const fields = entity.fields.filter((field) => field.editable && field.name !== entity.key);
    const text = (field) => {
      const value = record.fields[field.name];
      return value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    };
    const given = await ask({
      title: `Edit ${record.id}`, wide: true,
      text: entity.mirrorOf ? `The change waits to be made in ${entity.mirrorOf}, in your name.` : undefined,
      fields: fields.map((field) => ({
        name: field.name, label: `${field.name} (${field.type})`, value: text(field), hint: field.summary,
        lines: ["list", "object", "any"].includes(field.type) || text(field).length > LONG ? 3 : undefined,
        options: field.type === "choice" ? ["", ...field.choices] : field.type === "bool" ? ["", "true", "false"] : undefined,
      })),
      action: "Save",
      check: async (values) => {
        const changed = {};
        for (const field of fields) if (values[field.name] !== text(field)) changed[field.name] = this.read(field, values[field.name]);
        if (!Object.keys(changed).length) throw new Error("Nothing is changed.");
        await change(at, { id: record.id, fields: changed, revision: record.revision });
      },
    });
    if (!given) return;
    toast(entity.mirrorOf ? "The change waits to be made." : "Saved.");
    this.update(false);
  }

  /** What was typed as the field's type has it; nothing is null. */
  read(field, text) {
    if (text === "" && !(field.required && field.type === "string")) return null;
    if (["string", "choice", "date", "data", "decimal"].includes(field.type)) return text;
    if (field.type === "bool") return text === "true";
    try { return JSON.parse(text); } catch { throw new Error(`${field.name} is no ${field.type}.`); }
  }

  async remove(entity, record, at) {
    const isSure = await ask({ title: `Delete ${record.id}?`, text: "The record goes with those that belong to it. This cannot be undone.", action: "Delete", danger: true });
    if (!isSure) return;
    try {
      if (await change(at, { id: record.id, revision: record.revision }, `Delete the record ${record.id}`) === null) return;
      location.hash = this.link(entity);
      toast("Deleted.");
    } catch (error) {
      toast(error.message, true);
    }
  }
}
customElements.define("portico-records", Records);
