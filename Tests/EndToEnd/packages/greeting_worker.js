#!/usr/bin/node
// An adapter's program in JavaScript for tests: one operation, spoken as docs/protocol/adapter.md has it, without a library.
"use strict";
const net = require("node:net");

// CBOR as far as the protocol needs it: integers, text, bytes, arrays, maps, the simple values and doubles.
function head(major, number) {
  if (number < 24) return Buffer.from([(major << 5) | number]);
  const bytes = Buffer.alloc(5);
  bytes[0] = (major << 5) | 26;
  bytes.writeUInt32BE(number, 1);
  return bytes;
}

function encode(value) {
  if (value === null || value === undefined) return Buffer.from([0xf6]);
  if (typeof value === "boolean") return Buffer.from([value ? 0xf5 : 0xf4]);
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === "string") return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encode)]);
  const members = Object.entries(value);
  return Buffer.concat([head(5, members.length), ...members.flatMap(([name, inner]) => [encode(name), encode(inner)])]);
}

function decode(bytes) {
  let at = 0;
  function item() {
    const [major, info] = [bytes[at] >> 5, bytes[at++] & 31];
    if (major === 7 && info === 27) return bytes.readDoubleBE((at += 8) - 8);
    if (major === 7) return { 20: false, 21: true }[info] ?? null;
    const size = info < 24 ? 0 : 1 << (info - 24);
    const number = size === 0 ? info : size === 8 ? Number(bytes.readBigUInt64BE(at)) : bytes.readUIntBE(at, size);
    at += size;
    if (major === 0) return number;
    if (major === 1) return -1 - number;
    if (major === 2) return bytes.subarray(at, (at += number));
    if (major === 3) return bytes.toString("utf8", at, (at += number));
    if (major === 4) return Array.from({ length: number }, item);
    if (major === 5) return Object.fromEntries(Array.from({ length: number }, () => [item(), item()]));
    return item();
  }
  return item();
}

const text = { string: [0, 200] };
const declaration = {
  name: "greeting", title: "Greeting", summary: "Greets.", version: "1.0.0", access: "public",
  operations: [{
    name: "greet", summary: "Says who answers.", effect: "reads",
    output: { object: { name: "Greeting", members: [{ name: "runtime", shape: text }] } } }] };

function answer(method) {
  if (method === "hello") return { version: 1, name: "greeting", program: "1.0.0", options: [] };
  if (method === "declare") return { declaration };
  if (method === "make") return { services: [] };
  if (method === "call") return { content: { value: { runtime: "node" } } };
  return null;
}

const host = new net.Socket({ fd: Number(process.env.PORTICO_WORKER_SOCKET) });
let received = Buffer.alloc(0);
host.on("data", (piece) => {
  received = Buffer.concat([received, piece]);
  while (received.length >= 4 && received.length >= 4 + received.readUInt32BE(0)) {
    const end = 4 + received.readUInt32BE(0);
    const message = decode(received.subarray(4, end));
    received = received.subarray(end);
    if (message.request === undefined) continue;
    const body = encode({ response: message.request, result: answer(message.method) });
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    host.write(Buffer.concat([length, body]));
  }
});
host.on("end", () => process.exit(0));
