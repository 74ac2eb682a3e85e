// Values in the gateway's wire formats, as far as a page needs them: it writes each, and shows what comes back.

/** @typedef {{name: string, title: string, type: string, write: (value: any) => string | Uint8Array}} Format */

/** @type {Format[]} */
export const formats = [
  { name: "json", title: "JSON", type: "application/json", write: (value) => JSON.stringify(value, null, 2) },
  { name: "xml", title: "XML", type: "application/xml", write: xml },
  { name: "plist", title: "XML property list", type: "application/x-plist", write: propertyList },
  { name: "bplist", title: "Binary property list", type: "application/x-apple-binary-plist", write: binaryPropertyList },
  { name: "cbor", title: "CBOR", type: "application/cbor", write: cbor },
];

export const formatNamed = (name) => formats.find((format) => format.name === name) ?? formats[0];

/** How an answer's bytes are shown: texts as they are, JSON indented, the rest in hexadecimal. */
export function shown(bytes, type) {
  const essence = type.split(";")[0].trim();
  const isJSON = essence === "application/json" || essence.endsWith("+json");
  const isText = isJSON || essence.startsWith("text/") || /[/+](xml|x-plist)$/.test(essence);
  if (!isText) return hexadecimal(bytes);
  const text = new TextDecoder().decode(bytes);
  if (!isJSON) return text;
  // Numbers beyond a double's precision would be changed by a parser, so only the white space is.
  return /\d{16}/.test(text) ? text : indented(text);
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function hexadecimal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length && lines.length < 256; at += 16) {
    const row = [...bytes.subarray(at, at + 16)];
    const digits = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    const letters = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${digits}  ${letters}`);
  }
  if (bytes.length > lines.length * 16) lines.push(`… ${bytes.length - lines.length * 16} bytes more`);
  return lines.join("\n");
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\r", "&#13;");

function xml(value) {
  return `${node(value, "value", ' xmlns:v="urn:portico:value"', "")}\n`;
}

function node(value, name, attributes, indent) {
  const open = (type) => `${indent}<${name}${attributes}${type ? ` v:type="${type}"` : ""}>`;
  const close = `</${name}>`;
  if (value === null || value === undefined) return `${open("null")}${close}`;
  if (typeof value === "boolean") return `${open("bool")}${value}${close}`;
  if (typeof value === "number") return `${open(Number.isInteger(value) ? "int" : "real")}${value}${close}`;
  if (typeof value === "string") return `${open(attributes.includes("xmlns") ? "string" : "")}${escaped(value)}${close}`;
  if (Array.isArray(value)) {
    const items = value.map((item) => node(item, "item", "", `${indent}  `));
    return [open("array"), ...items, indent + close].join("\n");
  }
  const members = Object.entries(value).map(([key, member]) => {
    const isName = /^[A-Za-z][A-Za-z0-9_-]*$/.test(key) && !/^xml/i.test(key);
    return node(member, isName ? key : "_", isName ? "" : ` v:key="${escaped(key).replaceAll('"', "&quot;")}"`, `${indent}  `);
  });
  return [open("dictionary"), ...members, indent + close].join("\n");
}

/** Property lists have no null: such members are left out. */
const present = (value) => Object.entries(value).filter(([, member]) => member !== null && member !== undefined);

function propertyList(value) {
  const head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
    + '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n';
  return `${head}<plist version="1.0">\n${listNode(value, "")}\n</plist>\n`;
}

function listNode(value, indent) {
  const inner = `${indent}  `;
  if (typeof value === "boolean") return `${indent}<${value}/>`;
  if (typeof value === "number") return `${indent}<${Number.isInteger(value) ? "integer" : "real"}>${value}</${Number.isInteger(value) ? "integer" : "real"}>`;
  if (typeof value === "string") return `${indent}<string>${escaped(value)}</string>`;
  if (Array.isArray(value)) {
    return value.length ? [`${indent}<array>`, ...value.map((item) => listNode(item, inner)), `${indent}</array>`].join("\n") : `${indent}<array/>`;
  }
  const members = present(value ?? {}).map(([key, member]) => `${inner}<key>${escaped(key)}</key>\n${listNode(member, inner)}`);
  return members.length ? [`${indent}<dict>`, ...members, `${indent}</dict>`].join("\n") : `${indent}<dict/>`;
}

