// Bytes that records name by their SHA-256 digest: uploaded first, in pieces, then named by a record.

/** Bytes of one piece of an upload. */
const piece = 1 << 20;
/** Milliseconds that a piece may take. */
const pieceDeadline = 120_000;

export class Attachments {
  /** @param {import("./requests.js").Requests} requests */
  constructor(requests) {
    this.requests = requests;
  }

  /**
   * Uploads what the server does not have yet of it.
   * @param {Blob} blob
   * @param {import("./requests.js").Bounds} options
   * @returns {Promise<string>} the digest, for a record's field
   */
  async upload(blob, options = {}) {
    const digest = await sha256(blob);
    const path = `/sync/v1/attachments/${digest}`;
    if (blob.size === 0) return (await this.piece(path, null, blob, options), digest);
    let { complete, received } = await this.piece(path, `bytes */${blob.size}`, "", options);
    while (!complete) {
      const end = Math.min(received + piece, blob.size);
      const range = `bytes ${received}-${end - 1}/${blob.size}`;
      ({ complete, received } = await this.piece(path, range, blob.slice(received, end), options));
    }
    return digest;
  }

  /**
   * @param {string} digest
   * @param {import("./requests.js").Bounds} options
   * @returns {Promise<Blob>}
   */
  async download(digest, options = {}) {
    return this.requests.bounded({ deadline: pieceDeadline, ...options }, async (signal) => {
      const answer = await this.requests.answer("GET", `/sync/v1/attachments/${digest}`, { headers: {}, signal });
      return answer.blob();
    });
  }

  async piece(path, range, body, options) {
    return this.requests.bounded({ deadline: pieceDeadline, ...options }, async (signal) => {
      const headers = { "Content-Type": "application/octet-stream", Accept: "application/json" };
      if (range) headers["Content-Range"] = range;
      return (await this.requests.answer("PUT", path, { headers, body, signal })).json();
    });
  }
}

export async function sha256(blob) {
  const digest = await crypto.subtle.digest("SHA-256", await blob.arrayBuffer());
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
