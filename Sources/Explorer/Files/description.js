// The gateway's description of itself, /openapi.json, as the explorer shows it: adapters with entities and operations.

const methods = ["get", "post", "put", "patch", "delete"];

/** What the caller may do, decided as the gateway decides it: a list of alternatives, each with the roles that it needs. */
export function mayCall(operation, user) {
  if (operation.security.some((one) => Object.keys(one).length === 0)) return true;
  if (!user) return false;
  return operation.security.some((one) => Object.values(one).flat().every((role) => user.roles.includes(role)));
}

/** Who may call an operation, in words. */
export function whoMayCall(operation) {
  if (operation.security.some((one) => Object.keys(one).length === 0)) return "Everyone, with or without a sign-in";
  const sets = operation.security.map((one) => Object.values(one).flat());
  if (sets.some((roles) => roles.length === 0)) return "Everyone who is signed in";
  const texts = [...new Set(sets.map((roles) => roles.map((role) => `\`${role}\``).join(" and ")))];
  return `Accounts with the role ${texts.join(" or ")}`;
}

/** Beginning with a capital, unless with code. */
export const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1) : "");

/** @typedef {{id: string, method: string, path: string, summary: string, effect: string, service: string, name: string,
 *   kind: "list"|"create"|"read"|"update"|"replace"|"delete"|"call"|"stream"|"mount"|"soap"|"page", entity?: string,
 *   parameters: any[], body?: {required: boolean, schema: any}, answers: any[], security: any[], title: string}} Operation */

export class Description {
  /** @param {any} document */
  constructor(document) {
    this.document = document;
    this.info = document.info;
    this.server = new URL(document.servers?.[0]?.url ?? "/", location.href).href.replace(/\/$/, "");
    /** @type {Map<string, Operation>} */
    this.operations = new Map();
    /** @type {any[]} */
    this.services = [];
    const texts = new Map((document.tags ?? []).map((tag) => [tag.name, tag.description]));
    const adapters = document["x-portico-adapters"] ?? {};
    for (const [path, item] of Object.entries(document.paths)) {
      for (const method of methods) if (item[method]) this.add(method.toUpperCase(), path, item[method], texts, adapters);
    }
    for (const [name, adapter] of Object.entries(adapters)) {
      if (!this.service(name)) this.services.push({ name, title: adapter.title, summary: sentence(adapter.summary), isAdapter: true, operations: [], entities: [] });
    }
    for (const service of this.services) this.sort(service, adapters[service.name]);
    // As devices call it: by the entity's name alone where no other adapter has one of that name.
    const entities = this.services.flatMap((service) => service.entities);
    for (const one of entities) {
      const isAlone = entities.filter((other) => other.name === one.name).length === 1;
      one.collection = isAlone ? one.name : `${one.service.name}/${one.name}`;
    }
    this.services.sort((one, other) => Number(other.isAdapter) - Number(one.isAdapter) || one.title.localeCompare(other.title));
  }

  service(name) { return this.services.find((service) => service.name === name); }

  add(method, path, value, texts, adapters) {
    const adapter = value["x-portico-adapter"];
    const tag = value.tags[0];
    const name = adapter ?? tag.toLowerCase();
    let service = this.service(name);
    if (!service) {
      const known = adapters[adapter];
      service = {
        name, title: known?.title ?? tag, summary: sentence(known?.summary ?? texts.get(tag)), isAdapter: adapter !== undefined,
        operations: [], entities: [],
      };
      this.services.push(service);
    }
    const operation = this.read(method, path, value, name);
    this.operations.set(operation.id, operation);
    service.operations.push(operation);
  }

  /** @returns {Operation} */
  read(method, path, value, service) {
    const answers = Object.entries(value.responses).map(([status, answer]) => this.answer(status, answer));
    const parts = path.split("/");
    const isResource = parts[1] === "api" && parts[2] === "v1" && parts[3] === service && !["operations", "mirrors"].includes(parts[4]);
    const content = value.requestBody?.content ?? {};
    const [schema] = Object.values(content).map((one) => one.schema);
    return {
      id: value.operationId, method, path, summary: sentence(value.summary), effect: value["x-portico-effect"], service,
      name: value["x-portico-name"], title: value["x-portico-name"].split(".").slice(1).join(".") || value["x-portico-name"],
      kind: this.kind(method, path, value, answers, isResource), entity: isResource ? parts[4] : undefined,
      parameters: (value.parameters ?? []).map((one) => this.resolve(one)), answers, security: value.security ?? this.document.security ?? [],
      body: value.requestBody ? { required: value.requestBody.required, schema } : undefined,
    };
  }

  kind(method, path, value, answers, isResource) {
    if (isResource) {
      const isOne = path.endsWith("/{id}");
      return { GET: isOne ? "read" : "list", POST: "create", PATCH: "update", PUT: "replace", DELETE: "delete" }[method];
    }
    const types = answers.filter((one) => one.isSuccess).flatMap((one) => one.types);
    if (types.includes("text/event-stream")) return "stream";
    if (value["x-portico-name"].endsWith(".wsdl") || value["x-portico-name"].endsWith(".soap")) return "soap";
    if (this.document.paths[`${path}/{rest}`] || path.endsWith("/{rest}")) return "mount";
    return types.includes("text/html") ? "page" : "call";
  }

  answer(status, value) {
    const found = this.resolve(value);
    const content = found.content ?? {};
    return {
      status, description: found.description, statuses: found["x-portico-statuses"] ?? [], types: Object.keys(content),
      schema: Object.values(content)[0]?.schema, isSuccess: status.startsWith("2"),
    };
  }

