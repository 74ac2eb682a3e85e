// The log as it is written, with the steps of slow requests and what error codes mean.

import { element, prose } from "./elements.js";
import { change, may, read } from "./gateway.js";
import { badge, button, heading, instant, timeField, toast, View } from "./view.js";

const LEVELS = ["trace", "debug", "info", "notice", "warning", "error", "critical"];
const MOST = 500;
/** Of those that come while the log is watched: more cannot be read. */
const MOST_AT_ONCE = 100;
/** Of a line, beside its message. */
const SHOWN = ["source", "method", "path", "status", "mirror", "upstream", "server", "detail", "adapter"];
const KINDS = { warning: "warn", error: "bad", critical: "bad" };

export class Logs extends View {
  interval = 2000;
  rest = 10_000;
  last = 0;
  isPaused = false;
  /** As the address has it. `operators`: whether what operators ask is shown too, such as what this page asks itself. */
  asked = { level: "info", adapter: "", request: "", from: "", until: "", operators: "" };

  connectedCallback() {
    for (const name of Object.keys(this.asked)) this.asked[name] = this.query.get(name) ?? this.asked[name];
    if (this.query.get("request") && !this.query.get("level")) this.asked.level = "trace";
    super.connectedCallback();
  }

  async load(again) {
    if (again && this.isPaused) return;
    const [adapters, found] = await Promise.all([
      again ? null : read("/admin/v1/adapters"),
      read("/admin/v1/logs/search", { again, body: this.wanted() })]);
    const isGap = this.last > 0 && found.lines.length === MOST_AT_ONCE;
    this.last = found.last;
    const lines = found.lines;
    if (adapters) await this.frame(adapters.adapters);
    const list = this.querySelector(".log");
    if (!list) return;
    if (isGap) list.append(element("p", { class: "gap" }, `More lines came than are shown: the latest ${MOST_AT_ONCE} follow. A higher level, an adapter or times narrow them.`));
    list.append(...lines.map((one) => this.line(one, found.explanations)));
    while (list.childElementCount > MOST) list.firstElementChild?.remove();
    const empty = this.querySelector(".nothing");
    if (empty) /** @type {HTMLElement} */ (empty).hidden = list.childElementCount > 0;
    if (lines.length && !this.isPaused) list.scrollTop = list.scrollHeight;
  }

  wanted() {
    const { level, adapter, request, from, until, operators } = this.asked;
    return {
      level, ...(adapter ? { adapter } : {}), ...(request ? { request } : {}), from: instant(from), until: instant(until),
      operators: Boolean(operators || request), after: this.last, limit: this.last ? MOST_AT_ONCE : MOST,
    };
  }

  async frame(adapters) {
    const field = (name, label, control) => element("p", { class: "field" }, element("label", { for: name }, label), control);
    const choose = (name, options) => element("select", { id: name, name, onchange: () => this.find() },
      options.map(([value, text]) => element("option", { value, selected: value === this.asked[name] }, text)));
    const pause = button("Pause", () => {
      this.isPaused = !this.isPaused;
      pause.textContent = this.isPaused ? "Go on" : "Pause";
      if (!this.isPaused) this.update(true);
    });
    this.put(heading("Logs", pause),
      element("form", { class: "tools", role: "search", onsubmit: (event) => { event.preventDefault(); this.find(); } },
        field("level", "At least", choose("level", LEVELS.map((level) => [level, level]))),
        field("adapter", "Adapter", choose("adapter", [["", "every adapter"], ...adapters.map((one) => [one.name, one.name])])),
        field("request", "Request id", element("input", { id: "request", name: "request", value: this.asked.request, spellcheck: "false", autocapitalize: "off" })),
        timeField("from", "From", this.asked.from), timeField("until", "Until", this.asked.until),
        element("p", { class: "field check" }, element("input", { id: "operators", name: "operators", type: "checkbox", checked: Boolean(this.asked.operators),
          onchange: () => this.find() }), element("label", { for: "operators" }, "Operators' requests")),
        field("find", "", element("button", { id: "find", class: "main" }, "Find"))),
      element("p", { class: "nothing" }, "No such line is in memory."),
      element("div", { class: "log", tabindex: "0", role: "log", "aria-label": "Log lines", "aria-live": "off" }),
      may("operator") ? await this.levels() : "");
  }

