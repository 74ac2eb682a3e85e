// The operators' console: who is signed in, and which of its views is shown.

import { element } from "./elements.js";
import { Failure, refreshSession, session, signIn, signOut } from "./gateway.js";
import { notice } from "./view.js";
import { Adapters } from "./adapters.js";
import { Audit } from "./audit.js";
import { Configuration } from "./configuration.js";
import { Devices } from "./devices.js";
import { Logs } from "./logs.js";
import { Overview } from "./overview.js";
import { People } from "./people.js";
import { Records } from "./records.js";
import { Systems } from "./systems.js";

/** In the order in which they stand. @type {Array<{name: string, title: string, element: any}>} */
const VIEWS = [
  { name: "", title: "Overview", element: Overview },
  { name: "records", title: "Records", element: Records },
  { name: "systems", title: "Other systems", element: Systems },
  { name: "people", title: "People", element: People },
  { name: "adapters", title: "Adapters", element: Adapters },
  { name: "logs", title: "Logs", element: Logs },
  { name: "audit", title: "Audit", element: Audit },
  { name: "devices", title: "Devices", element: Devices },
  { name: "configuration", title: "Configuration", element: Configuration },
];

/** The parts of the address behind `#/`, decoded, and what stands behind `?`. */
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const decode = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  return { parts: path.split("/").map(decode), query: new URLSearchParams(query ?? "") };
}

const main = /** @type {HTMLElement} */ (document.getElementById("content"));

/** @param {boolean} [isNavigation] whether a person came here from another view */
function show(isNavigation = false) {
  notice("");
  const isSignedIn = session.signedIn;
  document.body.classList.toggle("signed-out", !isSignedIn);
  /** @type {Operator} */ (document.querySelector("portico-operator")).show();
  /** @type {Contents} */ (document.querySelector("portico-views")).show();
  if (!isSignedIn) return main.replaceChildren(new SignIn());
  const { parts, query } = place();
  const view = VIEWS.find((one) => one.name === parts[0]);
  document.title = `${view?.title ?? "Console"} – Portico`;
  if (!view) {
    main.replaceChildren(element("h1", { tabindex: "-1" }, "There is no such view"),
      element("p", {}, element("a", { href: "#/" }, "To the overview")));
    return main.querySelector("h1")?.focus();
  }
  const made = new view.element();
  made.place = parts.slice(1).filter((part, index, all) => part !== "" || index < all.length - 1);
  made.query = query;
  made.takesFocus = isNavigation;
  main.replaceChildren(made);
}

/** The views by name, on a phone behind a button. */
class Contents extends HTMLElement {
  show() {
    const current = place().parts[0];
    const list = element("ul", {}, VIEWS.map((view) => element("li", {},
      element("a", { href: `#/${view.name}`, "aria-current": view.name === current ? "page" : null }, view.title))));
    const title = VIEWS.find((view) => view.name === current)?.title ?? "Views";
    const menu = element("button", {
      type: "button", class: "menu", "aria-expanded": "false", "aria-controls": "views",
      onclick: () => menu.setAttribute("aria-expanded", String(this.classList.toggle("open"))),
    }, title);
    this.classList.remove("open");
    this.hidden = !session.signedIn;
    this.replaceChildren(menu, element("nav", { id: "views", "aria-label": "Views" }, list));
  }
}
customElements.define("portico-views", Contents);

/** Who is signed in. */
class Operator extends HTMLElement {
  show() {
    if (!session.signedIn) return this.replaceChildren();
    this.replaceChildren(
      element("span", { class: "who" }, session.name, element("span", { class: "roles" }, session.role)),
      element("button", { type: "button", class: "quiet", onclick: () => this.leave() }, "Sign out"));
  }

  async leave() {
    try { await signOut(); } catch { session.signedIn = false; }
    show();
  }
}
customElements.define("portico-operator", Operator);

/** The sign-in. */
class SignIn extends HTMLElement {
  connectedCallback() {
    document.title = "Sign in – Portico";
    const problem = element("p", { class: "problem", role: "alert" });
    const input = (name, label, type) => element("p", { class: "field" }, element("label", { for: name }, label),
      element("input", {
        id: name, name, type, required: true, autocapitalize: "off", spellcheck: "false",
        autocomplete: name === "name" ? "username" : name === "password" ? "current-password" : "off",
      }));
    const form = (work, ...children) => element("form", { onsubmit: (event) => { event.preventDefault(); work(event.target); } }, ...children);
    const enter = async (credential) => {
      problem.textContent = "";
      try {
        await signIn(credential);
        show(true);
      } catch (error) {
        problem.textContent = error instanceof Failure && error.code === "auth.invalid"
          ? "This is not right, or not here: the name, the password, the token or the link." : String(error.message ?? error);
      }
    };
    const value = (target, name) => target.elements[name].value;
    this.replaceChildren(
      element("h1", { tabindex: "-1" }, "Sign in to the console"),
      session.hasEnded ? element("p", { class: "hint", role: "status" }, "Your session has ended. Sign in to go on where you were.") : "", problem,
      form((target) => enter({ name: value(target, "name"), password: value(target, "password") }),
        input("name", "Account", "text"), input("password", "Password", "password"),
        element("p", { class: "row" }, element("button", { class: "main" }, "Sign in"))),
      session.certificate ? element("p", { class: "row" }, element("button", { type: "button", onclick: () => enter({ certificate: true }) }, "Continue with the client certificate")) : "",
      element("details", {}, element("summary", {}, "With an admin token"),
        form((target) => enter({ token: value(target, "token").trim() }), input("token", "Admin token", "password"),
          element("p", { class: "row" }, element("button", {}, "Sign in with the token")))),
      element("p", { class: "hint" }, "Accounts whose roles stand in ", element("code", {}, "admin.roles"), " may sign in. ",
        element("code", {}, "porticoctl console link"), " prints a link that signs in once."));
    // A link of porticoctl; it leaves the address at once, and the history with it.
    const link = /^#link=([\w-]+)$/.exec(location.hash)?.[1];
    if (link) {
      history.replaceState(null, "", location.pathname);
      enter({ link });
    }
  }
}
customElements.define("portico-sign-in", SignIn);

addEventListener("hashchange", () => {
  show(true);
  scrollTo(0, 0);
});
addEventListener("portico-signed-out", () => show());
// Its own address would be another view's.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

async function begin() {
  try {
    await refreshSession();
    notice("");
    show();
  } catch (error) {
    main.replaceChildren(element("h1", {}, "The gateway does not answer"),
      element("p", {}, "This page tries again by itself."));
    setTimeout(begin, 3000);
  }
}
begin();

