// One request to the gateway: who asks, how long it may take, what an answer means.

import { cancelled, errorFrom, offline, PorticoError, timedOut } from "./errors.js";

/** Milliseconds that a call may take by default. */
export const usualDeadline = 30_000;

/**
 * @typedef {{signal?: AbortSignal, deadline?: number}} Bounds `deadline`: milliseconds
 * @typedef {Bounds & {body?: any, headers?: Record<string, string>}} CallOptions
 */

export class Requests {
  /**
   * @param {string} base the gateway's address, without a slash at its end; empty: where the page is from
   * @param {import("./credentials.js").CookieCredential | import("./credentials.js").TokenCredential} credential
   */
  constructor(base, credential, fetcher = globalThis.fetch.bind(globalThis)) {
    this.base = base;
    this.credential = credential;
    this.fetcher = fetcher;
  }

  /**
   * A call with JSON in and out.
   * @param {string} method
   * @param {string} path
   * @param {CallOptions} call
   * @returns {Promise<{status: number, value: any, etag: string?, headers: Headers}>}
   * @throws {PorticoError} for everything but an answer of 200 to 299, or 304
   */
  async json(method, path, call = {}) {
    const { body, headers = {}, ...options } = call;
    /** @type {Record<string, string>} */
    const all = { Accept: "application/json", ...headers };
    if (body !== undefined) all["Content-Type"] = "application/json";
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.bounded(options, async (signal) => {
      const response = await this.answer(method, path, { headers: all, body: text, signal });
      const value = isEmpty(response) ? null : await response.json();
      return { status: response.status, value, etag: response.headers.get("ETag"), headers: response.headers };
    });
  }

  /**
   * A call whose answer the caller reads by itself, within no deadline but its own signal.
   * @param {string} method
   * @param {string} path
   * @param {CallOptions} call
   * @returns {Promise<Response>}
   */
  async open(method, path, call = {}) {
    const { headers = {}, body, signal } = call;
    return this.mapped(signal, null, () => this.answer(method, path, { headers, body, signal }));
  }

  /**
   * Does `work` until it is done, the deadline is over or the caller's signal aborts.
   * @template Result
   * @param {Bounds} bounds
   * @param {(signal: AbortSignal) => Promise<Result>} work
   * @returns {Promise<Result>}
   */
  async bounded({ signal, deadline = usualDeadline }, work) {
    const limit = /** @type {any} */ (AbortSignal).timeout(deadline);
    const both = signal ? /** @type {any} */ (AbortSignal).any([signal, limit]) : limit;
    return this.mapped(signal, limit, () => work(both));
  }

  async mapped(signal, limit, work) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof PorticoError) throw error;
      if (signal?.aborted) throw cancelled();
      if (limit?.aborted) throw timedOut();
      if (error instanceof SyntaxError) throw new PorticoError("client.answer", "The answer is not JSON.");
      // What fetch and its streams throw where the connection fails, and nothing else.
      if (error instanceof TypeError || error instanceof DOMException) throw offline();
      throw error;
    }
  }

  /** Renews the credential once where it has ended. */
  async answer(method, path, request) {
    let response = await this.send(method, path, request);
    if (response.status === 401 && (await this.credential.renew())) {
      response = await this.send(method, path, request);
    }
    if (!response.ok && response.status !== 304) throw await errorFrom(response);
    return response;
  }

  async send(method, path, { headers, body, signal }) {
    const all = new Headers(headers);
    await this.credential.authorize(all);
    return this.fetcher(this.base + path, {
      method, headers: all, body, signal, redirect: "error",
      credentials: this.credential.usesCookie ? "include" : "omit",
    });
  }
}

function isEmpty(response) {
  return response.status === 204 || response.status === 304 || response.headers.get("Content-Length") === "0";
}
