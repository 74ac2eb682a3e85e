// Is it well, what needs attention, and how it did in the last fifteen minutes.

import { chart } from "./chart.js";
import { element } from "./elements.js";
import { Failure, read } from "./gateway.js";
import { badge, bytes, count, figure, heading, span, View } from "./view.js";

const MOST_LINES = 5;
const MOST_POINTS = 180;

/** After how many seconds a write that is not made needs attention. */
const LONG_PENDING = 600;

/** @param {number} seconds */
const time = (seconds) => (seconds < 1 ? `${figure(seconds * 1000)} ms` : `${figure(seconds)} s`);

export class Overview extends View {
  interval = 5000;
  /** @type {any[]} */ points = [];
  adapter = "";

  async load(again) {
    const last = this.points.at(-1)?.number ?? 0;
    const [status, figures] = await Promise.all([
      read("/admin/v1/status", { again }), read(`/admin/v1/figures?after=${last}`, { again })]);
    // Numbers begin anew with the gateway.
    const isAnew = figures.points.length === 0 && last > 0 && status.uptimeSeconds < 10;
    this.points = [...(isAnew ? [] : this.points), ...figures.points].slice(-MOST_POINTS);
    this.show(status);
  }

  show(status) {
    const wrong = attention(status);
    const isWell = status.ready && !wrong.some((one) => one.kind === "bad");
    const word = isWell ? (wrong.length ? "It runs, with something to look at" : "All is well") : "Something is wrong";
    this.put(
      heading("Overview", badge(word, isWell ? (wrong.length ? "warn" : "good") : "bad")),
      element("p", { class: "hint" }, `Portico ${status.version}, running for ${span(status.uptimeSeconds)}.`),
      this.tiles(status),
      element("section", { "aria-labelledby": "attention" }, element("h2", { id: "attention" }, "What needs attention"),
        wrong.length
          ? element("ul", { class: "attention" }, wrong.map((one) => element("li", { class: one.kind },
            element("b", {}, one.what), element("span", {}, one.why),
            one.link ? element("a", { href: one.link }, one.next) : element("span", { class: "hint" }, one.next))))
          : element("p", { class: "nothing" }, "Nothing.")),
      element("section", { "aria-labelledby": "figures" },
        element("div", { class: "heading" }, element("h2", { id: "figures" }, "The last 15 minutes"), this.choice()), this.charts()));
  }

  /** That all is well is not known of a gateway that does not answer. */
  fail(error, again) {
    super.fail(error, again);
    if (again && error instanceof Failure && error.code === "away") this.querySelector(".heading .badge")?.replaceWith(badge("It does not answer", "bad"));
  }

  tiles(status) {
    const point = this.points.at(-1);
    const all = (name) => point?.adapters.reduce((sum, one) => sum + one[name], 0) ?? NaN;
    const slowest = point ? Math.max(...point.adapters.map((one) => one.p99 ?? -1)) : -1;
    const tile = (name, value) => element("div", {}, element("dt", {}, name), element("dd", {}, value));
    return element("dl", { class: "tiles" },
      tile("Requests", point ? `${figure(all("requests"))}/s` : "–"), tile("Errors", point ? `${figure(all("errors"))}/s` : "–"),
      tile("Slowest 1 %", slowest < 0 ? "–" : time(slowest)), tile("Live streams", figure(point?.streams ?? NaN)),
      tile("Devices", figure(point?.devices ?? NaN)), tile("Memory", point ? bytes(point.memory) : "–"),
      tile("Adapters", `${status.adapters - status.failedAdapters.length - status.disabledAdapters.length} of ${status.adapters}`),
      tile("Pending writes", figure(status.pendingWrites + status.unknownWrites)));
  }

  names() {
    const sums = new Map();
    for (const point of this.points) {
      for (const one of point.adapters) sums.set(one.name, (sums.get(one.name) ?? 0) + one.requests);
    }
    return [...sums].filter(([, sum]) => sum > 0).sort((left, right) => right[1] - left[1]).map(([name]) => name);
  }

  choice() {
    const names = this.names();
    const select = element("select", { id: "adapter", onchange: () => { this.adapter = select.value; this.update(true); } },
      element("option", { value: "" }, "Every adapter"),
      [...names].sort().map((name) => element("option", { value: name, selected: name === this.adapter }, name)));
    return element("p", { class: "field inline" }, element("label", { for: "adapter" }, "Of"), select);
  }

