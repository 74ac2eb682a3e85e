// Who is signed in, on every page: the name, a way in and a way out. The session is a cookie that no script can read.

import { announce, element } from "./elements.js";

/**
 * @typedef {{id: string, name: string, displayName?: string, roles: string[]}} User
 * @typedef {{user(): Promise<User | null>, signIn(name: string, password: string): Promise<User>, signOut(): Promise<void>}} Client
 */

/**
 * Tells `change` on itself; its detail is the user or null. `client` signs in and out. Attributes: `page`, the address of
 * the account's own page; `purpose`, why one signs in.
 */
export class Account extends HTMLElement {
  /** @type {User | null} */
  user = null;
  /** @type {Client | undefined} */
  client = undefined;

  /** @type {HTMLDialogElement | undefined} */
  dialog = undefined;
  /** Asked before one signs out; false: one stays. @returns {Promise<boolean>} */
  leaving = async () => true;

  /** @param {Client} client @returns {Promise<User | null>} */
  async load(client) {
    this.client = client;
    this.user = await client.user().catch(() => null);
    this.show();
    return this.user;
  }

  /**
   * Another credential than before: everything that depends on it is shown anew.
   * @param {User | null} user
   */
  change(user) {
    this.user = user;
    this.show();
    this.dispatchEvent(new CustomEvent("change", { detail: user }));
  }

  show() {
    if (this.user) {
      const roles = this.user.roles.length ? element("span", { class: "roles" }, this.user.roles.join(", ")) : null;
      const page = this.getAttribute("page");
      this.replaceChildren(
        element(page ? "a" : "span", { class: "who", href: page }, this.user.displayName ?? this.user.name, roles),
        element("button", { type: "button", class: "quiet", onclick: () => this.signOut() }, "Sign out"));
    } else {
      this.replaceChildren(element("button", { type: "button", class: "main", onclick: () => this.open() }, "Sign in"));
    }
  }

  open() {
    const dialog = this.dialog ??= this.form();
    this.append(dialog);
    dialog.showModal();
  }

  /** @returns {HTMLDialogElement} */
  form() {
    const name = element("input", { id: "username", autocomplete: "username", required: true, maxlength: 256, autocapitalize: "none" });
    const password = element("input", { id: "password", type: "password", autocomplete: "current-password", required: true, maxlength: 1024 });
    const problem = element("p", { class: "problem", role: "alert" });
    const submit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      problem.textContent = "";
      try {
        const user = await /** @type {Client} */ (this.client).signIn(name.value, password.value);
        password.value = "";
        dialog.close();
        announce(`Signed in as ${user.name}`);
        this.change(user);
      } catch (error) {
        problem.textContent = /** @type {Error} */ (error).message;
        password.select();
      }
    };
    const purpose = this.getAttribute("purpose");
    const back = encodeURIComponent(location.pathname);
    const dialog = element("dialog", { "aria-labelledby": "sign-in-title" },
      element("form", { onsubmit: submit },
        element("h2", { id: "sign-in-title" }, "Sign in"),
        purpose ? element("p", {}, purpose) : null,
        element("label", { for: "username" }, "Name"), name,
        element("label", { for: "password" }, "Password"), password, problem,
        element("p", { class: "row" },
          element("button", { class: "main" }, "Sign in"),
          element("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel"),
          element("a", { href: `/auth/login?next=${back}` }, "Other ways to sign in"))));
    return dialog;
  }

  async signOut() {
    if (!(await this.leaving())) return;
    await this.client?.signOut().catch(() => {});
    announce("Signed out");
    this.change(null);
  }
}
customElements.define("portico-account", Account);
