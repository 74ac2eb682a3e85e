// A client of the gateway for pages and hybrid apps: sign-in, resources, live streams, work without a network.
// Modules without a build step:  import { connect } from "/client/portico.js"

import { Attachments } from "./attachments.js";
import { CookieCredential, TokenCredential } from "./credentials.js";
import { PorticoError } from "./errors.js";
import { events } from "./events.js";
import { Replica } from "./replica.js";
import { Requests } from "./requests.js";
import { Resource } from "./resources.js";

export { Attachments } from "./attachments.js";
export { MemoryStorage } from "./credentials.js";
export { PorticoError } from "./errors.js";
export { Replica } from "./replica.js";
export { Resource } from "./resources.js";

/**
 * @typedef {import("./credentials.js").Tokens} Tokens
 * @typedef {import("./credentials.js").TokenStorage} TokenStorage
 * @typedef {import("./requests.js").CallOptions} CallOptions
 * @typedef {import("./resources.js").ListQuery} ListQuery
 * @typedef {import("./replica.js").ReplicaRecord} ReplicaRecord
 * @typedef {import("./replica.js").Problem} Problem
 * @typedef {import("./replica.js").Phase} Phase
 * @typedef {import("./events.js").ServerEvent} ServerEvent
 * @typedef {{id: string, name: string, displayName?: string, roles: string[]}} User
 * @typedef {{url?: string, tokens?: TokenStorage}} Options
 *   `url`: the gateway, where the page is not from there (then its origin must be in `http.cors.origins`);
 *   `tokens`: where to keep tokens; without it the session cookie is used.
 */

/**
 * A connection to a gateway. Nothing is sent yet.
 * @param {Options} options
 */
export function connect(options = {}) {
  return new Portico(options);
}

export class Portico {
  /** @param {Options} options */
  constructor(options = {}) {
    const { url = "", tokens } = options;
    /** The gateway's address; empty: where the page is from. */
    this.url = url.replace(/\/+$/, "");
    this.credential = tokens
      ? new TokenCredential(tokens, (refreshToken) => this.exchange(refreshToken)) : new CookieCredential();
    this.requests = new Requests(this.url, this.credential);
    /** Bytes that records name by their digest. */
    this.attachments = new Attachments(this.requests);
  }

  /**
   * @param {string} username
   * @param {string} password
   * @returns {Promise<User>}
   * @throws {PorticoError} `auth.invalid` where the name or the password is wrong
   */
  async signIn(username, password) {
    await this.credential.forget();
    const { value } = await this.requests.json("POST", "/auth/login", { body: { username, password } });
    await this.credential.keep(value);
    remember(this.url, value.user);
    return value.user;
  }

  /** @param {{everywhere?: boolean}} options `everywhere`: every sign-in of the account */
  async signOut({ everywhere = false } = {}) {
    forget(this.url);
    try {
      await this.requests.json("POST", "/auth/logout", { body: { everywhere } });
    } finally {
      await this.credential.forget();
    }
  }

  /**
   * The account that is signed in; null: none. Without a network: who was, as far as this browser knows.
   * @returns {Promise<User | null>}
   */
  async user() {
    try {
      const { value } = await this.requests.json("GET", "/auth/me");
      remember(this.url, value);
      return value;
    } catch (error) {
      if (error.needsSignIn) return null;
      if (error.isTemporary) return remembered(this.url);
      throw error;
    }
  }

  /**
   * Records online, such as `resource("notes", "notes")`.
   * @param {string} adapter
   * @param {string} entity
   */
  resource(adapter, entity) {
    return new Resource(this.requests, adapter, entity);
  }

  /**
   * An operation without a path of its own: `call("notes", "share", {id, with: ["bob"]})`.
   * @param {string} adapter
   * @param {string} operation
   * @param {any} input
   * @param {CallOptions} options
   * @returns {Promise<any>}
   */
  async call(adapter, operation, input = {}, options = {}) {
    const path = `/api/v1/${encodeURIComponent(adapter)}/operations/${encodeURIComponent(operation)}`;
    return (await this.requests.json("POST", path, { ...options, body: input })).value;
  }

  /**
   * Any path, JSON in and out.
   * @param {string} method
   * @param {string} path
   * @param {CallOptions} options
   * @returns {Promise<any>}
   */
  async request(method, path, options = {}) {
    return (await this.requests.json(method, path, options)).value;
  }

  /**
   * Server-sent events of a path, for ever: it comes back by itself, after the last event it got.
   * @param {string} path
   * @param {import("./events.js").EventOptions} options
   */
  events(path, options = {}) {
    return events(this.requests, path, options);
  }

  /**
   * A copy of what the user may see of these collections, that works without a network.
   * @param {string[]} collections
   * @param {{sync?: boolean}} options `sync`: false where another page keeps it up to date
   * @returns {Promise<Replica>}
   */
  async replica(collections, options = {}) {
    const user = await this.user();
    if (!user) throw new PorticoError("client.signedOut", "No account is signed in.", { status: 401 });
    return Replica.open(this.requests, `portico ${this.url || location.origin} ${user.id}`, collections, options);
  }

  /**
   * The next tokens; null: the sign-in has ended. Throws where the server cannot say.
   * @param {string} refreshToken
   * @returns {Promise<Tokens | null>}
   */
  async exchange(refreshToken) {
    const anonymous = new Requests(this.url, new TokenCredential());
    try {
      return (await anonymous.json("POST", "/auth/refresh", { body: { refreshToken } })).value;
    } catch (error) {
      if (error.isTemporary) throw error;
      return null;
    }
  }
}

// So that a page that is opened without a network finds the replica of the account that was signed in. It says who that was and
// opens nothing: the replica is in this browser already.
const key = (url) => `portico.user ${url || location.origin}`;
const remember = (url, user) => globalThis.localStorage?.setItem(key(url), JSON.stringify(user));
const forget = (url) => globalThis.localStorage?.removeItem(key(url));
const remembered = (url) => JSON.parse(globalThis.localStorage?.getItem(key(url)) ?? "null");
