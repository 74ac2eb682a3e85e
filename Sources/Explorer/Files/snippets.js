// A request as people take it into a terminal and into a program.

/** @typedef {{method: string, path: string, query: [string, string][], headers: [string, string][], body?: any, text?: string,
 *   bytes?: any, isWrong?: boolean, type?: string, accept?: string, isOpen: boolean, isStream: boolean, isValue: boolean, server: string}} Shown */

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function address({ server, path, query }) {
  const text = new URLSearchParams(query).toString();
  return `${server}${path}${text ? `?${text}` : ""}`;
}

/** @param {Shown} request */
export function curl(request) {
  const parts = [`curl${request.isStream ? " -N" : ""}${request.method === "GET" ? "" : ` -X ${request.method}`} ${quoted(address(request))}`];
  if (!request.isOpen) parts.push('-H "Authorization: Bearer $TOKEN"');
  if (request.accept) parts.push(`-H ${quoted(`Accept: ${request.accept}`)}`);
  for (const [name, value] of request.headers) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (request.type) parts.push(`-H ${quoted(`Content-Type: ${request.type}`)}`);
  if (request.text !== undefined) parts.push(`--data-binary ${quoted(request.text)}`);
  else if (request.type) parts.push("--data-binary @body");
  return `${request.isWrong ? "# The body is no JSON.\n" : ""}${parts.join(" \\\n  ")}`;
}

/** How a terminal gets the token that the others use. */
export function curlToken(server, user) {
  const credentials = JSON.stringify({ username: user ?? "NAME", password: "PASSWORD" });
  return `TOKEN=$(curl -s ${quoted(`${server}/auth/login`)} -H 'Content-Type: application/json' \\\n  -d ${quoted(credentials)} | sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')`;
}

const literal = (text) => JSON.stringify(text).replaceAll("\\/", "/").replace(/\\u([0-9a-f]{4})/g, "\\u{$1}").replaceAll("\\b", "\\u{8}").replaceAll("\\f", "\\u{c}");

/** A value as a literal of the package's WireValue. */
function value(one, indent) {
  if (one === null) return ".null";
  if (typeof one === "string") return literal(one);
  if (typeof one !== "object") return String(one);
  const inner = `${indent}    `;
  if (Array.isArray(one)) return one.length ? `[${one.map((item) => value(item, indent)).join(", ")}]` : "[]";
  const members = Object.entries(one).map(([key, member]) => `${inner}${literal(key)}: ${value(member, inner)},`);
  return members.length ? `[\n${members.join("\n")}\n${indent}]` : "[:]";
}

/** With the package Client. @param {Shown} request */
export function swift(request) {
  const path = request.path.split("/").filter(Boolean).map((part) => literal(decodeURIComponent(part))).join(", ");
  const arguments_ = [...(request.method === "GET" ? [] : [literal(request.method)]), `path: [${path}]`];
  const pairs = (all) => all.map(([name, text]) => `(${literal(name)}, ${literal(text)})`).join(", ");
  if (request.query.length) arguments_.push(`query: [${pairs(request.query)}]`);
  if (request.headers.length) arguments_.push(`headers: [${request.headers.map(([name, text]) => `.init(${literal(name)}, ${literal(text)})`).join(", ")}]`);
  if (request.body !== undefined) arguments_.push(`body: .value(${value(request.body, "        ")})`);
  if (request.isWrong) arguments_.push("body: /* The body is no JSON. */");
  if (request.isOpen) arguments_.push("needsSignIn: false");
  const joined = arguments_.join(", ");
  const call = joined.length > 90 || joined.includes("\n") ? `\n        ${arguments_.join(",\n        ")}` : joined;
  const how = request.isStream ? "open(" : request.isValue ? "value(of: " : "answer(to: ";
  return `import Client

let portico = try await Portico.open(ServerAddress(${literal(request.server)})!, in: folder)
${request.isOpen ? "" : "try await portico.signIn(name: name, password: password)\n"}let answer = try await portico.session.${how}
    ServerCall(${call}))`;
}
