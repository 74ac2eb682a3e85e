// What goes wrong, by code. The codes are the gateway's; those that begin with "client." arise here.

export class PorticoError extends Error {
  /**
   * @param {string} code for programs: `record.notFound`, `client.offline`, …
   * @param {string} message for people
   * @param {{status?: number, requestId?: string, target?: string, retryAfter?: number}} details
   *   `retryAfter` is in seconds.
   */
  constructor(code, message, details = {}) {
    super(message);
    this.name = "PorticoError";
    this.code = code;
    this.status = details.status ?? 0;
    this.requestId = details.requestId;
    this.target = details.target;
    this.retryAfter = details.retryAfter;
  }

  /** The same call may work later, without anything being done about it. */
  get isTemporary() {
    return this.code === "client.offline" || this.code === "client.timeout"
      || this.status === 429 || this.status >= 500;
  }

  /** There is no credential, or one that has ended. */
  get needsSignIn() {
    return this.status === 401;
  }
}

export const offline = () => new PorticoError("client.offline", "The server cannot be reached.");
export const timedOut = () => new PorticoError("client.timeout", "The server took too long.");
export const cancelled = () => new PorticoError("client.cancelled", "The call was cancelled.");

/** An error answer, whatever its shape: the gateway's envelope, a contract's own, or something else's page. */
export async function errorFrom(response) {
  const value = await response.json().catch(() => null);
  const failure = value?.error ?? {};
  const details = {
    status: response.status,
    requestId: failure.requestId ?? value?.requestId ?? response.headers.get("X-Request-ID") ?? undefined,
    target: failure.target,
    retryAfter: seconds(response.headers.get("Retry-After")),
  };
  return new PorticoError(
    failure.code ?? value?.errorCode ?? `http.${response.status}`,
    failure.message ?? value?.errorMessage ?? `The server answered ${response.status}.`, details);
}

function seconds(text) {
  const number = Number(text);
  return text && Number.isFinite(number) ? number : undefined;
}
