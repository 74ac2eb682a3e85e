// Elements without markup in texts: what comes from a server is never read as HTML. Every page has these.

/**
 * An element with attributes, listeners (`onclick`) and children; null and false children are left out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes] true: there without a value; null, undefined and false: not there
 * @param {...any} children
 * @returns {any}
 */
export function element(tag, attributes = {}, ...children) {
  /** @type {any} */
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value") made.value = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/**
 * The element of the page with this id.
 * @param {string} id
 * @returns {any}
 */
export function at(id) {
  return document.getElementById(id);
}

/**
 * A text in which backquotes enclose code.
 * @param {any} text
 */
export function prose(text) {
  return String(text ?? "").split("`").map((piece, index) => (index % 2 ? element("code", {}, piece) : piece));
}

/**
 * A sentence for people who hear the page, beside what they see.
 * @param {string} text
 */
export function announce(text) {
  let place = document.getElementById("announced");
  if (!place) {
    place = element("p", { id: "announced", class: "unseen", role: "status" });
    document.body.append(/** @type {Node} */ (place));
  }
  /** @type {HTMLElement} */ (place).textContent = text;
}

/**
 * An instant in the reader's own words and time zone, on one line.
 * @param {string | undefined} instant
 * @returns {HTMLElement | null}
 */
export function time(instant) {
  if (!instant) return null;
  const words = new Date(instant).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  return element("time", { datetime: instant }, words);
}

/**
 * A submit or click listener: runs `work` and shows in the nearest `.problem` why it failed.
 * @param {(event: any) => any} work
 * @returns {(event: any) => Promise<void>}
 */
export function attempt(work) {
  return async (event) => {
    event.preventDefault();
    const problem = event.target.closest("form, section, li, dialog, main")?.querySelector(".problem");
    if (problem) problem.textContent = "";
    try {
      await work(event);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      if (problem) problem.textContent = message;
      else announce(message);
    }
  };
}

/** A browser and its system, or an app, of what it calls itself. @param {string} [text] */
export function agentName(text = "") {
  const find = (/** @type {string[][]} */ pairs) => pairs.find(([pattern]) => new RegExp(pattern).test(text))?.[1];
  const browser = find([["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chrom", "Chrome"], ["Safari/", "Safari"]]);
  const system = find([["iPhone", "iPhone"], ["iPad", "iPad"], ["Android", "Android"], ["Windows", "Windows"], ["Mac OS", "macOS"], ["Linux", "Linux"]]);
  return browser ? `${browser}${system ? ` on ${system}` : ""}` : text.split(" ")[0].slice(0, 60);
}

/** Code with a button that copies it: made here, or found in a page that the server wrote. */
export class Code extends HTMLElement {
  label = "Copy";
  /** @type {string | undefined} */
  shown = undefined;

  /** @param {string} text @param {string} [label] */
  static of(text, label = "Copy") {
    const made = /** @type {Code} */ (document.createElement("portico-code"));
    made.label = label;
    made.text = text;
    return made;
  }

  connectedCallback() {
    if (this.shown === undefined) this.text = this.textContent?.trim() ?? "";
  }

  /** @param {string} text */
  set text(text) {
    this.shown = text;
    const button = element("button", { type: "button", class: "copy", onclick: () => this.copy(button) }, this.label);
    this.replaceChildren(element("pre", { tabindex: "0" }, element("code", {}, text)), button);
  }

  /** @param {HTMLElement} button */
  async copy(button) {
    try {
      await navigator.clipboard.writeText(this.shown ?? "");
      button.textContent = "Copied";
      announce("Copied");
    } catch {
      // Without TLS a page may not write to the clipboard: the text is selected for the keyboard's own command.
      if (this.firstElementChild) getSelection()?.selectAllChildren(this.firstElementChild);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = this.label; }, 2000);
  }
}
customElements.define("portico-code", Code);
