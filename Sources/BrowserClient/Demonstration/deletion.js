// A note that is deleted can be had back for a moment: until then it is out of sight and nothing has happened to it. A page
// that is closed meanwhile has the deletion made when it opens again.

import { element } from "/pages/elements.js";

/** Milliseconds for which a deletion can be undone. */
const period = 10_000;
const kept = "portico.notes.deleted";

export class Deletion {
  /** The note that is out of sight. @type {string | undefined} */
  id = undefined;

  /** @param {any} replica @param {HTMLElement} bar @param {() => void} onChange */
  constructor(replica, bar, onChange) {
    this.replica = replica;
    this.bar = bar;
    this.onChange = onChange;
    // It does not go away under the hands.
    for (const type of ["mouseenter", "focusin"]) bar.addEventListener(type, () => clearTimeout(this.timer));
    for (const type of ["mouseleave", "focusout"]) bar.addEventListener(type, () => this.wait());
  }

  /** Makes the deletion that an earlier page had begun. */
  async resume() {
    const id = localStorage.getItem(kept);
    if (id && (await this.replica.record("notes", id))) await this.replica.delete("notes", id);
    localStorage.removeItem(kept);
  }

  /** @param {{id: string, fields: {title?: string}}} record */
  async begin({ id, fields }) {
    await this.finish();
    this.id = id;
    localStorage.setItem(kept, id);
    const undo = element("button", { type: "button", onclick: () => this.undo() }, "Undo");
    this.bar.replaceChildren(element("span", {}, `Deleted “${fields.title ?? ""}”`), undo);
    this.bar.hidden = false;
    this.wait();
    this.onChange();
  }

  wait() {
    clearTimeout(this.timer);
    if (this.id) this.timer = setTimeout(() => this.finish(), period);
  }

  undo() {
    this.forget();
    this.onChange();
  }

  /** Makes it now, for good. */
  async finish() {
    const { id } = this;
    if (!id) return;
    await this.replica.delete("notes", id);
    this.forget();
  }

  forget() {
    clearTimeout(this.timer);
    this.id = undefined;
    localStorage.removeItem(kept);
    this.bar.hidden = true;
  }
}
