// Elements without markup in texts: what comes from a server is never read as HTML.

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

/** A text in which backquotes enclose code. */
export function prose(text) {
  return String(text ?? "").split("`").map((piece, index) => (index % 2 ? element("code", {}, piece) : piece));
}

/** A sentence for people who hear the page, beside what they see. */
export function announce(text) {
  let place = document.getElementById("announced");
  if (!place) {
    place = element("p", { id: "announced", class: "unseen", role: "status" });
    document.body.append(place);
  }
  place.textContent = text;
}

/** Code with a button that copies it. */
export class Code extends HTMLElement {
  label = "Copy";

  /** @param {string} text @param {string} [label] */
  static of(text, label = "Copy") {
    const made = /** @type {Code} */ (document.createElement("portico-code"));
    made.label = label;
    made.text = text;
    return made;
  }

  set text(text) {
    this.shown = text;
    const button = element("button", { type: "button", class: "copy", onclick: () => this.copy(button) }, this.label);
    this.replaceChildren(element("pre", { tabindex: "0" }, element("code", {}, text)), button);
  }

  async copy(button) {
    try {
      await navigator.clipboard.writeText(this.shown);
      button.textContent = "Copied";
      announce("Copied");
    } catch {
      // Without TLS a page may not write to the clipboard: the text is selected for the keyboard's own command.
      getSelection()?.selectAllChildren(this.firstElementChild);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = this.label; }, 2000);
  }
}
customElements.define("portico-code", Code);
