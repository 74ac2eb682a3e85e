// What answers: each adapter's state, where it comes from, its process and its crashes.

import { ask } from "./dialog.js";
import { element } from "./elements.js";
import { change, may, path, read } from "./gateway.js";
import { Table } from "./table.js";
import { badge, button, facts, figure, heading, moment, View, when } from "./view.js";

const state = (word) => badge(word, { running: "good", starting: "plain", disabled: "warn" }[word] ?? "bad");

export class Adapters extends View {
  interval = 5000;

  async load(again) {
    const packages = (await read("/admin/v1/packages", { again })).packages;
    if (this.place.length) return this.adapter(this.place[0], packages, again);
    const adapters = (await read("/admin/v1/adapters", { again })).adapters;
    this.put(heading("Adapters"), Table.of({
      caption: "Adapters", rows: adapters,
      columns: [
        { name: "name", show: (one) => element("a", { href: `#/adapters/${encodeURIComponent(one.name)}` }, one.title || one.name) },
        { name: "state", show: (one) => state(one.state) }, { name: "version" },
        { name: "origin", show: (one) => packages.some((other) => other.name === one.name) ? "package" : "this gateway or its configuration", sort: (one) => packages.some((other) => other.name === one.name) },
        { name: "entities", number: true, sort: (one) => one.entities.length, show: (one) => figure(one.entities.length) },
        { name: "operations", number: true, sort: (one) => one.operations.length, show: (one) => figure(one.operations.length) }],
    }), element("p", { class: "hint" }, "Packages are installed at the command line."));
  }

  async adapter(name, packages, again) {
    const at = path`/admin/v1/adapters/${name}/`;
    const [one, crashes] = await Promise.all([read(at.slice(0, -1), { again }), read(`${at}crashes`, { again })]);
    const own = packages.find((other) => other.name === name);
    const process = one.process;
    this.put(element("p", { class: "trail" }, element("a", { href: "#/adapters" }, "Adapters")),
      heading(one.title || one.name, state(one.state)), element("p", { class: "lead" }, one.summary),
      may("operator") ? element("p", { class: "row" },
        button("Restart", () => this.act(() => change(`${at}restart`), "Another instance has started.")),
        one.state === "disabled"
          ? button("Enable", () => this.act(() => change(`${at}enable`), "It answers again."))
          : button("Disable", () => this.disable(at, name)),
        own?.previous && may("admin") ? button(`Roll back to ${own.previous}`, () => this.rollBack(own), { class: "danger" }) : null) : "",
      (one.warnings ?? []).map((text) => element("p", { class: "warning" }, text)),
      facts([["Version", one.version], ["Origin", own ? "an installed package" : "compiled in, a plugin or a connection file"], ["Before", own?.previous],
        ["Rolled back because", own?.rollbackReason], ["Problem", own?.problem], ["Failed to start", one.start?.reason], ["Attempts", figure(one.start?.attempts ?? 0)],
        ["Next attempt", one.start?.nextAttempt ? when(one.start.nextAttempt) : null]]),
      process ? element("section", {}, element("h2", {}, "Process"), facts([
        ["State", [process.state, process.reason ? `: ${process.reason}` : ""]], ["Number", process.process], ["Launched", when(process.launched)],
        ["Restarts", figure(process.restarts)], ["Crashes", figure(process.crashes)], ["Calls under way", figure(process.callsUnderWay)], ["Calls waiting", figure(process.callsWaiting)]])) : "",
      crashes.crashes.length ? element("section", {}, element("h2", {}, "Crashes"), crashes.crashes.map((crash) => element("details", {},
        element("summary", {}, moment(crash.time), ` ${crash.reason ?? ""}`),
        element("pre", { tabindex: "0" }, Array.isArray(crash.output) ? crash.output.join("\n") : JSON.stringify(crash, null, 2))))) : "",
      element("section", {}, element("h2", {}, "Entities"), Table.of({
        caption: "Entities", rows: one.entities, empty: "It declares none.",
        columns: [{ name: "name", show: (entity) => element("a", { href: `#/records/${encodeURIComponent(name)}/${encodeURIComponent(entity.name)}` }, entity.name) },
          { name: "summary", wide: true }, { name: "records", number: true, show: (entity) => figure(entity.records) }],
      })),
      element("section", {}, element("h2", {}, "Operations"), Table.of({
        caption: "Operations", rows: one.operations, empty: "It declares none.",
        columns: [{ name: "name" }, { name: "effect" }, { name: "audience", title: "For" }, { name: "paths", sort: null, wide: true, show: (each) => each.paths.map((text) => element("code", {}, text)) }],
      })));
  }

  async disable(at, name) {
    const isSure = await ask({ title: `Disable ${name}?`, text: "Its calls are refused until it is enabled, or the gateway starts anew.", action: "Disable", danger: true });
    if (isSure) await this.act(() => change(`${at}disable`), "Its calls are refused.");
  }

  async rollBack(own) {
    const isSure = await ask({ title: `Roll ${own.name} back?`, text: `${own.previous} takes the place of ${own.version}.`, action: "Roll back", danger: true });
    if (isSure) await this.act(() => change(path`/admin/v1/packages/${own.name}/rollback`, {}, `Roll ${own.name} back to ${own.previous}`), `${own.previous} is used.`);
  }
}
customElements.define("portico-adapters", Adapters);
