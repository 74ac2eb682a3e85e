// What every view has in common: it loads, shows, repeats itself, and says what is wrong.

import { keepFocus } from "./dialog.js";
import { announce, element } from "./elements.js";
import { checkSession, Failure } from "./gateway.js";

/** How long nobody touches the page until it is at rest, and how often it then looks, in milliseconds. */
const QUIET = 60_000;
const REST = 60_000;
/** How often a view that does not repeat itself looks whether the gateway is there and the session goes on. */
const PULSE = 15_000;
/** How soon a gateway that is away is asked again. */
const RETRY = 3_000;

let touched = Date.now();
for (const name of ["pointermove", "pointerdown", "keydown", "wheel", "focus"]) {
  addEventListener(name, () => {
    const wasQuiet = Date.now() - touched > QUIET;
    touched = Date.now();
    if (wasQuiet) dispatchEvent(new CustomEvent("portico-touched"));
  }, { passive: true });
}

/**
 * A part of the console. It loads when it is shown, and again every `interval` milliseconds while the page can be seen, every
 * `rest` while nobody touches it.
 */
export class View extends HTMLElement {
  interval = 0;
  rest = REST;
  /** Whether its heading gets the focus when it is shown. */
  takesFocus = false;
  /** The parts of its address behind its name. @type {string[]} */
  place = [];
  /** What stands behind `?` in its address. */
  query = new URLSearchParams();
  wake = () => { if (!document.hidden && this.interval) this.update(true); };
  #isAway = false;
  #timer = 0;
  #isLoading = false;

  connectedCallback() {
    document.addEventListener("visibilitychange", this.wake);
    addEventListener("portico-touched", this.wake);
    this.update(false);
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.wake);
    removeEventListener("portico-touched", this.wake);
    clearTimeout(this.#timer);
  }

  /** Loads and shows. @param {boolean} again whether the page repeats itself */
  async update(again) {
    if (this.#isLoading) return;
    clearTimeout(this.#timer);
    this.#isLoading = true;
    try {
      await this.load(again);
      if (this.isConnected) this.#answers();
    } catch (error) {
      if (this.isConnected) this.fail(error, again);
    } finally {
      this.#isLoading = false;
    }
    if (!this.isConnected) return;
    if (this.takesFocus) {
      this.takesFocus = false;
      this.querySelector("h1")?.focus({ preventScroll: true });
    }
    this.#later();
  }

  /** Looks again in a while. A hidden page does not; it does once it is shown. */
  #later() {
    clearTimeout(this.#timer);
    if (!this.isConnected || document.hidden && this.interval) return;
    const pause = this.#isAway ? RETRY : Date.now() - touched > QUIET ? Math.max(this.rest, this.interval) : this.interval || PULSE;
    this.#timer = setTimeout(() => (this.interval || this.#isAway ? this.update(true) : this.#pulse()), pause);
  }

  async #pulse() {
    try {
      if (!document.hidden) await checkSession();
    } catch (error) {
      if (this.isConnected) this.fail(error, true);
    }
    this.#later();
  }

  #answers() {
    this.#isAway = false;
    notice("");
  }

  /** Replaces what is shown without taking the focus from a control. @param {...any} children as those of `element` */
  put(...children) {
    const focus = keepFocus(this);
    this.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
    focus();
  }

  /** Has the address say what is asked for, so that it can be kept and sent. @param {string} name @param {Record<string, any>} asked */
  remember(name, asked) {
    const query = new URLSearchParams(Object.entries(asked).filter(([, text]) => text).map(([key, text]) => [key, String(text)])).toString();
    history.replaceState(null, "", `#/${name}${query ? `?${query}` : ""}`);
  }

  /** @param {boolean} _again @returns {Promise<void>} */
  async load(_again) {}

  /** What was shown stays where the page repeats itself. */
  fail(error, again) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Failure && error.code === "auth.required") return;
    if (error instanceof Failure && error.code === "away") {
      const isShown = this.childElementCount > 0 && !this.querySelector(":scope > .problem");
      notice(`The gateway does not answer.${isShown ? " What is shown is what it said last." : ""} This page tries again by itself.`);
      this.#isAway = true;
      if (again || this.childElementCount) return;
    }
    if (again) return notice(message);
    this.put(element("h1", { tabindex: "-1" }, "This cannot be shown"), problem(error));
  }

  /** Does something that a person asked for, says what came of it, and shows the view anew. */
  async act(work, done) {
    try {
      const result = await work();
      if (result === null) return;
      toast(typeof done === "function" ? done(result) : done);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), true);
    }
    await this.update(true);
  }
}

