// One operation: what it takes and answers, and a place to try it with one's own sign-in.

import explanations from "/docs/error-codes.js";
import { announce, Code, element, prose } from "/pages/elements.js";
import { badge, label, link } from "./contents.js";
import { formatNamed, formats, shown } from "./formats.js";
import { mayCall, whoMayCall } from "./description.js";
import { address, curl, curlToken, swift } from "./snippets.js";

/** What a failure's code means and what one can do. */
export function explanation(code) {
  const known = explanations[code];
  if (!known) return null;
  return element("div", { class: "explanation" }, element("p", {}, element("strong", {}, code), ` (${known.status}) `, prose(known.meaning)), element("p", {}, "What you can do: ", prose(known.caller), " ", element("a", { href: `/errors/${encodeURIComponent(code)}` }, "More about it")));
}

/** A path of several segments, in which the signs of OData stay as they are. */
const below = (text) => text.replace(/^\/+/, "").split("/").map(encodeURIComponent).join("/").replaceAll("%24", "$").replaceAll("%28", "(").replaceAll("%29", ")").replaceAll("%27", "'").replaceAll("%3D", "=").replaceAll("%2C", ",");

export class OperationView extends HTMLElement {
  /** @param {import("./description.js").Description} description @param {import("./description.js").Operation} operation */
  show(description, operation, user) {
    this.description = description;
    this.operation = operation;
    this.user = user;
    this.format = formats[0];
    this.fields = new Map();
    const service = description.service(operation.service);
    const entity = service.entities.find((one) => one.name === operation.entity);
    const may = mayCall(operation, user);
    const title = entity ? `${entity.name}: ${label(operation)}` : label(operation);
    this.replaceChildren(...[
      element("p", { class: "trail" }, element("a", { href: link.service(service) }, service.title), entity ? [" / ", element("a", { href: link.entity(entity) }, entity.name)] : null),
      element("h1", { tabindex: "-1" }, title),
      element("p", { class: "address" }, badge(operation.method), " ", element("code", {}, operation.path)),
      element("p", { class: "lead" }, prose(operation.summary)),
      element("dl", { class: "facts" },
        element("dt", {}, "Who may call"), element("dd", {}, prose(`${whoMayCall(operation)}.`), " ", element("span", { class: may ? "may" : this.user ? "may-not" : "sign-in" }, this.verdict(may))),
        element("dt", {}, "Effect"), element("dd", {}, operation.effect === "reads" ? "It reads and changes nothing." : "It may change something.")),
      this.parameters(), this.bodyMembers(), this.trial(), this.code(), this.answers(),
    ].filter(Boolean));
    this.update();
  }

  verdict(may) {
    if (may) return this.user ? "You may." : "You may, without a sign-in.";
    return this.user ? "Your roles do not suffice." : "Sign in to call it.";
  }

  parameters() {
    const { parameters } = this.operation;
    if (!parameters.length) return null;
    const rows = parameters.map((one) => element("tr", {},
      element("th", { scope: "row" }, element("code", {}, one.name)),
      element("td", {}, { path: "in the path", query: "in the query", header: "a header field" }[one.in]),
      element("td", {}, prose(this.description.type(one.schema)), one.required ? element("span", { class: "needed" }, "needed") : null),
      element("td", {}, prose(one.description))));
    return element("section", {}, element("h2", {}, "Parameters"), table(["Name", "Where", "Value", "Meaning"], rows));
  }

  bodyMembers() {
    const { body } = this.operation;
    if (!body) return null;
    return element("section", {}, element("h2", {}, "Body"), element("p", {}, body.required ? "Needed." : "May be left out."), members(this.description, this.sent(body.schema), { word: "needed", texts: this.entity()?.schema.properties }));
  }

  entity() {
    return this.description.service(this.operation.service).entities.find((one) => one.name === this.operation.entity);
  }

  /** The members that a caller gives; what the server gives is ignored in what is sent. */
  sent(schema) {
    const found = this.description.plain(schema);
    const sources = this.entity()?.sources ?? {};
    const own = Object.entries(found.properties ?? {}).filter(([name]) => !sources[name]?.startsWith("the server"));
    return { ...found, properties: Object.fromEntries(own) };
  }

  // To try it

