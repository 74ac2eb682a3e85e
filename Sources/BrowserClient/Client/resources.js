// Records of one entity, online: /api/v1/{adapter}/{entity}.

/**
 * @typedef {import("./requests.js").Bounds} Bounds
 * @typedef {{filter?: string, search?: string, order?: string, select?: string, limit?: number, cursor?: string,
 *   count?: boolean}} ListQuery
 * @typedef {{status: number, value: any, etag: string | null, headers: Headers}} RecordAnswer `etag`: for `ifMatch`
 * @typedef {Bounds & {ifMatch?: string}} ChangeOptions
 */

export class Resource {
  /**
   * @param {import("./requests.js").Requests} requests
   * @param {string} adapter
   * @param {string} entity
   */
  constructor(requests, adapter, entity) {
    this.requests = requests;
    this.path = `/api/v1/${encodeURIComponent(adapter)}/${encodeURIComponent(entity)}`;
  }

  /**
   * A page of records.
   * @param {ListQuery} query
   * @param {Bounds} options
   * @returns {Promise<{items: any[], next?: string, total?: number, asOf?: Date, isStale?: boolean}>} `asOf` where
   *   another system has the records' truth: when it had them; `isStale`: it could not be asked
   */
  async list(query = {}, options = {}) {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    const { value, headers } = await this.requests.json("GET", text ? `${this.path}?${text}` : this.path, options);
    return { ...value, ...age(headers) };
  }

  /**
   * Every record, page after page.
   * @param {ListQuery} query
   * @param {Bounds} options
   * @returns {AsyncGenerator<any, void, undefined>}
   */
  async *all(query = {}, options = {}) {
    let cursor = query.cursor;
    do {
      const page = await this.list({ ...query, cursor }, options);
      yield* page.items;
      cursor = page.next;
    } while (cursor);
  }

  /**
   * @param {string | number} id
   * @param {Bounds} options
   * @returns {Promise<RecordAnswer & {asOf?: Date, isStale?: boolean}>}
   */
  async get(id, options = {}) {
    const answer = await this.requests.json("GET", this.of(id), options);
    return { ...answer, ...age(answer.headers) };
  }

  /**
   * @param {Record<string, any>} fields
   * @param {Bounds} options
   * @returns {Promise<RecordAnswer>}
   */
  create(fields, options = {}) {
    return this.requests.json("POST", this.path, { ...options, body: fields });
  }

  /**
   * Sets the named fields, leaves the others. With `ifMatch` only where the record has not changed since.
   * @param {string | number} id
   * @param {Record<string, any>} fields
   * @param {ChangeOptions} change
   * @returns {Promise<RecordAnswer>}
   */
  update(id, fields, change = {}) {
    const { ifMatch, ...options } = change;
    return this.requests.json("PATCH", this.of(id), { ...options, body: fields, headers: condition(ifMatch) });
  }

  /**
   * @param {string | number} id
   * @param {Record<string, any>} fields all of them
   * @param {ChangeOptions} change
   * @returns {Promise<RecordAnswer>}
   */
  replace(id, fields, change = {}) {
    const { ifMatch, ...options } = change;
    return this.requests.json("PUT", this.of(id), { ...options, body: fields, headers: condition(ifMatch) });
  }

  /** @param {string | number} id @param {ChangeOptions} change */
  async delete(id, change = {}) {
    const { ifMatch, ...options } = change;
    await this.requests.json("DELETE", this.of(id), { ...options, headers: condition(ifMatch) });
  }

  /** @param {string | number} id */
  of(id) {
    return `${this.path}/${encodeURIComponent(id)}`;
  }
}

/** How old an answer's records are, where another system has their truth (RFC 9111 and RFC 9211). */
export function age(headers) {
  const [seconds, status] = [headers.get("Age"), headers.get("Cache-Status") ?? ""];
  if (seconds === null || !status.startsWith("portico;")) return {};
  const isStale = status.includes("fwd=stale") && !status.includes("stored");
  return { asOf: new Date(Date.now() - Number(seconds) * 1000), isStale };
}

function condition(ifMatch) {
  return ifMatch ? { "If-Match": ifMatch } : {};
}
