// Rows of values: a table where there is room, a list of cards on a phone. Columns sort by their headings.

import { element } from "./elements.js";

/**
 * @typedef {{name: string, title?: string, show?: (row: any) => any, sort?: (row: any) => any, number?: boolean, wide?: boolean}} Column
 */

/** @param {Column} column */
const titleOf = (column) => column.title ?? column.name.slice(0, 1).toUpperCase() + column.name.slice(1);

export class Table extends HTMLElement {
  /** @type {Column[]} */ columns = [];
  /** @type {any[]} */ rows = [];
  empty = "There are none.";
  caption = "";
  /** The column that rows are sorted by, and whether from its end. @type {{name: string, isDescending: boolean} | null} */
  order = null;
  /** Where the server sorts. @type {((name: string) => void) | null} */
  onorder = null;

  /** @param {{columns: Column[], rows: any[], empty?: string, caption: string, order?: any, onorder?: any}} what */
  static of(what) {
    const made = /** @type {Table} */ (document.createElement("portico-table"));
    Object.assign(made, what);
    return made;
  }

  connectedCallback() { this.show(); }

  show() {
    if (!this.rows.length) return this.replaceChildren(element("p", { class: "nothing" }, this.empty));
    // What a person may do with a row has no heading; where nothing may be done, no column.
    const columns = this.columns.filter((column) => titleOf(column) || this.rows.some((row) => column.show?.(row)));
    const heads = columns.map((column) => {
      const title = titleOf(column);
      const isSortable = this.onorder ? column.sort !== undefined : column.sort !== null;
      const direction = this.order?.name === column.name ? (this.order.isDescending ? "descending" : "ascending") : null;
      const head = isSortable && title
        ? element("button", { type: "button", class: "sort", onclick: () => this.sort(column.name) }, title)
        : title;
      return element("th", { scope: "col", "data-name": column.name, class: column.number ? "number" : null, "aria-sort": direction }, head);
    });
    const rows = this.sorted().map((row) =>
      element("tr", {}, columns.map((column) => element("td", {
        "data-label": titleOf(column), class: [column.number ? "number" : "", column.wide ? "wide" : ""].join(" ").trim() || null,
      }, this.cell(column, row)))));
    this.replaceChildren(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": this.caption },
      element("table", {}, element("caption", { class: "unseen" }, this.caption),
        element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows))));
  }

  cell(column, row) {
    const value = column.show ? column.show(row) : row[column.name];
    if (value === null || value === undefined || value === "" || Array.isArray(value) && !value.length) return titleOf(column) ? "–" : "";
    // On a phone a cell is a grid: several elements are one of its items.
    return Array.isArray(value) ? element("span", {}, value) : value;
  }

  sort(name) {
    if (this.onorder) return this.onorder(name);
    this.order = { name, isDescending: this.order?.name === name && !this.order.isDescending };
    this.show();
    /** @type {HTMLElement | null} */ (this.querySelector(`th[data-name="${CSS.escape(name)}"] button`))?.focus();
  }

  sorted() {
    const column = !this.onorder && this.order && this.columns.find((one) => one.name === this.order?.name);
    if (!column) return this.rows;
    const key = column.sort ?? ((row) => row[column.name]);
    const turn = this.order?.isDescending ? -1 : 1;
    return [...this.rows].sort((left, right) => {
      const [one, other] = [key(left), key(right)];
      if (one === other) return 0;
      if (one === null || one === undefined) return 1;
      if (other === null || other === undefined) return -1;
      return (typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true })) * turn;
    });
  }
}
customElements.define("portico-table", Table);