  trial() {
    const { operation } = this;
    const isLive = operation.kind === "stream";
    const fields = operation.parameters.map((one) => this.field(one));
    if (operation.kind === "mount") fields.push(...this.mountFields());
    const body = operation.body ? this.bodyEditor() : this.bytesEditor();
    this.status = element("div", { class: "answer", "aria-live": "polite" });
    this.send = element("button", { class: "main" }, isLive ? "Listen" : "Send");
    this.stop = element("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.abort?.abort() }, "Stop");
    const hint = operation.effect === "writes" ? element("p", { class: "hint" }, "Sending it changes data of this gateway.") : null;
    return element("section", { class: "trial" }, element("h2", {}, "Try it"),
      element("form", { onsubmit: (event) => { event.preventDefault(); this.run(); }, oninput: () => this.update() }, fields, body,
        isLive || operation.kind === "mount" || operation.kind === "page" || operation.kind === "soap" ? null : this.answerFormat(), hint, element("p", { class: "row" }, this.send, this.stop)),
      this.status);
  }

  /** What is asked of a service: a place below its root, and options. */
  mountFields() {
    const { path } = this.operation;
    const query = this.input("?", "Query", "query", "$top=3&$orderby=Name", false, "As the protocol has it.");
    if (path.endsWith("/{rest}")) return [query];
    const place = this.input("rest", "Set or path", "below", "Set, Set(1)/Member, $metadata", false, "What follows the root; empty: the service's own document.");
    const names = element("datalist", { id: "sets" });
    const { control } = this.fields.get("rest");
    control.setAttribute("list", names.id);
    control.addEventListener("focus", async () => names.append(...(await this.sets()).map((one) => element("option", { value: one }))), { once: true });
    place.append(names);
    return [place, query];
  }

  /** The names of the service's sets, as its own document has them; none where the caller may not read it. */
  async sets() {
    try {
      const response = await fetch(`${this.operation.path}/`, { headers: { Accept: "application/json" }, credentials: "same-origin" });
      const { value, d } = await response.json();
      return value?.filter((one) => one.kind !== "FunctionImport").map((one) => one.url) ?? d?.EntitySets ?? [];
    } catch {
      return [];
    }
  }

  field(parameter) {
    const { schema } = parameter;
    const found = this.description.plain(schema);
    const choices = found.enum?.filter((one) => one !== null) ?? (found.type === "boolean" ? ["true", "false"] : null);
    if (!choices) return this.input(parameter.name, parameter.name, parameter.in, this.hint(parameter, found), parameter.required, parameter.description, found);
    const select = element("select", { id: `field-${parameter.name}` }, parameter.required ? null : element("option", { value: "" }, "left out"), choices.map((one) => element("option", { value: one }, one)));
    this.fields.set(parameter.name, { control: select, place: parameter.in });
    return element("p", { class: "field" }, element("label", { for: select.id }, parameter.name), select);
  }

  hint(parameter, found) {
    if (found.type === "integer") return String(this.description.example(found));
    return { filter: this.entity()?.filters?.[0] ?? "title eq 'x'", order: "-modified", limit: "10" }[parameter.name] ?? "";
  }

  input(name, title, place, placeholder, required, summary, schema = {}) {
    const control = element("input", {
      id: `field-${name}`, placeholder: placeholder || null, required: required && name !== "wsdl", autocapitalize: "none", autocomplete: "off", spellcheck: "false",
      inputmode: schema.type === "integer" ? "numeric" : null, title: summary?.replaceAll("`", "") || null,
    });
    this.fields.set(name, { control, place });
    return element("p", { class: "field" }, element("label", { for: control.id }, title, required ? element("span", { class: "needed" }, "needed") : null), control);
  }

  bodyEditor() {
    const example = this.example();
    this.body = element("textarea", { id: "body", rows: Math.min(16, Math.max(5, JSON.stringify(example, null, 2).split("\n").length)), spellcheck: "false", "aria-describedby": "body-problem", value: JSON.stringify(example, null, 2) });
    this.problem = element("p", { class: "problem", id: "body-problem", role: "alert" });
    this.bodyFormat = this.choice("body-format", "Send the body as");
    return element("div", { class: "field wide" }, element("label", { for: "body" }, "Body, written in JSON"), this.body, this.problem, this.bodyFormat.shown);
  }

  /** Without what the server gives, and without a key that the caller may leave to it. */
  example() {
    const entity = this.entity();
    // What a call may do without has often no value that would do: another's checkpoint, a name.
    const value = this.description.example(this.operation.body.schema, entity !== undefined);
    const required = this.description.plain(this.operation.body.schema).required ?? [];
    for (const [name, source] of Object.entries(entity?.sources ?? {})) {
      if (!required.includes(name) && (source.startsWith("the server") || name === entity.key)) delete value[name];
    }
    return value;
  }

  /** What is no value but bytes: an attachment, a message of SOAP. */
  bytesEditor() {
    const { kind, method } = this.operation;
    if (!["POST", "PUT", "PATCH"].includes(method) || !["soap", "mount"].includes(kind)) return null;
    const message = kind === "soap" ? '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>\n</e:Body></e:Envelope>' : "{}";
    this.raw = element("textarea", { id: "body", rows: 6, spellcheck: "false", value: message });
    this.rawType = kind === "soap" ? "text/xml" : "application/json";
    return element("div", { class: "field wide" }, element("label", { for: "body" }, `Body, sent as ${this.rawType}`), this.raw);
  }

  answerFormat() {
    this.accepted = this.choice("answer-format", "Answer as");
    return this.accepted.shown;
  }

  choice(id, title) {
    const control = element("select", { id }, formats.map((one) => element("option", { value: one.name }, one.title)));
    return { control, shown: element("p", { class: "field" }, element("label", { for: id }, title), control) };
  }

  /** The request as it stands. @returns {import("./snippets.js").Shown} */
  request() {
    const { operation, description } = this;
    /** @type {[string, string][]} */
    const query = [];
    /** @type {[string, string][]} */
    const headers = [];
    let { path } = operation;
    for (const [name, { control, place }] of this.fields) {
      const text = control.value;
      // One that is still empty stands there by its name.
      if (place === "path" && text) path = path.replace(`{${name}}`, () => (name === "rest" ? below(text) : encodeURIComponent(text)));
      else if (place === "below" && text) path = `${path}/${below(text)}`;
      else if (name === "?") query.push(...new URLSearchParams(text));
      else if (place === "header" && text) headers.push([name, text]);
      else if (place === "query" && (text || control.required)) query.push([name, text]);
    }
    if (operation.parameters.some((one) => one.name === "wsdl")) query.push(["wsdl", ""]);
    const isOpen = operation.security.some((one) => Object.keys(one).length === 0);
    /** @type {import("./snippets.js").Shown} */
    const request = { method: operation.method, path, query, headers, isOpen: isOpen && !this.user, isStream: operation.kind === "stream", isValue: ["call", "list", "create", "read", "update", "replace"].includes(operation.kind), server: description.server };
    if (this.accepted) request.accept = formatNamed(this.accepted.control.value).type;
    if (this.raw) Object.assign(request, { text: this.raw.value, bytes: this.raw.value, type: this.rawType });
    if (this.body) this.addBody(request);
    return request;
  }

  addBody(request) {
    const text = this.body.value.trim();
    this.problem.textContent = "";
    if (!text && !this.operation.body.required) return;
    const format = formatNamed(this.bodyFormat.control.value);
    try {
      request.body = JSON.parse(text);
    } catch (error) {
      this.problem.textContent = `This is no JSON: ${error.message}`;
      Object.assign(request, { isWrong: true, text, bytes: text, type: formatNamed("json").type });
      return;
    }
    // JSON is sent as it was typed: a number of many digits stays what it is.
    const bytes = format.name === "json" ? text : format.write(request.body);
    Object.assign(request, { bytes, type: format.type });
    if (typeof bytes === "string") request.text = bytes;
  }

  update() {
    const request = this.request();
    this.curl.text = curl(request);
    this.swift.text = swift(request);
  }

  async run() {
    const request = this.request();
    if (request.isWrong) {
      this.status.replaceChildren(element("p", { class: "problem" }, "Nothing was sent: the body is no JSON."));
      return this.body.focus();
    }
    this.abort = new AbortController();
    this.send.disabled = true;
    this.status.replaceChildren(element("p", { class: "waiting" }, "Waiting for the answer…"));
    const began = performance.now();
    try {
      const headers = new Headers([...request.headers, ["X-Requested-With", "portico"]]);
      if (request.accept) headers.set("Accept", request.accept);
      if (request.type) headers.set("Content-Type", request.type);
      const response = await fetch(address({ ...request, server: "" }), { method: request.method, headers, body: request.bytes, signal: this.abort.signal, credentials: "same-origin" });
      const type = response.headers.get("Content-Type") ?? "";
      if (type.startsWith("text/event-stream")) return await this.follow(response);
      const bytes = new Uint8Array(await response.arrayBuffer());
      this.showAnswer(response, type, bytes, Math.round(performance.now() - began));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.status.replaceChildren(element("p", { class: "problem" }, "The gateway cannot be reached. Is it running, and is this machine connected?"));
      announce("The gateway cannot be reached.");
    } finally {
      this.send.disabled = false;
      this.stop.hidden = true;
    }
  }

  /** Events as they come. */
  async follow(response) {
    const list = element("pre", { class: "events", tabindex: "0" }, "");
    this.stop.hidden = false;
    this.status.replaceChildren(element("p", { class: "status ok" }, `${response.status} Listening…`), list);
    announce("Listening");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        list.textContent = (list.textContent + part.value).slice(-20_000);
        list.scrollTop = list.scrollHeight;
      }
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
    this.status.firstElementChild.textContent = "The stream has ended.";
  }

