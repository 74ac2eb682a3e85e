// The explorer: /openapi.json for people, to try with one's own sign-in.

import explanations from "/docs/error-codes.js";
import { connect } from "/client/portico.js";
import "/pages/account.js";
import "./operation.js";
import { badge, label, link } from "./contents.js";
import { Code, element, prose } from "/pages/elements.js";
import { Description, mayCall } from "./description.js";
import { formats } from "./formats.js";
import { members, table } from "./operation.js";

const content = /** @type {HTMLElement} */ (document.getElementById("content"));
const account = /** @type {import("/pages/account.js").Account} */ (document.querySelector("portico-account"));
const contents = /** @type {import("./contents.js").Contents} */ (document.querySelector("portico-contents"));
/** @type {Description} */
let description;

async function begin() {
  const [response] = await Promise.all([fetch("/openapi.json"), account.load(connect())]).catch(() => []);
  if (!response?.ok) return problem();
  description = new Description(await response.json());
  contents.description = description;
  account.addEventListener("change", () => show(false));
  addEventListener("hashchange", () => show(true));
  // It leads to a place of this page and not to another one.
  document.querySelector(".skip")?.addEventListener("click", (event) => { event.preventDefault(); content.focus(); });
  show(false);
}

function problem() {
  content.replaceChildren(element("h1", {}, "The gateway cannot be reached"), element("p", {}, "Its description did not arrive."), element("button", { class: "main", onclick: () => location.reload() }, "Try again"));
}

function show(hasMoved) {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
  const pieces = page(parts);
  content.replaceChildren(...[pieces].flat().filter(Boolean));
  const title = content.querySelector("h1");
  document.title = title ? `${title.textContent} · Explorer` : "Explorer";
  contents.mark(location.hash || "#/", around(parts));
  if (!hasMoved) return;
  scrollTo(0, 0);
  title?.setAttribute("tabindex", "-1");
  title?.focus();
}

/** The page of the entity that an operation belongs to, else of its service. */
function around(parts) {
  const operation = parts[0] === "operations" ? description.operations.get(parts[1]) : undefined;
  const service = description.service(operation?.service ?? "");
  const entity = service?.entities.find((one) => one.name === operation?.entity);
  return entity ? link.entity(entity) : service ? link.service(service) : undefined;
}

function page(parts) {
  if (!parts.length) return overview();
  if (parts[0] === "errors" && parts.length === 1) return errors();
  if (parts[0] === "clients" && parts.length === 1 && !description.service("clients")) return clients();
  if (parts[0] === "operations") {
    const operation = description.operations.get(parts[1]);
    if (!operation) return unknown();
    const view = /** @type {import("./operation.js").OperationView} */ (document.createElement("portico-operation"));
    view.show(description, operation, account.user);
    return view;
  }
  const service = description.service(parts[0]);
  if (!service) return unknown();
  if (parts[1] !== "entities") return servicePage(service);
  const entity = service.entities.find((one) => one.name === parts[2]);
  return entity ? entityPage(entity) : unknown();
}

function unknown() {
  return [element("h1", {}, "There is no such page"), element("p", {}, "What it showed may not be served any more. ", element("a", { href: "#/" }, "Overview"))];
}

const count = (number, one, many) => (number ? `${number} ${number === 1 ? one : many}` : null);

function overview() {
  const { server } = description;
  const adapters = description.services.filter((one) => one.isAdapter);
  const streams = description.services.flatMap((one) => one.streams);
  const mounts = description.services.flatMap((one) => one.mounts);
  const soap = description.services.flatMap((one) => one.soap);
  const first = firstCall(adapters);
  return [
    element("h1", {}, "What is served here"),
    element("p", { class: "lead" }, description.info.summary ?? ""),
    first ? element("section", {}, element("h2", {}, "A first call"), element("p", {}, first.text), Code.of(first.code)) : null,
    element("section", {}, element("h2", {}, "Adapters"),
      adapters.length ? element("ul", { class: "cards" }, adapters.map(card)) : element("p", { class: "nothing" }, "No adapter is served. An operator names them in the configuration, at ", element("code", {}, "adapters"), ".")),
    mounts.length || soap.length ? element("section", {}, element("h2", {}, "OData and SOAP"), services(mounts, soap)) : null,
    element("section", {}, element("h2", {}, "Live streams"), streams.length ? streamTable(streams) : element("p", { class: "nothing" }, "None.")),
    element("section", {}, element("h2", {}, "Copies for devices"),
      element("p", {}, "A device holds the records that its account may read and works without a network. It asks ", element("code", {}, `${server}/sync/v1/pull`), " for what it lacks and sends its changes to ", element("code", {}, `${server}/sync/v1/push`), "; ", element("code", {}, `${server}/sync/v1/live`), " tells it at once. Every entity is a collection of that protocol. The ", element("a", { href: "#/clients" }, "Swift package"), " and the ", element("a", { href: "#/clients" }, "JavaScript client"), " do all of it.")),
    element("section", {}, element("h2", {}, "Formats"),
      element("p", {}, "Each resource is read and written in each of them, by ", element("code", {}, "Accept"), " and ", element("code", {}, "Content-Type"), "."),
      table(["Format", "Type"], formats.map((one) => element("tr", {}, element("th", { scope: "row" }, one.title), element("td", {}, element("code", {}, one.type)))))),
    element("section", {}, element("h2", {}, "For programs"),
      element("ul", {}, element("li", {}, element("a", { href: "/openapi.json" }, "The description in OpenAPI 3.1"), ", which generators of clients take, and ", element("a", { href: "/openapi.json?formats=all" }, "the same with every format"), "."), element("li", {}, element("a", { href: "#/errors" }, "What the codes of failures mean"), "."))),
  ];
}

