// How calls show who makes them. A page from the gateway itself uses the session cookie, which no script can read; an
// app from elsewhere keeps tokens in a storage of its choice. Neither keeps the password.

/** The session cookie, which the browser sends by itself. */
export class CookieCredential {
  usesCookie = true;

  /** No foreign page can send this field without the gateway's permission: the guard against forged requests. */
  async authorize(headers) {
    headers.set("X-Requested-With", "portico");
  }

  async renew() {
    return false;
  }

  async keep() {}
  async forget() {}
}

/** Tokens: a short-lived one for calls, and one that is exchanged for the next pair, once. */
export class TokenCredential {
  usesCookie = false;

  /** @param {{load(): any, save(tokens: any): any, clear(): any}} storage may be asynchronous */
  constructor(storage = new MemoryStorage(), exchange = async () => null) {
    this.storage = storage;
    this.exchange = exchange;
  }

  async authorize(headers) {
    const tokens = await this.storage.load();
    if (tokens) headers.set("Authorization", `Bearer ${tokens.accessToken}`);
  }

  /** One exchange at a time: a refresh token that is shown twice ends the sign-in. */
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

  async keep({ accessToken, refreshToken }) {
    await this.storage.save({ accessToken, refreshToken });
  }

  async forget() {
    await this.storage.clear();
  }
}

/** Forgets with the page. */
export class MemoryStorage {
  load() { return this.tokens; }
  save(tokens) { this.tokens = tokens; }
  clear() { this.tokens = undefined; }
}