  showAnswer(response, type, bytes, milliseconds) {
    const text = bytes.length ? shown(bytes.length > 200_000 ? bytes.subarray(0, 200_000) : bytes, bytes.length > 200_000 ? "text/plain" : type) : "";
    const failure = response.ok ? null : explanation(this.codeOf(response, bytes));
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const size = bytes.length < 10_000 ? `${bytes.length} bytes` : `${Math.round(bytes.length / 1000)} kB`;
    const line = [`${response.status} ${response.statusText || reason(response.status)}`, `${milliseconds} ms`, bytes.length ? size : "no body", type.split(";")[0]].filter(Boolean).join(" · ");
    this.status.replaceChildren(...[
      element("p", { class: `status ${response.ok ? "ok" : "failed"}` }, line), failure,
      bytes.length > 200_000 ? element("p", { class: "hint" }, "The first 200 kB are shown.") : null,
      text ? Code.of(text) : null,
      element("details", {}, element("summary", {}, "Header fields"), element("pre", { tabindex: "0" }, headers)),
    ].filter(Boolean));
    announce(line);
  }

  codeOf(response, bytes) {
    try {
      const value = JSON.parse(new TextDecoder().decode(bytes));
      return value.error?.code ?? value.errorCode;
    } catch {
      const found = /(?:<code>|<key>code<\/key>\s*<string>)([A-Za-z.]+)</.exec(new TextDecoder().decode(bytes));
      return found?.[1] ?? Object.keys(explanations).find((code) => explanations[code].status === response.status);
    }
  }

