// What this gateway takes from other systems and gives them: upstreams, mirrors, pending writes.

import { ask } from "./dialog.js";
import { element } from "./elements.js";
import { change, may, path, read } from "./gateway.js";
import { Table } from "./table.js";
import { badge, button, count, facts, figure, heading, moment, span, toast, View, when } from "./view.js";

const STATES = { stale: "warn", good: "good", closed: "good", refreshing: "plain", never: "plain", callers: "plain", held: "warn", failing: "bad", open: "bad" };
const WRITE_STATES = { pending: "plain", refused: "bad", unknown: "warn" };
const state = (word) => badge(word === "held" ? "held back" : word, STATES[word] ?? "plain");

/** Rows of a preview of each kind. */
const SHOWN = 20;
/** What became of calls, in words. @type {Record<string, string>} */
const RESULTS = {
  circuitOpen: "not sent, the breaker was open", unreachable: "no connection", broken: "broke off", timedOut: "no answer in time",
  overloaded: "not sent, too many waited", cancelled: "given up", destinationRefused: "not allowed there", redirectRefused: "a redirect not allowed",
};
/** Where a text names what became of a call. @param {string | null | undefined} text */
const words = (text) => text?.replace(/\b[a-z]+[A-Z]\w+|\b(?:unreachable|broken|overloaded|cancelled)(?=[:;]|$)/g, (word) => RESULTS[word] ?? word);
/** @type {Record<string, string>} */
const OPERATIONS = { create: "a new record", update: "some of its fields", replace: "all of its fields", delete: "it is deleted" };
/** How long the outcome of a write that is sent again is waited for, and how often is looked, in milliseconds. */
const OUTCOME_WAIT = 4000;
const OUTCOME_PAUSE = 400;

/** A value as people write it. */
const said = (value) => value === null || value === undefined || value === "" ? "–" : Array.isArray(value) && !value.length ? "none"
  : typeof value === "object" ? JSON.stringify(value) : typeof value === "boolean" ? (value ? "yes" : "no") : String(value);

/** A record in one line. */
const line = (fields) => Object.entries(fields).map(([name, value]) => `${name}: ${said(value)}`).join(", ");

/** Fields that differ, before and after. */
const differences = (before, after) => Object.keys(after).filter((key) => JSON.stringify(before[key] ?? null) !== JSON.stringify(after[key] ?? null))
  .map((key) => element("p", {}, `${key}: `, element("del", {}, said(before[key])), " → ", element("ins", {}, said(after[key]))));

export class Systems extends View {
  interval = 5000;

  async load(again) {
    const [part, ...names] = this.place;
    if (part === "upstreams" && names.length) return this.upstream(await read(path`/admin/v1/upstreams/${names[0]}`, { again }));
    if (part === "mirrors" && names.length > 1) return this.mirror(await read(path`/admin/v1/mirrors/${names[0]}/${names[1]}`, { again }));
    if (part === "writes" && names.length) return this.write(await read(path`/admin/v1/writes/${names[0]}`, { again }));
    const [upstreams, mirrors, writes] = await Promise.all([
      read("/admin/v1/upstreams", { again }), read("/admin/v1/mirrors", { again }), read("/admin/v1/writes", { again })]);
    this.put(heading("Other systems"),
      element("section", {}, element("h2", {}, "Upstreams"), Table.of({
        caption: "Upstreams", rows: upstreams.upstreams, empty: "This gateway calls no other system.",
        columns: [
          { name: "name", show: (one) => element("a", { href: `#/systems/upstreams/${encodeURIComponent(one.name)}` }, one.name) },
          { name: "state", title: "Breaker", show: (one) => state(one.state) }, { name: "url", title: "Address", wide: true },
          { name: "calls", number: true }, { name: "active", number: true }, { name: "waiting", number: true }],
      })),
      element("section", {}, element("h2", {}, "Mirrors"), Table.of({
        caption: "Mirrors", rows: mirrors.mirrors, empty: "No adapter mirrors another system.",
        columns: [
          { name: "name", show: (one) => element("a", { href: `#/systems/mirrors/${one.name.split("/").map(encodeURIComponent).join("/")}` }, one.name) },
          { name: "state", show: (one) => state(one.state) }, { name: "upstream" },
          { name: "ageSeconds", title: "Age", show: (one) => span(one.ageSeconds) }, { name: "failures", number: true }],
      })),
      element("section", {}, element("h2", {}, "Pending writes"),
        Table.of({
          caption: "Pending writes", rows: writes.writes, empty: "Every change was taken.",
          columns: [
            { name: "record", show: (one) => element("a", { href: `#/systems/writes/${encodeURIComponent(one.id)}` }, `${one.collection} ${one.record}`) },
            { name: "state", show: (one) => badge(one.state, WRITE_STATES[one.state] ?? "plain") }, { name: "author" },
            { name: "created", show: (one) => when(one.created) }, { name: "tries", number: true }, { name: "answer", title: "Last answer", wide: true, show: (one) => words(one.answer) }],
        })));
    if (this.place[0] && !again) this.querySelectorAll("h2")[["upstreams", "mirrors", "writes"].indexOf(this.place[0])]?.scrollIntoView();
  }

