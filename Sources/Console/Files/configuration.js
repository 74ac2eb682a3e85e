// What is configured, where each value comes from, and what the sources say by now.

import { element } from "./elements.js";
import { change, may, read } from "./gateway.js";
import { Table } from "./table.js";
import { badge, button, heading, View } from "./view.js";

/** A key, broken behind its full stops. @param {string} text */
const key = (text) => element("code", { class: "key" }, text.split(/(?<=\.)/).flatMap((part) => [part, element("wbr")]));

/** What a reload came to. */
function outcome(done) {
  if (done.applied) return `Used from now on: ${done.changes.map((one) => one.key).join(", ")}.`;
  if (done.errors.length) return `Not used: ${done.errors[0]}`;
  const waiting = done.changes.filter((one) => one.effect !== "reloads").map((one) => one.key);
  return waiting.length ? `Nothing is taken up before a restart, which ${waiting.join(", ")} ${waiting.length === 1 ? "needs" : "need"}.` : "Nothing has changed.";
}

export class Configuration extends View {
  interval = 10_000;
  find = "";
  isDefaultShown = false;
  /** @type {any[]} */ settings = [];

  /** What the sources said when it was shown. */
  said = "";

  async load(again) {
    const report = await read("/admin/v1/configuration/changes", { again });
    const said = JSON.stringify(report);
    if (again && said === this.said) return;
    const configured = await read("/admin/v1/configuration", { again });
    this.said = said;
    const reloading = report.changes.filter((one) => one.effect === "reloads");
    this.settings = configured.settings;
    const list = (items, kind) => items.map((text) => element("li", { class: kind }, element("span", {}, text)));
    const news = report.changes.length || report.errors.length || report.warnings.length;
    const input = element("input", { id: "find", value: this.find, spellcheck: "false", autocapitalize: "off", oninput: () => { this.find = input.value; this.rows(); } });
    this.put(heading("Configuration"),
      element("section", { "aria-labelledby": "sources" }, element("h2", { id: "sources" }, "What its sources say now"),
        news ? "" : element("p", { class: "nothing" }, "The same as what is used."),
        element("ul", { class: "attention" }, list(report.errors, "bad"), list(report.warnings, "warn")),
        report.changes.length ? Table.of({
          caption: "Changes", rows: report.changes,
          columns: [{ name: "key", show: (one) => key(one.key) }, { name: "old", title: "Now" }, { name: "new", title: "Then" },
            { name: "effect", show: (one) => badge(one.effect, one.effect === "reloads" ? "good" : "warn") }],
        }) : "",
        may("operator") ? element("p", { class: "row" }, button("Reload", () => this.act(() => change("/admin/v1/configuration/apply"),
          outcome),
        { class: reloading.length && reloading.length === report.changes.length && !report.errors.length ? "main" : null })) : ""),
      element("section", { "aria-labelledby": "effective" }, element("h2", { id: "effective" }, "What is used"),
        element("div", { class: "tools" }, element("p", { class: "field" }, element("label", { for: "find" }, "Key or value"), input),
          element("p", { class: "field check" }, element("input", { id: "defaults", type: "checkbox", checked: this.isDefaultShown,
            onchange: (event) => { this.isDefaultShown = event.target.checked; this.rows(); } }), element("label", { for: "defaults" }, "Defaults too"))),
        element("div", { id: "settings" })));
    this.rows();
  }

  rows() {
    const word = this.find.toLowerCase();
    const rows = this.settings.filter((one) => (this.isDefaultShown || one.source !== "default" || word)
      && `${one.key} ${one.value}`.toLowerCase().includes(word));
    this.querySelector("#settings")?.replaceChildren(Table.of({
      caption: "Settings", rows, empty: "No such setting.",
      columns: [{ name: "key", show: (one) => key(one.key) }, { name: "value", wide: true, show: (one) => element("span", { class: "text" }, one.value) },
        { name: "source", title: "From", wide: true, show: (one) => element("span", { class: "text" }, one.source) }, { name: "reloads", title: "A change", show: (one) => one.reloads ? "reloads" : "needs a restart" }],
    }));
  }
}
customElements.define("portico-configuration", Configuration);
