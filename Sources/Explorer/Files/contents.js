// The table of contents: what there is, by adapter, with a search over names, paths, summaries, parameters and fields.

import { element } from "/pages/elements.js";

/** What the pages beside those of the adapters say, for the search. */
const pages = [
  ["#/", "Overview", "What is served here A first call Adapters OData and SOAP Live streams Copies for devices sync pull push Formats JSON XML property list CBOR For programs OpenAPI"],
  ["#/clients", "Clients", "Swift package JavaScript client replica offline typed client generate"],
  ["#/errors", "Errors", "What failures say Codes"],
];

const verbs = { list: "list", create: "create", read: "read", update: "change", replace: "replace", delete: "delete" };

/** An operation's name for people: `list`, `share`, `POST /auth/login`. */
export const label = (operation) => verbs[operation.kind] ?? operation.title;

const name = (operation) => (operation.entity ? `${operation.entity} ${label(operation)}` : label(operation));

const fieldWords = (schema) => Object.entries(schema?.properties ?? {}).flatMap(([field, { description }]) => [field, description ?? ""]);

export const link = {
  service: (service) => `#/${encodeURIComponent(service.name)}`,
  entity: (entity) => `#/${encodeURIComponent(entity.service.name)}/entities/${encodeURIComponent(entity.name)}`,
  operation: (operation) => `#/operations/${encodeURIComponent(operation.id)}`,
};

export const badge = (method) => element("span", { class: `method ${method.toLowerCase()}` }, method);

export class Contents extends HTMLElement {
  /** @param {import("./description.js").Description} description */
  set description(description) {
    this.shown = description;
    const search = element("input", {
      type: "search", id: "search", placeholder: "Name, path or words", "aria-label": "Search", autocapitalize: "none", oninput: () => this.find(search.value),
    });
    this.list = element("div", {});
    const wide = matchMedia("(min-width: 56rem)");
    // On a wide screen the list stands beside the page, on a narrow one above it.
    wide.addEventListener("change", () => { this.folder.open = wide.matches; });
    this.folder = element("details", { open: wide.matches }, element("summary", {}, "Contents"), element("nav", { "aria-label": "Contents" }, search, this.list));
    this.replaceChildren(this.folder);
    this.find("");
  }

  /** Marks where one is, and closes the list where it covers the page. `around`: what has the place where it is not listed. */
  mark(address, around = this.around) {
    this.around = around;
    const links = [...this.querySelectorAll("a")];
    const here = [address, around].find((place) => links.some((one) => one.getAttribute("href") === place));
    for (const one of links) {
      const isHere = one.getAttribute("href") === here;
      if (isHere) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
      if (isHere) for (let above = one.closest("details.service"); above; above = null) above.setAttribute("open", "");
    }
    if (!matchMedia("(min-width: 56rem)").matches) this.folder?.removeAttribute("open");
  }

  find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (...texts) => words.every((word) => texts.join(" ").toLowerCase().includes(word));
    const services = this.shown.services.map((service) => this.service(service, words.length > 0, has)).filter(Boolean);
    const groups = [["Adapters", true], ["The gateway", false]].map(([title, isAdapter]) => {
      const inside = services.filter((one) => one.isAdapter === isAdapter).map((one) => one.shown);
      return inside.length ? [element("h2", {}, title), ...inside] : [];
    });
    const found = pages.filter(([, title, words]) => has(title, words));
    const nothing = services.length || found.length ? null : element("p", { class: "nothing" }, "Nothing is called so.");
    this.list.replaceChildren(element("ul", {}, found.map(([address, title]) => element("li", {}, element("a", { href: address }, title)))), ...groups.flat(), ...(nothing ? [nothing] : []));
    this.mark(location.hash || "#/");
  }

  service(service, isSearch, has) {
    const isWhole = has(service.name, service.title);
    const entities = service.entities.filter((one) => isWhole || has(one.name, one.summary ?? "", service.title, ...fieldWords(one.schema)));
    const fits = (one) => isWhole || has(one.name, one.path, one.summary, one.method, ...one.parameters.flatMap((each) => [each.name, each.description ?? ""]));
    const calls = [...service.calls, ...service.streams].filter(fits);
    const inEntities = isSearch && !isWhole ? service.operations.filter((one) => one.entity && fits(one) && !entities.some((known) => known.name === one.entity)) : [];
    const others = [...service.mounts.map((one) => one.operation), ...service.soap].filter(fits);
    if (!isWhole && !entities.length && !calls.length && !inEntities.length && !others.length) return null;
    // Two that are called alike have their paths beside them.
    const names = [...calls, ...inEntities, ...others].map((one) => `${one.method} ${name(one)}`);
    const path = (one) => (names.filter((other) => other === `${one.method} ${name(one)}`).length > 1 ? element("span", { class: "kind" }, one.path) : null);
    const items = [
      element("li", {}, element("a", { href: link.service(service) }, "About")),
      ...entities.map((one) => element("li", {}, element("a", { href: link.entity(one) }, one.name, element("span", { class: "kind" }, "records")))),
      ...[...calls, ...inEntities, ...others].map((one) => element("li", {}, element("a", { href: link.operation(one) }, badge(one.method), " ", name(one), path(one)))),
    ];
    const isOpen = isSearch || location.hash.startsWith(link.service(service));
    const shown = element("details", { class: "service", open: isOpen }, element("summary", {}, service.title), element("ul", {}, items));
    return { isAdapter: service.isAdapter, shown };
  }
}
customElements.define("portico-contents", Contents);
