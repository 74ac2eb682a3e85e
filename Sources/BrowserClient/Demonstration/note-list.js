// The list of notes: title, the beginning of the text, and what of it was not sent yet.

import { element } from "/pages/elements.js";

/** Tells `open` with the id of the note that is chosen. */
export class NoteList extends HTMLElement {
  /** @type {{name: string} | null} */
  user = null;

  /** Newest first. @param {any[]} records @param {string | null} current the note that is open @param {boolean} isLive whether they are all */
  show(records, current, isLive) {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.note;
    const newest = [...records].sort((one, other) => changed(other).localeCompare(changed(one)));
    this.replaceChildren(newest.length
      ? element("ul", {}, newest.map((record) => this.item(record, record.id === current)))
      : element("p", { class: "nothing" }, isLive ? "No note yet. Write the title of the first one above." : "None is here yet. Yours come with the network."));
    if (focused) /** @type {HTMLElement | null} */ (this.querySelector(`[data-note="${CSS.escape(focused)}"]`))?.focus();
  }

  item({ id, fields, isPending }, isOpen) {
    const from = fields.owner && fields.owner !== this.user?.name ? `from ${fields.owner}` : "";
    const about = [isPending ? "not sent yet" : "", from, (fields.text ?? "").slice(0, 80).replace(/\s+/g, " ")].filter(Boolean).join(" · ");
    const open = () => this.dispatchEvent(new CustomEvent("open", { detail: id }));
    return element("li", { "data-pending": isPending },
      element("button", { type: "button", "data-note": id, "aria-current": isOpen ? "true" : null, onclick: open },
        element("strong", {}, fields.title || "Without a title"), about ? element("small", {}, about) : null));
  }
}

/** What was made here and never sent is newer than all that was. */
const changed = ({ fields, isPending }) => (isPending || !fields.modified ? "9999" : String(fields.modified));

customElements.define("portico-notes", NoteList);
