// The number that a scope's checksum adds up for each of its records (docs/protocol/sync.md): FNV-1a over collection, id
// and revision, each with a zero byte behind it, then SplitMix64's last steps.

const mask = (1n << 64n) - 1n;
const text = new TextEncoder();

/** @returns {bigint} modulo 2^64 */
export function recordNumber(collection, id, rev) {
  let hash = 0xcbf29ce484222325n;
  for (const part of [collection, id, String(rev)]) {
    for (const byte of text.encode(`${part}\0`)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & mask;
  }
  hash = ((hash ^ (hash >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
  hash = ((hash ^ (hash >> 27n)) * 0x94d049bb133111ebn) & mask;
  return hash ^ (hash >> 31n);
}

/** How many records a scope has, and the sum of their numbers. */
export class Summary {
  /** @param {{count?: number, checksum?: string}} stored */
  constructor({ count = 0, checksum = "0" } = {}) {
    this.count = count;
    this.sum = BigInt(`0x${checksum}`);
  }

  add(collection, id, rev) {
    this.count += 1;
    this.sum = (this.sum + recordNumber(collection, id, rev)) & mask;
  }

  remove(collection, id, rev) {
    this.count -= 1;
    this.sum = (this.sum - recordNumber(collection, id, rev)) & mask;
  }

  get stored() {
    return { count: this.count, checksum: this.sum.toString(16).padStart(16, "0") };
  }

  /** @param {{[name: string]: any}} other */
  agrees({ count, checksum }) {
    return this.count === count && this.stored.checksum === checksum;
  }
}