  trail() { return element("p", { class: "trail" }, element("a", { href: "#/systems" }, "Other systems")); }

  upstream(one) {
    this.put(this.trail(), heading(one.name, state(one.state),
      may("operator") ? button("Test", () => this.act(() => change(path`/admin/v1/upstreams/${one.name}/test`),
        (test) => test.answered ? `It answered ${test.status} after ${test.milliseconds} ms.` : `It did not answer: ${words(test.failure)}`)) : null),
    facts([["Address", element("code", {}, one.url)], ["Credentials", one.credentials], ["Open breakers", one.openCircuits.join(", ")],
      ["Next attempt", one.nextAttempt ? [Date.parse(one.nextAttempt) > Date.now() ? when(one.nextAttempt) : "with the next call", ", or by Test"] : null],
      ["Last failure", one.lastFailure ? [words(one.lastFailure), ", ", when(one.lastFailureTime)] : null], ["Calls under way", figure(one.active)], ["Calls waiting", figure(one.waiting)], ["Retries", figure(one.retries)]]),
    element("section", {}, element("h2", {}, "What its calls came to"), Table.of({
      caption: "Results", empty: "It was not called yet.", rows: Object.entries(one.results).map(([result, count]) => ({ result, count })),
      columns: [{ name: "result", show: (row) => RESULTS[row.result] ?? row.result }, { name: "count", title: "Calls", number: true, show: (row) => figure(row.count) }],
    })));
  }

  mirror(one) {
    const [adapter, entity] = one.name.split("/");
    const at = path`/admin/v1/mirrors/${adapter}/${entity}/`;
    const last = one.lastRefresh;
    this.put(this.trail(), heading(one.name, state(one.state),
      may("operator") && one.state !== "callers" ? button("Refresh", () => this.act(() => change(`${at}refresh`),
        (done) => `Refreshed: ${done.created} new, ${done.updated} changed, ${done.deleted} gone.`)) : null),
    one.held ? element("section", { class: "held", "aria-labelledby": "held" }, element("h2", { id: "held" }, "A refresh is held back"),
      element("p", {}, one.held.detail, ", ", when(one.held.time), "."),
      element("p", { class: "row" },
        one.held.releasable ? button("Preview", () => this.preview(at, one.name)) : null,
        one.held.releasable && may("admin") ? button("Release", () => this.release(at, one), { class: "danger" }) : null,
        one.held.releasable && !may("admin") ? element("span", { class: "hint" }, "Releasing it needs the role admin.") : null,
        one.held.releasable ? null : element("span", { class: "hint" }, "What came cannot be used. The next refresh asks again."))) : "",
    one.state === "stale" ? element("p", { class: "warning" }, "It is older than it may be: its system does not answer, and is not asked for a while.") : "",
    facts([["Upstream", element("a", { href: `#/systems/upstreams/${encodeURIComponent(one.upstream)}` }, one.upstream)],
      ["Records", element("a", { href: `#/records/${encodeURIComponent(adapter)}/${encodeURIComponent(entity)}` }, figure(one.records))],
      ["Age", span(one.ageSeconds)], ["As of", moment(one.asOf)], ["Running", one.running ? `${one.running.trigger}` : null],
      ["Failures in a row", figure(one.failures)], ["Last failure", one.failure ? [words(one.failure.detail || one.failure.code), ", ", when(one.failure.time)] : null],
      ["Last refresh", last ? `${last.created} new, ${last.updated} changed, ${last.deleted} gone, ${last.refused} refused` : null],
      ["Fields that drifted", one.drifts?.join(", ")]]));
  }