  code() {
    const { operation } = this;
    this.curl = Code.of("");
    this.swift = Code.of("");
    const isOpen = operation.security.some((one) => Object.keys(one).length === 0) && !this.user;
    return element("section", { class: "code" }, element("h2", {}, "The request as code"),
      element("h3", {}, "curl"), isOpen ? null : element("details", {}, element("summary", {}, "How to get the token"), Code.of(curlToken(this.description.server, this.user?.name))), this.curl,
      element("h3", {}, "Swift"), element("p", { class: "hint" }, "With the package `Client`. ".replaceAll("`", ""), "Types and methods for this adapter are written by ", element("code", {}, `porticoctl client generate --service ${operation.service} --language swift`), "."), this.swift);
  }

  answers() {
    const rows = this.operation.answers.map((one) => element("tr", {},
      element("th", { scope: "row" }, one.status),
      element("td", {}, one.statuses.length ? element("ul", { class: "plain" }, one.description.split(", ").map((text) => element("li", {}, text))) : one.description),
      element("td", {}, one.types.map((type) => element("code", {}, type)), one.isSuccess && one.schema && this.description.plain(one.schema).properties ? element("details", {}, element("summary", {}, this.description.plain(one.schema).title), members(this.description, one.schema)) : null)));
    return element("section", {}, element("h2", {}, "Answers"), table(["Status", "Meaning", "Type"], rows),
      element("p", {}, "A failure has a code that says more than its status: ", element("a", { href: "#/errors" }, "what the codes mean"), "."));
  }
}
customElements.define("portico-operation", OperationView);

const reasons = { 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict", 412: "Precondition Failed", 415: "Unsupported Media Type", 429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout" };
const reason = (status) => reasons[status] ?? "";

/** A table that becomes a list where it has no room. */
export function table(heads, rows) {
  for (const row of rows) [...row.children].forEach((cell, index) => cell.setAttribute("data-label", heads[index]));
  return element("table", {}, element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, rows));
}

/** The members of an object, and those of the objects within. */
export function members(description, schema, { depth = 0, word = "always", texts = {} } = {}) {
  const found = description.plain(schema);
  if (found.items && !found.properties) return members(description, found.items, { depth, word, texts });
  const entries = Object.entries(found.properties ?? {});
  if (!entries.length) return element("p", { class: "hint" }, "Without declared members.");
  const required = new Set(found.required ?? []);
  const rows = entries.map(([name, member]) => {
    const plain = description.plain(member);
    const inner = description.plain(plain.items ?? member);
    return element("tr", {},
      element("th", { scope: "row" }, element("code", {}, name)),
      element("td", {}, prose(description.type(member)), required.has(name) ? element("span", { class: "needed" }, word) : null, description.mayBeNull(member) ? element("span", { class: "null" }, "or null") : null),
      element("td", {}, prose(member.description ?? texts[name]?.description ?? description.resolve(member).description), inner.properties && depth < 3 ? element("details", {}, element("summary", {}, inner.title), members(description, inner, { depth: depth + 1, word })) : null));
  });
  return table(["Name", "Value", "Meaning"], rows);
}
