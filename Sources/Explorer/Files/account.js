// Who is signed in: everything is tried with the caller's own sign-in, the session cookie, which no script can read.

import { connect } from "/client/portico.js";
import { announce, element } from "./elements.js";

const portico = connect();

/** Tells `change` on itself; its detail is the user or null. */
export class Account extends HTMLElement {
  constructor() {
    super();
    /** @type {{id: string, name: string, displayName?: string, roles: string[]} | null} */
    this.user = null;
  }

  async load() {
    this.user = await portico.user().catch(() => null);
    this.show();
  }

  /** Another credential than before: everything that depends on it is shown anew. */
  change(user) {
    this.user = user;
    this.show();
    this.dispatchEvent(new CustomEvent("change", { detail: user }));
  }

  show() {
    if (this.user) {
      this.replaceChildren(
        element("span", { class: "who" }, this.user.displayName ?? this.user.name, this.user.roles.length ? element("span", { class: "roles" }, this.user.roles.join(", ")) : null),
        element("button", { type: "button", class: "quiet", onclick: () => this.signOut() }, "Sign out"));
    } else {
      this.replaceChildren(element("button", { type: "button", class: "main", onclick: () => this.open() }, "Sign in"));
    }
  }

  open() {
    if (!this.dialog) this.dialog = this.form();
    this.append(this.dialog);
    this.dialog.showModal();
  }

  form() {
    const name = element("input", { id: "username", autocomplete: "username", required: true, maxlength: 256, autocapitalize: "none" });
    const password = element("input", { id: "password", type: "password", autocomplete: "current-password", required: true, maxlength: 1024 });
    const problem = element("p", { class: "problem", role: "alert" });
    const submit = async (event) => {
      event.preventDefault();
      problem.textContent = "";
      try {
        const user = await portico.signIn(name.value, password.value);
        password.value = "";
        dialog.close();
        announce(`Signed in as ${user.name}`);
        this.change(user);
      } catch (error) {
        problem.textContent = error.message;
        password.select();
      }
    };
    const dialog = element("dialog", { "aria-labelledby": "sign-in-title" },
      element("form", { onsubmit: submit },
        element("h2", { id: "sign-in-title" }, "Sign in"),
        element("p", {}, "Requests that you try here are sent as you."),
        element("label", { for: "username" }, "Name"), name,
        element("label", { for: "password" }, "Password"), password, problem,
        element("p", { class: "row" },
          element("button", { class: "main" }, "Sign in"),
          element("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel"),
          element("a", { href: "/auth/login?next=/docs/" }, "Other ways to sign in"))));
    return dialog;
  }

  async signOut() {
    await portico.signOut().catch(() => {});
    announce("Signed out");
    this.change(null);
  }
}
customElements.define("portico-account", Account);
