// One note to read and write. What is typed is kept in the outbox a moment later, with and without a network.

import { attempt, element, time } from "/pages/elements.js";

/** Milliseconds without a key after which what was typed is kept. */
const pause = 800;

/** Tells `close`, and `remove` with the note's record. */
export class NoteEditor extends HTMLElement {
  /** The note that is open. @type {string | null} */
  id = null;
  /** @type {any} */
  replica = undefined;
  /** @type {{id: string, name: string} | null} */
  user = null;
  /** As it was shown last: what differs from it was typed here. */
  known = { title: "", text: "" };

  begin(replica, user) {
    [this.replica, this.user] = [replica, user];
  }

  /** @param {string} id @param {any[]} records */
  open(id, records) {
    this.id = id;
    this.record = records.find((record) => record.id === id) ?? { id, fields: { title: "", text: "", owner: this.user?.name } };
    const { fields } = this.record;
    this.isOwn = !fields.owner || fields.owner === this.user?.name;
    this.known = { title: fields.title ?? "", text: fields.text ?? "" };
    this.title_ = element("input", { id: "note-title", value: this.known.title, maxlength: 200, required: true, readonly: !this.isOwn, autocomplete: "off" });
    this.text_ = element("textarea", { id: "note-text", value: this.known.text, maxlength: 100_000, readonly: !this.isOwn });
    this.about = element("span", { class: "note" });
    const tell = (name) => () => this.dispatchEvent(new CustomEvent(name, { detail: this.record }));
    this.replaceChildren(element("form", { onsubmit: attempt(() => this.save()), oninput: () => this.typed(), onfocusout: attempt(() => this.save()) },
      element("label", { for: "note-title" }, "Title"), this.title_,
      element("label", { for: "note-text" }, "Text"), this.text_,
      element("p", { class: "problem", role: "alert" }),
      element("p", { class: "row" },
        element("button", { type: "button", class: "back", onclick: tell("close") }, "All notes"), this.about,
        this.isOwn ? element("button", { type: "button", onclick: tell("remove") }, "Delete") : null)));
    this.describe();
    this.hidden = false;
    // On a narrow screen it takes the list's place, and a keyboard there would cover it.
    const back = /** @type {HTMLElement} */ (this.querySelector(".back"));
    (back.offsetParent ? back : this.text_).focus();
  }

  leave() {
    clearTimeout(this.timer);
    this.id = null;
    this.hidden = true;
    this.replaceChildren();
  }

  /** What came from elsewhere, in the fields that nobody types into. @param {any[]} records */
  refresh(records) {
    const record = records.find((one) => one.id === this.id);
    if (this.id === null || !record) return;
    this.record = record;
    for (const [name, field] of [["title", this.title_], ["text", this.text_]]) {
      const value = record.fields[name] ?? "";
      if (field.value === this.known[name] && field.value !== value) field.value = value;
      if (field.value === value) this.known[name] = value;
    }
    this.describe();
  }

  describe() {
    const { fields, isPending } = this.record;
    const shared = fields.sharedWith?.length ? ` · shared with ${fields.sharedWith.join(", ")}` : "";
    this.about.replaceChildren(
      ...[isPending ? "Not sent yet" : fields.modified ? ["Changed ", time(fields.modified)] : "", this.isOwn ? shared : ` · from ${fields.owner}`].flat());
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save().catch(() => {}), pause);
  }

  /** Throws where the note lacks a title. */
  async save() {
    clearTimeout(this.timer);
    if (this.id === null || !this.isOwn) return;
    const typed = { title: this.title_.value, text: this.text_.value };
    const fields = Object.fromEntries(Object.entries(typed).filter(([name, value]) => value !== this.known[name]));
    if (!Object.keys(fields).length) return;
    if (typed.title === "") throw new Error("A note needs a title.");
    Object.assign(this.known, fields);
    await this.replica.update("notes", this.id, fields);
  }
}
customElements.define("portico-note", NoteEditor);
