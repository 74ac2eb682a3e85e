// Requests to the admin interface, in the name of who signed in.

import { ask } from "./dialog.js";

/** Why a request failed: a code of the gateway's registry, and a sentence for people. */
export class Failure extends Error {
  /** @param {string} code @param {string} message @param {number} status @param {string} requestId @param {string} target */
  constructor(code, message, status, requestId, target = "") {
    super(message);
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    /** What of the request was at fault. */
    this.target = target;
  }
}

/** Who is signed in, as `/console/session` says it. */
export const session = { signedIn: false, name: "", role: "", by: "", csrfToken: "", certificate: false, hasEnded: false };

const ROLES = ["viewer", "operator", "admin"];

/** Whether who is signed in may do what needs this role. @param {string} role */
export function may(role) {
  return session.signedIn && ROLES.indexOf(session.role) >= ROLES.indexOf(role);
}

async function send(method, path, body, headers) {
  let response;
  try {
    response = await fetch(path, {
      method, cache: "no-store", credentials: "same-origin", redirect: "error",
      headers: { Accept: "application/json", ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Failure("away", "The gateway does not answer.", 0, "");
  }
  if (response.status === 204) return null;
  let value = null;
  try { value = await response.json(); } catch { /* An answer that is no JSON says nothing. */ }
  if (response.ok) return value;
  const error = value?.error ?? {};
  throw new Failure(
    error.code ?? "unknown", error.message ?? `The gateway answered ${response.status}.`, response.status,
    error.requestId ?? "", error.target ?? "");
}

async function call(method, path, body, headers = {}) {
  try {
    return await send(method, path, body, headers);
  } catch (error) {
    if (error instanceof Failure && error.code === "auth.required" && session.signedIn) endSession();
    throw error;
  }
}

function endSession() {
  Object.assign(session, { signedIn: false, hasEnded: true });
  dispatchEvent(new CustomEvent("portico-signed-out"));
}

/** Throws where the gateway does not answer; a session that has ended there ends here. */
export async function checkSession() {
  const found = await send("GET", "/console/session", undefined, { "X-Portico-Background": "1" });
  if (!found.signedIn && session.signedIn) endSession();
}

/** Reads. `again`: the page repeats itself, which keeps no session. @param {string} path @param {{again?: boolean, body?: any}} [how] */
export function read(path, how = {}) {
  const headers = how.again ? { "X-Portico-Background": "1" } : {};
  return how.body === undefined ? call("GET", path, undefined, headers) : call("POST", path, how.body, headers);
}

/**
 * Changes something. Where the gateway asks for the password again, so does the page; null: the person went back.
 * @param {string} path @param {object} [body] @param {string} [what] what is done, for who confirms it
 */
export async function change(path, body = {}, what = "") {
  const headers = { "X-CSRF-Token": session.csrfToken };
  try {
    return (await call("POST", path, body, headers)) ?? {};
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "access.confirmationRequired") throw error;
  }
  const confirmation = await confirm(what);
  if (!confirmation) return null;
  return (await call("POST", path, body, { ...headers, "X-Portico-Confirmation": confirmation })) ?? {};
}

/** Shows the credential again; what comes of it is good for one action. */
async function confirm(what) {
  if (session.by === "link") {
    throw new Failure("access.confirmationRequired", "A sign-in by a link may not do this: sign in with an account.", 403, "");
  }
  const show = async (values) => (await call("POST", "/console/session/confirmation", values)).confirmation;
  if (session.by === "certificate") return show({ certificate: true });
  const field = session.by === "token" ? "token" : "password";
  let confirmation = null;
  const shown = await ask({
    title: "Confirm that it is you",
    text: `${what ? `${what}. ` : ""}This cannot be undone, or gives rights: enter your ${field} again.`,
    fields: [{ name: field, label: field === "token" ? "Admin token" : "Password", type: "password", required: true }],
    action: "Confirm",
    check: async (values) => {
      confirmation = await show(values);
    },
  });
  return shown ? confirmation : null;
}

/** Asks who is signed in. */
export async function refreshSession() {
  Object.assign(session, { signedIn: false, name: "", role: "", by: "", csrfToken: "", certificate: false });
  Object.assign(session, await send("GET", "/console/session", undefined, { "X-Portico-Background": "1" }));
  return session;
}

/** @param {object} credential */
export async function signIn(credential) {
  await send("POST", "/console/session", credential, {});
  session.hasEnded = false;
  return refreshSession();
}

export async function signOut() {
  await send("POST", "/console/session/end", {}, { "X-CSRF-Token": session.csrfToken });
  return refreshSession();
}

/** A path with its parts encoded: path`/admin/v1/accounts/${name}/disable`. */
export function path(texts, ...parts) {
  return texts.reduce((made, text, index) => made + encodeURIComponent(parts[index - 1]) + text);
}
