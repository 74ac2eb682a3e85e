// The devices that sync: when they were seen, how far they are, what became of their changes.

import { element } from "./elements.js";
import { read } from "./gateway.js";
import { Table } from "./table.js";
import { badge, changeKind, facts, figure, heading, moment, View, when } from "./view.js";

const PAGE = 100;
const LEAST = "At least: only the latest entries of the log are counted, and the device is behind the first of them.";
/** @type {Record<string, string>} */
const OUTCOMES = { applied: "good", merged: "good", conflict: "warn", rejected: "bad", rejection: "bad" };

const deviceLink = (id) => element("a", { href: `#/devices/${encodeURIComponent(id)}` }, element("code", {}, id));
const recordLink = (one) => !one.collection ? null : one.collection.startsWith("portico/") ? `${one.collection} ${one.id}`
  : element("a", { href: `#/records/${one.collection.split("/").map(encodeURIComponent).join("/")}/${encodeURIComponent(one.id)}` }, `${one.collection} ${one.id}`);

/** Changes that a device does not have; where the log that was looked through ends before it, as many at least. */
const lag = (one) => one.lag === null ? null : one.isLagLeast ? `at least ${figure(one.lag)}` : figure(one.lag);

/** In words and by its code. */
const reason = (one) => one.message || one.reason ? [one.message ?? "", one.reason ? element("code", {}, one.reason) : null].flatMap((part, index) => (index ? [" ", part] : [part])).filter((part) => part !== null) : null;

export class Devices extends View {
  /** The last device of the page before; empty: the first page. */ pages = [""];

  async load() {
    const [id] = this.place;
    if (id) return this.device(await read(`/admin/v1/sync/devices/${encodeURIComponent(id)}`));
    const after = this.pages.at(-1);
    const [status, found, changes, lost] = await Promise.all([
      read("/admin/v1/sync/status"), read(`/admin/v1/sync/devices?limit=${PAGE}${after ? `&after=${encodeURIComponent(after)}` : ""}`),
      read("/admin/v1/sync/changes?limit=50&synced=true"), read("/admin/v1/sync/conflicts?limit=50")]);
    this.put(heading("Devices"),
      facts([["Known devices", figure(status.clients)], ["Live streams", figure(status.liveStreams)], ["Log", `${figure(status.floor)} to ${figure(status.position)}`],
        ["Collections", status.collections.join(", ")]]),
      Table.of({
        caption: "Devices", rows: found.devices, empty: "No device has been seen yet.",
        columns: [{ name: "id", title: "Device", show: (one) => deviceLink(one.id) },
          { name: "account", show: (one) => element("a", { href: `#/people/${encodeURIComponent(one.account)}` }, one.account) },
          { name: "lastSeen", title: "Seen", show: (one) => one.streams ? badge("live", "good") : when(one.lastSeen) },
          { name: "lag", title: "Changes behind", number: true, show: lag },
          { name: "lastPush", title: "Last push", show: (one) => when(one.lastPush) }, { name: "lastSequence", title: "Pushed so far", number: true },
          { name: "outcomes", sort: null, show: (one) => Object.entries(one.outcomes).map(([verdict, number]) => `${figure(number)} ${verdict}`).join(", ") }],
      }),
      found.devices.some((one) => one.isLagLeast) ? element("p", { class: "hint" }, LEAST) : "",
      element("p", { class: "row pages" },
        element("button", { type: "button", disabled: this.pages.length === 1, onclick: () => { this.pages.pop(); this.update(false); } }, "Back"),
        element("button", { type: "button", disabled: found.devices.length < PAGE, onclick: () => { this.pages.push(found.devices.at(-1).id); this.update(false); } }, "Next")),
      element("section", {}, element("h2", {}, "Changes that did not become the record"), Table.of({
        caption: "Changes that did not become the record", rows: lost.conflicts, empty: "There are none.",
        columns: [{ name: "time", show: (one) => moment(one.time) },
          { name: "cause", show: (one) => badge(one.cause, OUTCOMES[one.cause] ?? "plain") },
          { name: "author", show: (one) => element("a", { href: `#/people/${encodeURIComponent(one.author)}` }, one.author) },
          { name: "device", show: (one) => deviceLink(one.device) }, { name: "id", title: "Record", show: recordLink },
          { name: "message", title: "Why", wide: true, show: reason }],
      })),
      element("section", {}, element("h2", {}, "The latest changes"), Table.of({
        caption: "The latest changes", rows: [...changes.changes].reverse(), empty: "Nothing has changed yet.",
        columns: [{ name: "position", number: true }, { name: "time", show: (one) => moment(one.time) }, { name: "kind", show: (one) => changeKind(one.kind) },
          { name: "id", title: "Record", show: recordLink },
          { name: "changed", wide: true, sort: null, show: (one) => one.changed?.join(", ") }],
      })));
  }

  device(one) {
    this.put(
      element("p", { class: "trail" }, element("a", { href: "#/devices" }, "Devices")),
      heading(one.id),
      facts([["Account", element("a", { href: `#/people/${encodeURIComponent(one.account)}` }, one.account)],
        ["Seen", one.streams ? badge("live", "good") : when(one.lastSeen)],
        ["Last push", one.lastPush === null ? null : when(one.lastPush)],
        ["Pushed so far", one.lastSequence === null ? null : figure(one.lastSequence)],
        ["Changes behind", lag(one)]]), one.isLagLeast ? element("p", { class: "hint" }, LEAST) : "",
      element("section", {}, element("h2", {}, "What became of its latest changes"), Table.of({
        caption: "Outcomes", rows: one.outcomes, empty: "No outcome is kept any more.",
        columns: [{ name: "sequence", title: "Change", number: true },
          { name: "id", title: "Record", show: recordLink },
          { name: "outcome", show: (row) => badge(row.outcome, OUTCOMES[row.outcome] ?? "plain") },
          { name: "message", title: "Why", wide: true, sort: null, show: reason }],
      })));
  }
}
customElements.define("portico-devices", Devices);
