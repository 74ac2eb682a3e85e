// How calls show who makes them. A page from the gateway itself uses the session cookie, which no script can read; an
// app from elsewhere keeps tokens in a storage of its choice. Neither keeps the password.

/**
 * @typedef {{accessToken: string, refreshToken: string}} Tokens
 * @typedef {{load(): Tokens | null | undefined | Promise<Tokens | null | undefined>, save(tokens: Tokens): void | Promise<void>, clear(): void | Promise<void>}} TokenStorage
 *   where an app keeps tokens
 */

/** The session cookie, which the browser sends by itself. */
export class CookieCredential {
  usesCookie = true;

  /** No foreign page can send this field without the gateway's permission: the guard against forged requests. */
  /** @param {Headers} headers */
  async authorize(headers) {
    headers.set("X-Requested-With", "portico");
  }

  async renew() {
    return false;
  }

  /** @param {Tokens} [_tokens] */
  async keep(_tokens) {}
  async forget() {}
}

/** Tokens: a short-lived one for calls, and one that is exchanged for the next pair, once. */
export class TokenCredential {
  usesCookie = false;

  /**
   * @param {TokenStorage} storage
   * @param {(refreshToken: string) => Promise<Tokens | null>} exchange
   */
  constructor(storage = new MemoryStorage(), exchange = async () => null) {
    this.storage = storage;
    this.exchange = exchange;
  }

  /** @param {Headers} headers */
  async authorize(headers) {
    const tokens = await this.storage.load();
    if (tokens) headers.set("Authorization", `Bearer ${tokens.accessToken}`);
  }

  /**
   * One exchange at a time: a refresh token that is shown twice ends the sign-in.
   * @returns {Promise<boolean>}
   */
  renew() {
    this.renewal ??= this.renewOnce().finally(() => { this.renewal = undefined; });
    return this.renewal;
  }

  async renewOnce() {
    const tokens = await this.storage.load();
    if (!tokens) return false;
    const next = await this.exchange(tokens.refreshToken);
    if (next) await this.storage.save(next);
    else await this.storage.clear();
    return next !== null;
  }

  /** @param {Tokens} tokens */
  async keep({ accessToken, refreshToken }) {
    await this.storage.save({ accessToken, refreshToken });
  }

  async forget() {
    await this.storage.clear();
  }
}

/** Forgets with the page. */
export class MemoryStorage {
  /** @type {Tokens | undefined} */
  tokens = undefined;

  /** @returns {Tokens | undefined} */
  load() { return this.tokens; }
  /** @param {Tokens} tokens */
  save(tokens) { this.tokens = tokens; }
  clear() { this.tokens = undefined; }
}