/** A growing array of bytes. */
class Bytes {
  constructor() { /** @type {number[]} */ this.all = []; }
  add(...bytes) { this.all.push(...bytes); return this; }
  /** Big-endian, in so many bytes. */
  integer(value, count) {
    for (let shift = BigInt(count - 1) * 8n; shift >= 0n; shift -= 8n) this.all.push(Number((BigInt.asUintN(count * 8, BigInt(value)) >> shift) & 255n));
    return this;
  }
  double(value) {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value);
    for (let index = 0; index < 8; index += 1) this.all.push(view.getUint8(index));
    return this;
  }
}

/** RFC 8949, section 3, with lengths in their shortest form. */
function cbor(value) {
  const out = new Bytes();
  const head = (kind, count) => {
    if (count < 24) out.add((kind << 5) | count);
    else if (count < 0x100) out.add((kind << 5) | 24, count);
    else if (count < 0x10000) out.add((kind << 5) | 25).integer(count, 2);
    else if (count < 0x100000000) out.add((kind << 5) | 26).integer(count, 4);
    else out.add((kind << 5) | 27).integer(count, 8);
  };
  const write = (one) => {
    if (one === null || one === undefined) out.add(0xf6);
    else if (typeof one === "boolean") out.add(one ? 0xf5 : 0xf4);
    else if (typeof one === "number" && Number.isSafeInteger(one)) head(one < 0 ? 1 : 0, one < 0 ? -1 - one : one);
    else if (typeof one === "number") out.add(0xfb).double(one);
    else if (typeof one === "string") {
      const bytes = new TextEncoder().encode(one);
      head(3, bytes.length);
      for (const byte of bytes) out.add(byte);
    } else if (Array.isArray(one)) {
      head(4, one.length);
      one.forEach(write);
    } else {
      head(5, Object.keys(one).length);
      for (const [key, member] of Object.entries(one)) { write(key); write(member); }
    }
  };
  write(value);
  return Uint8Array.from(out.all);
}

/** Apple's format `bplist00`: objects, their offsets, a trailer of 32 bytes. References have four bytes. */
function binaryPropertyList(value) {
  /** @type {Bytes[]} */
  const objects = [];
  const marker = (object, kind, count) => {
    if (count < 15) return object.add((kind << 4) | count);
    return count < 0x100 ? object.add((kind << 4) | 15, 0x10, count) : object.add((kind << 4) | 15, 0x12).integer(count, 4);
  };
  const add = (one) => {
    const object = new Bytes();
    const number = objects.push(object) - 1;
    if (typeof one === "boolean") object.add(one ? 0x09 : 0x08);
    else if (typeof one === "number" && Number.isSafeInteger(one)) object.add(0x13).integer(one, 8);
    else if (typeof one === "number") object.add(0x23).double(one);
    else if (typeof one === "string") {
      const isASCII = /^[\x00-\x7f]*$/.test(one);
      marker(object, isASCII ? 5 : 6, one.length);
      for (let index = 0; index < one.length; index += 1) object.integer(one.charCodeAt(index), isASCII ? 1 : 2);
    } else if (Array.isArray(one)) {
      marker(object, 10, one.length);
      for (const item of one) object.integer(add(item), 4);
    } else {
      const members = present(one ?? {});
      marker(object, 13, members.length);
      for (const [key] of members) object.integer(add(key), 4);
      for (const [, member] of members) object.integer(add(member), 4);
    }
    return number;
  };
  add(value);
  const out = new Bytes().add(...new TextEncoder().encode("bplist00"));
  const offsets = objects.map((object) => {
    const offset = out.all.length;
    out.add(...object.all);
    return offset;
  });
  const table = out.all.length;
  for (const offset of offsets) out.integer(offset, 4);
  out.add(0, 0, 0, 0, 0, 0, 4, 4).integer(objects.length, 8).integer(0, 8).integer(table, 8);
  return Uint8Array.from(out.all);
}
