// Server-sent events (HTML, section 9.2) over fetch, because EventSource takes neither tokens nor a word about why a
// stream was refused.

import { offline, PorticoError } from "./errors.js";
import { Pause } from "./pause.js";

/** Longer lines and events are refused. */
const longestEvent = 16 << 20;

/**
 * @typedef {{event: string, data: string, id?: string}} ServerEvent
 * @typedef {{signal?: AbortSignal, lastEventId?: string, silence?: number, onState?: (isOpen: boolean) => void}} EventOptions
 *   `silence`: milliseconds without a byte after which the connection counts as lost
 */

/**
 * The events of a path. Comes back by itself with `Last-Event-ID`; ends when `signal` aborts, and throws what is not
 * temporary, such as 401 or 410.
 * @param {import("./requests.js").Requests} requests
 * @param {string} path
 * @param {EventOptions} options
 * @returns {AsyncGenerator<ServerEvent, void, undefined>}
 */
export async function* events(requests, path, options = {}) {
  const { signal, lastEventId, silence = 60_000, onState = () => {} } = options;
  const state = { id: lastEventId, retry: 2_000 };
  const pause = new Pause(signal);
  while (!signal?.aborted) {
    try {
      for await (const event of connection(requests, path, state, signal, silence, onState)) {
        pause.reset();
        yield event;
      }
    } catch (error) {
      if (!isTemporary(error, signal)) throw error;
      if (error.retryAfter) state.retry = error.retryAfter * 1_000;
    } finally {
      onState(false);
    }
    await pause.next(state.retry);
  }
}

function isTemporary(error, signal) {
  return signal?.aborted || (error instanceof PorticoError && (error.isTemporary || error.code === "client.cancelled"));
}

async function* connection(requests, path, state, signal, silence, onState) {
  const lost = new AbortController();
  const watch = new Watch(silence, () => lost.abort());
  try {
    const headers = { Accept: "text/event-stream" };
    if (state.id) headers["Last-Event-ID"] = state.id;
    const both = signal ? /** @type {any} */ (AbortSignal).any([signal, lost.signal]) : lost.signal;
    const response = await requests.open("GET", path, { headers, signal: both });
    onState(true);
    yield* parsed(response.body, state, watch);
  } finally {
    watch.stop();
    lost.abort();
  }
}

async function* parsed(body, state, watch) {
  const parser = new EventParser();
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => { throw offline(); });
    if (done) return;
    watch.touch();
    for (const event of parser.feed(value)) {
      state.retry = parser.retry ?? state.retry;
      if (event.id !== undefined) state.id = event.id;
      if (event.event === "reconnect") return;
      yield { ...event, id: state.id };
    }
  }
}

/** Lines to events; knows nothing of where they come from. */
export class EventParser {
  rest = "";
  /** @type {{event?: string, id?: string, data?: string[]}} */
  event = {};
  size = 0;

  *feed(text) {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    if (this.rest.length > longestEvent) throw tooLong();
    for (const line of lines) {
      const done = this.line(line);
      if (done) yield done;
    }
  }

  line(line) {
    if (line === "") return this.dispatch();
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (name === "data") this.add(value);
    else if (name === "event") this.event.event = value;
    else if (name === "id" && !value.includes("\0")) this.event.id = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) this.retry = Number(value);
    return null;
  }

  add(value) {
    this.size += value.length;
    if (this.size > longestEvent) throw tooLong();
    (this.event.data ??= []).push(value);
  }

  dispatch() {
    const { event = "message", data, id } = this.event;
    this.event = {};
    this.size = 0;
    return data ? { event, data: data.join("\n"), id } : null;
  }
}

const tooLong = () => new PorticoError("client.answer", "An event is longer than is taken here.");

/** Says so when nothing came for a while. */
class Watch {
  constructor(silence, act) {
    this.silence = silence;
    this.act = act;
    this.touch();
  }

  touch() {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.act, this.silence);
  }

  stop() {
    clearTimeout(this.timer);
  }
}