  /** Rows of callers are looked at for a reason. */
  async preview(at, name, reason = "") {
    try {
      const found = await read(`${at}preview`, { body: { limit: SHOWN, ...(reason ? { reason } : {}) } });
      const table = (title, rows, total, columns) => rows.length
        ? [element("h3", {}, `${title} (${rows.length < (total ?? 0) ? `the first ${rows.length} of ${figure(total)}` : rows.length})`), Table.of({ caption: title, rows, columns })] : [];
      const one = [{ name: "id" }, { name: "fields", wide: true, sort: null, show: (row) => line(row.fields) }];
      await ask({
        title: `What releasing ${name} would change`, wide: true, action: "Close", only: true,
        text: element("div", {}, table("Gone", found.deleted, found.counts?.deleted, one), table("New", found.created, found.counts?.created, one),
          table("Changed", found.updated, found.counts?.updated, [{ name: "id", show: (row) => row.after.id },
            { name: "changes", wide: true, sort: null, show: (row) => differences(row.before.fields, row.after.fields) }]),
          found.deleted.length + found.created.length + found.updated.length ? null : element("p", {}, "Nothing.")),
      });
    } catch (error) {
      if (error.target !== "reason" || reason) return toast(error.message, true);
      const given = await ask({
        title: `Look at ${name}`, action: "Look", text: `${error.message} It stands in the audit log.`,
        fields: [{ name: "reason", label: "Why", required: true, hint: "Such as the number of a request for help." }],
      });
      if (given?.reason.trim()) await this.preview(at, name, given.reason.trim());
    }
  }

  async release(at, one) {
    const isSure = await ask({
      title: `Release the refresh of ${one.name}?`, action: "Release", danger: true,
      text: `${one.held.detail.slice(0, 1).toUpperCase()}${one.held.detail.slice(1)}. Records that the refresh lacks are deleted, on devices too.`,
    });
    if (isSure) await this.act(() => change(`${at}release`, {}, `Release the refresh of ${one.name}: ${one.held.detail}`), (done) => `Released: ${done.created} new, ${done.updated} changed, ${done.deleted} gone.`);
  }

  write(one) {
    const at = path`/admin/v1/writes/${one.id}/`;
    const name = `${one.collection} ${one.record}`;
    const changed = one.operation === "delete" ? null : differences(one.operation === "create" ? {} : one.before ?? {}, one.fields ?? {});
    this.put(this.trail(), heading(name, badge(one.state, WRITE_STATES[one.state] ?? "plain"),
      may("operator") ? button("Send again", () => this.act(() => this.again(one, at), (outcome) => outcome.text)) : null,
      may("admin") ? button("Drop", () => this.drop(at, name), { class: "danger" }) : null),
    facts([["Author", one.author], ["Asked for", moment(one.created)], ["What", OPERATIONS[one.operation] ?? one.operation],
      ["Fields", changed?.length ? changed : null], ["Tries", figure(one.tries ?? 0)],
      ["Last answer", words(one.answer)], ["Its author reads", one.message && one.message !== one.answer ? one.message : null],
      ["May have been made since", one.lost ? moment(one.lost) : null]]));
  }

  /** Sends a write again, and waits a little for what comes of it. */
  async again(one, at) {
    await change(`${at}retry`);
    for (let waited = 0; waited < OUTCOME_WAIT; waited += OUTCOME_PAUSE) {
      await new Promise((resolve) => { setTimeout(resolve, OUTCOME_PAUSE); });
      try {
        const now = await read(at.slice(0, -1));
        if (now.state === "refused") return { text: `It is refused again: ${now.message ?? now.answer}` };
        if (now.state === "unknown") return { text: "Its outcome is unknown again." };
        if ((now.tries ?? 0) > (one.tries ?? 0) && now.message) return { text: await this.isOpen(one) ? "It is not sent yet: the breaker of its system is open. It is sent once the system answers." : now.message };
      } catch (error) {
        if (error.status !== 404) throw error;
        location.hash = "#/systems/writes";
        return { text: "The other system has taken it." };
      }
    }
    return { text: await this.isOpen(one) ? "It waits: the breaker of its system is open." : "It waits to be sent." };
  }

  /** Whether the system of a write is not called for a while. */
  async isOpen(one) {
    const [adapter, entity] = one.collection.split("/");
    const mirror = await read(path`/admin/v1/mirrors/${adapter}/${entity}`);
    return (await read(path`/admin/v1/upstreams/${mirror.upstream}`)).state === "open";
  }

  async drop(at, name) {
    const isSure = await ask({ title: `Drop the write of ${name}?`, text: "The caller's change is lost: the record becomes what the other system has.", action: "Drop", danger: true });
    if (!isSure) return;
    try {
      if (await change(`${at}drop`, {}, `Drop the write of ${name}`) === null) return;
      location.hash = "#/systems/writes";
      toast("Dropped.");
    } catch (error) {
      toast(error.message, true);
    }
  }
}
customElements.define("portico-systems", Systems);