  charts() {
    const times = this.points.map((point) => point.time);
    const names = this.adapter ? [this.adapter] : this.names().slice(0, MOST_LINES);
    const of = (name, key) => this.points.map((point) => point.adapters.find((one) => one.name === name)?.[key] ?? null);
    const lines = (key) => names.map((name) => ({ name, values: of(name, key).map((value) => value ?? 0) }));
    const timed = (key) => names.map((name) => ({ name, values: of(name, key) }));
    const plain = (key) => [{ name: "", values: this.points.map((point) => point[key]) }];
    const rate = (number) => `${figure(number)}/s`;
    const latency = this.adapter
      ? [chart({ title: "Latency", times, say: time, empty: "No request yet.",
        lines: [{ name: "half of them (p50)", values: of(this.adapter, "p50") }, { name: "all but 1 % (p99)", values: of(this.adapter, "p99") }] })]
      : [chart({ title: "Latency, half of them (p50)", times, say: time, lines: timed("p50"), empty: "No request yet." }),
        chart({ title: "Latency, all but 1 % (p99)", times, say: time, lines: timed("p99"), empty: "No request yet." })];
    return element("div", { class: "charts" },
      chart({ title: "Requests", times, say: rate, lines: lines("requests"), empty: "No request yet." }),
      chart({ title: "Errors of the server", times, say: rate, lines: lines("errors"), empty: "No request yet." }),
      ...latency,
      chart({ title: "Live streams and devices", times, say: figure,
        lines: [{ name: "streams", values: this.points.map((point) => point.streams) }, { name: "devices", values: this.points.map((point) => point.devices) }] }),
      chart({ title: "Commits", times, say: rate, lines: plain("commits") }),
      chart({ title: "Memory", times, say: bytes, unit: 2 ** 20, lines: plain("memory") }),
      chart({ title: "Processors", times, say: figure, lines: plain("load") }));
  }
}
customElements.define("portico-overview", Overview);

/** What is not as it should be, the worst first, each with what to do. */
function attention(status) {
  const found = [];
  const add = (kind, what, why, next, link) => found.push({ kind, what, why, next, link });
  if (status.store.problem) add("bad", "The store takes no writes", status.store.problem, "See the log", "#/logs?level=error");
  for (const name of status.failedAdapters) {
    add("bad", `The adapter ${name} has not started`, "Its calls are refused.", "Look at it, and restart it", `#/adapters/${encodeURIComponent(name)}`);
  }
  for (const name of status.disabledAdapters) {
    add("warn", `The adapter ${name} is disabled`, "An operator has disabled it; its calls are refused.", "Look at it, and enable it", `#/adapters/${encodeURIComponent(name)}`);
  }
  for (const name of status.openUpstreams) {
    add("bad", `${name} does not answer`, "Its breaker is open: it is not called for a while.", "Look at it, and test it", `#/systems/upstreams/${encodeURIComponent(name)}`);
  }
  for (const { name, state, detail } of status.mirrorProblems) {
    add("warn", `The mirror ${name} is not refreshed`, `${state === "held" ? "A refresh is held back" : "The last refresh failed"}${detail ? `: ${detail}` : ""}.`, "See why", `#/systems/mirrors/${name.split("/").map(encodeURIComponent).join("/")}`);
  }
  if (status.unknownWrites) {
    add("warn", count(status.unknownWrites, "change of unknown outcome", "changes of unknown outcome"), "The other system broke off; its record is held up.", "Decide about each", "#/systems/writes");
  }
  if (status.refusedWrites) {
    add("warn", count(status.refusedWrites, "change was refused by another system", "changes were refused by another system"), "It is not made, and its author knows.", "Send again or drop", "#/systems/writes");
  }
  const waits = status.oldestPendingWrite ? (Date.now() - Date.parse(status.oldestPendingWrite)) / 1000 : 0;
  if (waits > LONG_PENDING) {
    add("warn", `A change has waited for ${span(waits)}`, `${count(status.pendingWrites, "change is", "changes are")} still to be made in other systems.`, "See which", "#/systems/writes");
  }
  if (status.store.restoresAtNextStart) {
    add("warn", "A backup takes the store's place", "It does at the next start.", "Restart when it suits");
  }
  if (!status.ready && !found.length) add("bad", "It is not ready", "It is starting or stopping.", "See the log", "#/logs");
  return found;
}
