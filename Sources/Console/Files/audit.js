// Who did what, in a log that shows whether it was changed.

import { ask } from "./dialog.js";
import { element } from "./elements.js";
import { read } from "./gateway.js";
import { Table } from "./table.js";
import { button, count, heading, instant, moment, timeField, toast, View } from "./view.js";

const PAGE = 100;

export class Audit extends View {
  /** Where each page begins; null: at the end of the log. @type {Array<number | null>} */ pages = [null];
  asked = { kind: "", person: "", from: "", until: "" };

  connectedCallback() {
    for (const name of Object.keys(this.asked)) this.asked[name] = this.query.get(name) ?? "";
    super.connectedCallback();
  }

  async load() {
    const before = this.pages.at(-1);
    const { kind, person, from, until } = this.asked;
    const [found, accounts] = await Promise.all([
      read("/admin/v1/audit/entries", { body: {
        limit: PAGE, ...(before === null ? {} : { before }), ...(kind ? { kind } : {}), ...(person ? { person } : {}), from: instant(from), until: instant(until),
      } }), read("/admin/v1/accounts")]);
    const names = new Map(accounts.accounts.map((one) => [one.id, one.name]));
    const who = (id) => names.get(id) ?? id;
    const last = found.entries.at(-1)?.number;
    const kinds = [...new Set([...found.kinds, ...(kind ? [kind] : [])])].sort();
    this.put(heading("Audit", button("Verify", () => this.verify(), { class: "main" })),
      element("form", { class: "tools", role: "search", onsubmit: (event) => { event.preventDefault(); this.find(event.target); } },
        element("p", { class: "field" }, element("label", { for: "kind" }, "Kind"),
          element("select", { id: "kind", name: "kind", onchange: (event) => this.find(event.target.form) },
            ["", ...kinds].map((one) => element("option", { value: one, selected: one === kind }, one || "every kind")))),
        element("p", { class: "field" }, element("label", { for: "person" }, "Person"),
          element("input", { id: "person", name: "person", value: person, list: "people", spellcheck: "false", autocapitalize: "off" })),
        element("datalist", { id: "people" }, [...names.values()].map((name) => element("option", { value: name }))),
        timeField("from", "From", from), timeField("until", "Until", until),
        element("p", { class: "field" }, element("button", { class: "main" }, "Find"))),
      Table.of({
        caption: "Audit entries", rows: found.entries, empty: "There are no such entries.",
        columns: [{ name: "number", number: true }, { name: "time", show: (one) => moment(one.time) }, { name: "kind", show: (one) => words(one.kind) },
          { name: "actor", title: "Who", show: (one) => words(who(one.actor)) }, { name: "subject", title: "What", wide: true, show: (one) => one.subject && words(who(one.subject)) },
          { name: "address", title: "From" }, { name: "detail", wide: true, show: (one) => one.detail && words(one.detail) }],
      }),
      element("p", { class: "row pages" },
        button("Later", () => { this.pages.pop(); this.update(false); }, { disabled: this.pages.length === 1 }),
        button("Earlier", () => { this.pages.push(last); this.update(false); }, { disabled: found.entries.length < PAGE })));
  }

  find(form) {
    for (const name of Object.keys(this.asked)) this.asked[name] = form.elements[name].value.trim();
    this.pages = [null];
    this.remember("audit", this.asked);
    this.update(false);
  }

  async verify() {
    const given = await ask({
      title: "Verify the audit log", action: "Verify",
      text: "A head that an earlier verification gave, and that was kept elsewhere, shows that nothing before it was changed.",
      fields: [{ name: "head", label: "Head, if there is one" }],
    });
    if (!given) return;
    try {
      const found = await read("/admin/v1/audit/verify", { body: given.head.trim() ? { head: given.head.trim() } : {} });
      if (!found.intact) return toast(`Entry ${found.entry} was changed: ${found.fault}.`, true);
      await ask({ title: "It is intact", action: "Close", only: true,
        text: element("div", {}, element("p", {}, `${count(found.entries, "entry", "entries")}. Its head, to be kept elsewhere:`), element("pre", { tabindex: "0" }, found.head)) });
    } catch (error) {
      toast(error.message, true);
    }
  }
}
customElements.define("portico-audit", Audit);

/** What the gateway names with full stops and slashes, broken behind them and not within words. @param {string} text */
function words(text) {
  return element("span", { class: "text" }, String(text).split(/(?<=[./])/).flatMap((part) => [part, document.createElement("wbr")]));
}