  /** Entities, and the subtrees that speak a protocol of their own. */
  sort(service, adapter) {
    const entities = adapter?.entities ?? {};
    const names = new Set([...Object.keys(entities), ...service.operations.map((one) => one.entity).filter(Boolean)]);
    service.entities = [...names].map((name) => {
      const operations = service.operations.filter((one) => one.entity === name);
      const read = operations.find((one) => one.kind === "read");
      const schema = this.resolve(read?.answers.find((one) => one.isSuccess)?.schema);
      const make = this.resolve(operations.find((one) => one.kind === "create")?.body?.schema);
      return { name, service, operations, schema, make, ...entities[name], summary: sentence(entities[name]?.summary) };
    });
    const mounts = service.operations.filter((one) => one.kind === "mount" && !one.path.endsWith("/{rest}") && one.method === "GET");
    service.mounts = mounts.map((one) => ({ path: one.path, summary: one.summary, protocol: protocol(one.path), operation: one }));
    service.soap = service.operations.filter((one) => one.kind === "soap" && one.method === "GET");
    service.streams = service.operations.filter((one) => one.kind === "stream");
    service.calls = service.operations.filter((one) => ["call", "page"].includes(one.kind) || (one.kind === "soap" && one.method === "POST"));
  }

  resolve(value) {
    let found = value;
    for (let depth = 0; found?.$ref && depth < 32; depth += 1) {
      found = found.$ref.slice(2).split("/").reduce((place, name) => place?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], this.document);
    }
    return found ?? {};
  }

  /** The schema without null among what it takes. */
  plain(schema) {
    const found = this.resolve(schema);
    if (!found.anyOf) return found;
    return this.plain(found.anyOf.find((one) => one.type !== "null"));
  }

  mayBeNull(schema) {
    const found = this.resolve(schema);
    return [found.type].flat().includes("null") || (found.anyOf ?? []).some((one) => one.type === "null");
  }

  /** A type in words: `text of at most 40 characters`. */
  type(schema) {
    const found = this.plain(schema);
    if (found.enum) return `one of ${found.enum.filter((one) => one !== null).map((one) => `\`${one}\``).join(", ")}`;
    const kinds = [found.type].flat().filter((one) => one && one !== "null");
    switch (kinds[0]) {
      case "string":
        if (found.format === "date-time") return "date and time";
        if (found.contentEncoding === "base64") return "bytes, in base64";
        return `text${lengths(found)}`;
      case "integer": return `whole number${bounds(found)}`;
      case "number": return found.format === "double" ? "number" : "decimal number";
      case "boolean": return "true or false";
      case "array": return `list of ${this.plural(found.items ?? {})}`;
      case "object": return found.title ? `\`${found.title}\`` : "object";
      default: return "any value";
    }
  }

  plural(items) {
    const text = this.type(items);
    if (text.startsWith("text of")) return text.replace("text", "texts");
    return { text: "texts", "whole number": "whole numbers", "date and time": "dates", "any value": "values" }[text] ?? text;
  }

  /** A value that the schema takes. `isWhole`: with the members that need not be there too. */
  example(schema, isWhole = true, depth = 0) {
    const found = this.plain(schema);
    if (found.default !== undefined) return found.default;
    if (found.enum) return found.enum[0];
    const kinds = [found.type].flat().filter((one) => one && one !== "null");
    switch (kinds[0]) {
      case "string":
        if (found.format === "date-time") return "2026-01-01T00:00:00Z";
        return found.contentEncoding === "base64" ? "" : "text".padEnd(found.minLength ?? 0, "x").slice(0, Math.max(4, found.minLength ?? 0)).slice(0, found.maxLength);
      case "integer": return Math.min(Math.max(1, found.minimum ?? 1), found.maximum ?? 1);
      case "number": return 1.5;
      case "boolean": return false;
      case "array": return depth > 2 ? [] : [this.example(found.items ?? {}, isWhole, depth + 1)];
      case "object": {
        const value = {};
        for (const [name, member] of Object.entries(found.properties ?? {})) {
          const isNeeded = (found.required ?? []).includes(name);
          const { type, minItems = 0 } = this.plain(member);
          // Of a list that may be empty no element is made up: it would name a person or a file.
          if (!isNeeded && isWhole && !minItems && [type].flat().includes("array")) value[name] = [];
          else if (isNeeded || (isWhole && depth < 3)) value[name] = this.example(member, isWhole, depth + 1);
        }
        return value;
      }
      default: return null;
    }
  }
}

function lengths({ minLength, maxLength }) {
  if (minLength && maxLength) return ` of ${number(minLength)} to ${number(maxLength)} characters`;
  if (minLength) return ` of at least ${number(minLength)} ${minLength === 1 ? "character" : "characters"}`;
  return maxLength ? ` of at most ${number(maxLength)} characters` : "";
}

function bounds({ minimum, maximum }) {
  if (minimum !== undefined && maximum !== undefined) return ` from ${number(minimum)} to ${number(maximum)}`;
  if (minimum !== undefined) return ` of at least ${number(minimum)}`;
  return maximum === undefined ? "" : ` of at most ${number(maximum)}`;
}

const number = (value) => value.toLocaleString("en").replaceAll(",", "\u202f");

function protocol(path) {
  if (path.startsWith("/odata/v4/")) return "OData 4.0";
  if (path.startsWith("/odata/v2/")) return "OData 2.0";
  if (path.startsWith("/sap/opu/")) return "OData 2.0, SAP's path";
  return "A protocol of its own";
}