/** Something that works as it stands: what is public, otherwise after a sign-in. */
function firstCall(adapters) {
  const lists = adapters.flatMap((one) => one.operations).filter((one) => one.kind === "list");
  const open = lists.find((one) => mayCall(one, null));
  if (open) return { text: "It works without a sign-in.", code: `curl '${description.server}${open.path}?limit=3'` };
  const [own] = lists.filter((one) => mayCall(one, account.user ?? { roles: [] }));
  if (!own) return null;
  const name = account.user?.name ?? "NAME";
  return { text: "curl asks for the password.", code: `curl -u ${name} '${description.server}${own.path}?limit=3'` };
}

function card(service) {
  const facts = [count(service.entities.length, "entity", "entities"), count(service.calls.length, "operation", "operations"), count(service.streams.length, "live stream", "live streams"), count(service.mounts.length, "service of OData", "services of OData"), count(service.soap.length, "address of SOAP", "addresses of SOAP")].filter(Boolean);
  return element("li", {}, element("a", { href: link.service(service) }, service.title), element("p", {}, prose(service.summary)), element("p", { class: "hint" }, facts.join(", ")));
}

function servicePage(service) {
  return [
    element("h1", {}, service.title), element("p", { class: "lead" }, prose(service.summary)),
    service.entities.length ? element("section", {}, element("h2", {}, "Records"), table(["Entity", "What it is", "Who may read and write"], service.entities.map(entityRow))) : null,
    service.calls.length ? element("section", {}, element("h2", {}, "Operations"), operationTable(service.calls)) : null,
    service.streams.length ? element("section", {}, element("h2", {}, "Live streams"), streamTable(service.streams)) : null,
    service.mounts.length || service.soap.length ? element("section", {}, element("h2", {}, "OData and SOAP"), services(service.mounts, service.soap)) : null,
    service.isAdapter ? element("section", {}, element("h2", {}, "A typed client"), Code.of(`porticoctl client generate --service ${service.name} --language swift --url ${description.server}`)) : null,
  ];
}

const entityRow = (entity) => element("tr", {},
  element("th", { scope: "row" }, element("a", { href: link.entity(entity) }, entity.name)), element("td", {}, prose(entity.summary)),
  element("td", {}, element("span", { class: "right" }, "Read: ", prose(entity.read)), element("span", { class: "right" }, "Write: ", prose(entity.write))));

function entityPage(entity) {
  const { service } = entity;
  const fields = Object.entries(entity.schema.properties ?? {});
  const made = entity.make?.properties ?? {};
  const needed = new Set(entity.make?.required ?? []);
  const rows = fields.map(([name, schema]) => element("tr", {},
    element("th", { scope: "row" }, element("code", {}, name), name === entity.key ? element("span", { class: "needed" }, "key") : null),
    element("td", {}, prose(description.type(schema)), description.mayBeNull(schema) ? element("span", { class: "null" }, "or null") : null),
    element("td", {}, whoGives(name, entity, made, needed)),
    element("td", {}, prose(schema.description))));
  return [
    element("p", { class: "trail" }, element("a", { href: link.service(service) }, service.title)),
    element("h1", {}, entity.name), element("p", { class: "lead" }, prose(entity.summary)),
    element("p", { class: "address" }, element("code", {}, `/api/v1/${service.name}/${entity.name}`)),
    element("dl", { class: "facts" },
      element("dt", {}, "Who may read"), element("dd", {}, prose(entity.read)),
      element("dt", {}, "Who may write"), element("dd", {}, prose(entity.write)),
      element("dt", {}, "On devices"), element("dd", {}, "the collection ", element("code", {}, entity.collection))),
    element("section", {}, element("h2", {}, "Operations"), operationTable(entity.operations)),
    element("section", {}, element("h2", {}, "Fields"), fields.length ? table(["Name", "Value", "Given by", "Meaning"], rows) : members(description, entity.schema)),
    element("section", {}, element("h2", {}, "Filter, order and search"),
      element("p", {}, "Lists take ", element("code", {}, "filter"), ", ", element("code", {}, "order"), ", ", element("code", {}, "search"), ", ", element("code", {}, "select"), ", ", element("code", {}, "limit"), " and ", element("code", {}, "count"), "."),
      entity.filters?.length ? [
        element("p", {}, "A filter compares fields with values (", prose(comparisons), "), calls functions of them (", prose(functions), ") and joins such terms by ", prose("`and`, `or`, `not` and `( )`"), ". Texts and dates stand in single quotes, numbers, ", prose("`true`, `false` and `null`"), " without. ", element("code", {}, "docs/resources.md"), " has the whole language. Filters of these records:"),
        element("ul", { class: "plain" }, entity.filters.map((one) => element("li", {}, element("code", {}, one)))),
      ] : null,
      Code.of(`curl -G${mayCall(entity.operations[0] ?? { security: [] }, null) ? "" : ` -u ${account.user?.name ?? "NAME"}`} '${description.server}/api/v1/${service.name}/${entity.name}' \\\n  ${entity.filters?.length ? `--data-urlencode "filter=${entity.filters[0]}" ` : ""}-d limit=3 -d count=true`)),
  ];
}