/** A sentence with what helps operators to find more. */
export function problem(error) {
  const id = error instanceof Failure ? error.requestId : "";
  return element("p", { class: "problem", role: "alert" }, error instanceof Error ? error.message : String(error),
    id ? [" ", element("a", { href: `#/logs?request=${encodeURIComponent(id)}` }, "Its log lines")] : null);
}

/** A sentence above every view; empty: none. */
export function notice(text) {
  let place = document.getElementById("notice");
  if (!place) {
    place = element("p", { id: "notice", role: "status", hidden: true });
    document.getElementById("content")?.before(place);
  }
  place.hidden = !text;
  if (place.textContent !== text) place.textContent = text;
}

/** A sentence that goes by itself. */
export function toast(text, isFailure = false) {
  document.getElementById("toast")?.remove();
  const made = element("p", { id: "toast", class: isFailure ? "failed" : null, role: isFailure ? "alert" : null }, text);
  document.body.append(made);
  if (!isFailure) announce(text);
  setTimeout(() => made.remove(), isFailure ? 12000 : 5000);
}

/** A heading of a view. */
export function heading(title, ...more) {
  return element("div", { class: "heading" }, element("h1", { tabindex: "-1" }, title), ...more);
}

/** A button that does something. @param {string} text @param {() => any} onclick @param {Record<string, any>} [attributes] */
export function button(text, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, text);
}

/** A word with a colour: good, warn, bad or plain. */
export function badge(text, kind = "plain") {
  return element("span", { class: `badge ${kind}` }, text);
}

/** Names with what they are. @param {Array<[string, any]>} pairs */
export function facts(pairs) {
  return element("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

/** @param {string | null | undefined} text */
export function when(text) {
  if (!text) return "–";
  const date = new Date(text);
  return element("time", { datetime: text, title: date.toISOString() }, ago(date));
}

/** A date as people say it, in their own time. @param {Date} date */
function ago(date) {
  const seconds = Math.round((Date.now() - date.getTime()) / 1000);
  const far = Math.abs(seconds);
  const say = (count, unit) => new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.sign(seconds) * count, unit);
  if (far < 60) return say(far, "second");
  if (far < 3600) return say(Math.floor(far / 60), "minute");
  if (far < 86400) return say(Math.floor(far / 3600), "hour");
  if (far < 86400 * 30) return say(Math.floor(far / 86400), "day");
  return date.toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric" });
}

/** @param {string | null | undefined} text */
export function moment(text) {
  if (!text) return "–";
  const date = new Date(text);
  return element("time", { datetime: text, class: "moment" }, date.toLocaleString("sv"));
}

/** @param {number | null | undefined} seconds */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

/** @param {number} bytes */
export function bytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) [bytes, unit] = [bytes / 1024, unit + 1];
  return `${bytes >= 100 || unit === 0 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`;
}

/** A few digits. @param {number} number */
export function figure(number) {
  if (!Number.isFinite(number)) return "–";
  if (Math.abs(number) >= 100 || Number.isInteger(number)) return Math.round(number).toLocaleString("en");
  return Number(number.toPrecision(2)).toString();
}

/** A number with what it counts. @param {number} number @param {string} one @param {string} [many] */
export function count(number, one, many = `${one}s`) {
  return `${figure(number)} ${number === 1 ? one : many}`;
}

/** A field for an instant, in the reader's own time. @param {string} name @param {string} label @param {string} value */
export function timeField(name, label, value) {
  return element("p", { class: "field time" }, element("label", { for: name }, label), element("input", { id: name, name, type: "datetime-local", step: 1, value }));
}

/** What such a field says, as the gateway takes it; nothing: it says nothing. @param {string} text */
export function instant(text) {
  const date = new Date(text);
  return text && !Number.isNaN(date.getTime()) ? date.toISOString() : undefined;
}

/** What an entry of the log did to its record. @param {string} kind */
export function changeKind(kind) {
  return { put: "written", remove: "deleted", replaceAll: "all replaced" }[kind] ?? kind;
}