  find() {
    for (const name of Object.keys(this.asked)) {
      const control = /** @type {any} */ (this.querySelector(`[name="${name}"]`));
      this.asked[name] = control?.type === "checkbox" ? (control.checked ? "1" : "") : control?.value.trim() ?? "";
    }
    this.remember("logs", { ...this.asked, level: this.asked.level === "info" ? "" : this.asked.level });
    this.last = 0;
    this.querySelector(".log")?.replaceChildren();
    this.update(true);
  }

  line(one, explanations) {
    const { time, level, message, steps, ...more } = one;
    const meaning = explanations.find((each) => each.code === one.code);
    const rest = Object.entries(more).filter(([, value]) => value !== "" && value !== null);
    return element("details", {},
      element("summary", {}, element("time", { datetime: time }, new Date(time).toLocaleTimeString("sv")), badge(level, KINDS[level] ?? "plain"),
        element("span", { class: "text" }, message),
        element("span", { class: "soft" }, SHOWN.map((name) => more[name]).filter((value) => value !== undefined && value !== "").join(" "))),
      element("dl", { class: "facts" }, rest.map(([name, value]) => [element("dt", {}, name),
        element("dd", {}, name === "requestId" || name === "id" ? button(String(value), () => this.only(String(value)), { class: "link", title: "Only this request" })
          : typeof value === "object" ? JSON.stringify(value) : String(value))])),
      element("p", { class: "row" }, button("What else was then", () => this.around(time), { class: "quiet" })),
      steps ? this.steps(steps) : null,
      meaning ? element("p", { class: "hint" }, prose(`${meaning.meaning} ${meaning.operator}`)) : null);
  }

  /** Where a slow request's time went. */
  steps(steps) {
    if (!Array.isArray(steps)) return element("pre", { tabindex: "0" }, typeof steps === "string" ? steps : JSON.stringify(steps, null, 2));
    return element("ol", { class: "steps" }, steps.map((step) => element("li", {}, typeof step === "object" ? Object.values(step).join(" ") : String(step))));
  }

  only(id) {
    /** @type {any} */ (this.querySelector("[name=request]")).value = id;
    /** @type {any} */ (this.querySelector("[name=level]")).value = "trace";
    this.find();
  }

  /** Lines of the minute before an instant, and of the one behind it. @param {string} time */
  around(time) {
    const local = (milliseconds) => {
      const date = new Date(milliseconds);
      return new Date(milliseconds - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
    };
    const set = (name, value) => { /** @type {any} */ (this.querySelector(`[name=${name}]`)).value = value; };
    set("from", local(Date.parse(time) - 60_000));
    set("until", local(Date.parse(time) + 60_000));
    set("request", "");
    this.find();
  }

  async levels() {
    const list = element("dl", { class: "facts" });
    const show = (levels) => {
      const [general] = levels;
      const choose = (one) => element("select", {
        id: `level-${one.module}`, onchange: async (event) => {
          const level = event.target.value;
          try {
            show((await change("/admin/v1/logs/levels", { module: one.module, ...(level ? { level } : {}) })).levels);
            toast(`${title(one)}: at least ${level || `${general.level}, the general level`}.`);
          } catch (error) {
            show(levels);
            toast(error.message, true);
          }
          document.getElementById(`level-${one.module}`)?.focus();
        },
      }, [...(one === general ? [] : [["", `the general level (${general.level})`]]), ...LEVELS.map((level) => [level, level])].map(([value, text]) =>
        element("option", { value, selected: value === (one.own || one === general ? one.level : "") }, text)));
      const title = (one) => (one === general ? "The general level" : one.module);
      list.replaceChildren(...levels.flatMap((one) => [
        element("dt", {}, element("label", { for: `level-${one.module}` }, title(one))), element("dd", {}, choose(one))]));
    };
    show((await read("/admin/v1/logs/levels")).levels);
    return element("details", { class: "levels" }, element("summary", {}, "What is logged"),
      element("p", { class: "hint" }, "The least level of each part, until the gateway ends."), list);
  }
}
customElements.define("portico-logs", Logs);