const comparisons = "`eq`, `ne`, `lt`, `le`, `gt`, `ge`, `in`";
const functions = "`startsWith`, `endsWith`, `contains`, `has`, `search`";

function whoGives(name, entity, made, needed) {
  const source = entity.sources?.[name];
  if (source) return source;
  if (!(name in made)) return "the server";
  return needed.has(name) ? ["the caller, ", element("span", { class: "needed" }, "needed")] : "the caller";
}

function operationTable(operations) {
  return table(["Operation", "Address", "What it does"], operations.map((one) => element("tr", {},
    element("th", { scope: "row" }, element("a", { href: link.operation(one) }, label(one)), mayCall(one, account.user) ? null : element("span", { class: account.user ? "may-not" : "sign-in" }, account.user ? "not with your roles" : "sign-in")),
    element("td", { class: "place" }, badge(one.method), " ", element("code", {}, one.path)), element("td", {}, prose(one.summary)))));
}

function streamTable(streams) {
  return table(["Stream", "Address", "What it tells"], streams.map((one) => element("tr", {},
    element("th", { scope: "row" }, element("a", { href: link.operation(one) }, one.name)), element("td", { class: "place" }, element("code", {}, `${description.server}${one.path}`)), element("td", {}, prose(one.summary)))));
}

function services(mounts, soap) {
  const rows = [
    ...mounts.map((one) => element("tr", {}, element("th", { scope: "row" }, one.protocol), element("td", { class: "place" }, element("a", { href: link.operation(one.operation) }, element("code", {}, `${description.server}${one.path}/`))), element("td", {}, element("a", { href: `${one.path}/$metadata` }, "its model")))),
    ...soap.map((one) => element("tr", {}, element("th", { scope: "row" }, "SOAP 1.1 and 1.2"), element("td", { class: "place" }, element("a", { href: link.operation(one) }, element("code", {}, `${description.server}${one.path}`))), element("td", {}, element("a", { href: `${one.path}?wsdl` }, "its WSDL")))),
  ];
  return table(["Protocol", "Address", "Description"], rows);
}

function clients() {
  const { server } = description;
  return [
    element("h1", {}, "Clients"),
    element("p", { class: "lead" }, "Both sign in, call everything that is described here, and keep a copy of records that works without a network."),
    element("section", {}, element("h2", {}, "JavaScript"),
      element("p", {}, "Modules of this gateway, without a build. ", element("a", { href: "/client/" }, "Notes"), " is a page made with them; ", element("code", {}, "docs/javascript.md"), " describes all of it."),
      Code.of(`import { connect } from "${server}/client/portico.js";\n\nconst portico = connect();\nawait portico.signIn(name, password);\nawait portico.request("GET", "/auth/me");`)),
    element("section", {}, element("h2", {}, "Swift"),
      element("p", {}, "The package ", element("code", {}, "Client"), ", for apps of Apple's systems and Linux; ", element("code", {}, "docs/client.md"), " describes it."),
      Code.of(`import Client\n\nlet portico = try await Portico.open(ServerAddress(${JSON.stringify(server)})!, in: folder)\ntry await portico.signIn(name: name, password: password)`)),
    element("section", {}, element("h2", {}, "Types and methods of an adapter"), element("p", {}, "For both, as text of the language; each adapter's page has the command."), Code.of(`porticoctl client generate --service NAME --language swift --url ${server}`)),
  ];
}

function errors() {
  const rows = Object.entries(explanations).map(([code, one]) => element("tr", { id: code }, element("th", { scope: "row" }, element("a", { href: `/errors/${code}` }, element("code", {}, code))), element("td", {}, String(one.status)), element("td", {}, prose(one.meaning)), element("td", {}, prose(one.caller))));
  return [
    element("h1", {}, "What failures say"),
    element("p", { class: "lead" }, "A failure has a code that never changes its meaning, a message for people, and the id of the request, by which an operator finds it in the log."),
    Code.of(JSON.stringify({ error: { code: "request.invalid", message: "The title is missing.", target: "title", requestId: "8f2c…" } }, null, 2)),
    element("section", {}, element("h2", {}, "Codes"), table(["Code", "Status", "Meaning", "What you can do"], rows)),
  ];
}

begin();
