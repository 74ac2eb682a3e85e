// One room: its messages, who is there, and the form to write.

import { at, attempt, element } from "/pages/elements.js";
import { withLinks } from "./links.js";
import { newID } from "./service.js";

/** Milliseconds: how long a typing signal is shown; one's own is sent twice in that time. */
const typingLasts = 4_000;

export class Conversation {
  constructor(service, user) {
    this.service = service;
    this.user = user;
    this.main = at("conversation");
    this.list = at("messages");
    this.scroller = at("scroller");
    this.earlier = at("earlier");
    this.text = at("text");
    this.form = at("post");
    this.shown = new Map();
    this.typists = new Map();
    this.listen();
  }

  async open(room) {
    this.room = room;
    this.shown.clear();
    this.list.replaceChildren();
    this.typists.clear();
    this.showTyping();
    this.main.hidden = false;
    at("choose").hidden = true;
    at("room-title").textContent = room.name;
    await this.refresh();
    this.toEnd();
    this.text.focus();
  }

  close() {
    this.room = undefined;
    this.main.hidden = true;
    at("choose").hidden = false;
  }

  /** The latest page and who is there; what is shown already stays. */
  async refresh() {
    const { room } = this;
    if (!room) return;
    const [messages] = await Promise.all([this.service.messages(room.id), this.showMembers()]);
    if (this.room !== room) return;
    this.earlier.hidden = messages.length < 50;
    for (const message of messages) this.put(message);
    this.markRead();
  }

  async showEarlier() {
    const { room } = this;
    const before = Number(this.list.firstElementChild?.dataset.seq);
    const height = this.scroller.scrollHeight;
    const messages = await this.service.messages(room.id, before || undefined);
    if (this.room !== room) return;
    this.earlier.hidden = messages.length < 50;
    for (const message of messages) this.put(message);
    this.scroller.scrollTop += this.scroller.scrollHeight - height;
  }

  /** Adds a message in its place, or shows what became of it. */
  put(message) {
    const known = this.shown.get(message.id);
    const item = known ?? element("li");
    item.dataset.seq = message.seq;
    item.className = message.user === this.user.name ? "own" : "";
    item.replaceChildren(...this.lines(message));
    if (known) return;
    const isAtEnd = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < 80;
    this.shown.set(message.id, item);
    const later = [...this.list.children].reverse().find((other) => Number(other.dataset.seq) < message.seq);
    later ? later.after(item) : this.list.prepend(item);
    this.typists.delete(message.user);
    this.showTyping();
    if (isAtEnd) this.toEnd();
  }

  remove(id) {
    this.shown.get(id)?.remove();
    this.shown.delete(id);
  }

  lines({ user, text, sent, edited }) {
    const words = new Date(sent).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    return [
      element("p", { class: "by" }, element("b", {}, user), " · ", element("time", { datetime: sent }, words), edited && edited !== sent ? " · edited" : null),
      element("p", { class: "text" }, withLinks(text)),
    ];
  }

  toEnd() { this.scroller.scrollTop = this.scroller.scrollHeight; }

  async showMembers() {
    const { room } = this;
    const [members, online] = await Promise.all([this.service.members(room.id), this.service.online(room.id)]);
    if (this.room !== room) return;
    const here = new Set(online);
    const names = members.slice(0, 20).map((name) => (here.has(name) ? `${name} (online)` : name));
    const rest = members.length > 20 ? `, and ${members.length - 20} others` : "";
    at("members").textContent = names.join(", ") + rest;
  }

  showTyping() {
    const names = [...this.typists.keys()];
    const text = names.length ? `${names.join(", ")} ${names.length > 1 ? "are" : "is"} typing…` : "";
    at("typing").textContent = text;
  }

  types(name) {
    clearTimeout(this.typists.get(name));
    this.typists.set(name, setTimeout(() => { this.typists.delete(name); this.showTyping(); }, typingLasts));
    this.showTyping();
  }

  /** Up to the last message, once the page is visible. */
  markRead() {
    const last = [...this.shown].map(([id, item]) => ({ id, seq: Number(item.dataset.seq) }))
      .reduce((latest, one) => (one.seq > (latest?.seq ?? 0) ? one : latest), /** @type {{id: string, seq: number} | undefined} */ (undefined));
    if (!last || document.hidden || last.id === this.marked) return;
    this.marked = last.id;
    this.service.markRead(this.room.id, last.id).catch(() => { this.marked = undefined; });
  }

  listen() {
    this.form.addEventListener("submit", attempt(() => this.post()));
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.form.requestSubmit();
    });
    this.text.addEventListener("input", () => {
      if (!this.room || Date.now() - (this.signalled ?? 0) < typingLasts / 2) return;
      this.signalled = Date.now();
      this.service.typing(this.room.id).catch(() => {});
    });
    this.earlier.addEventListener("click", () => this.showEarlier());
    document.addEventListener("visibilitychange", () => { if (this.room) this.markRead(); });
    at("invite").addEventListener("submit", attempt(async () => {
      await this.service.invite(this.room.id, at("invitee").value.trim());
      at("invitee").value = "";
      at("inviting").open = false;
    }));
  }

  /** Sent again after a failure, a message keeps its id: it cannot come twice. */
  async post() {
    const { room } = this;
    const text = this.text.value;
    if (!text.trim() || this.isPosting) return;
    if (this.draft?.text !== text || this.draft.room !== room.id) this.draft = { id: newID(), text, room: room.id };
    this.isPosting = true;
    try {
      const message = await this.service.post(room.id, this.draft.id, text);
      if (this.text.value === text) this.text.value = "";
      if (this.room === room) { this.put(message); this.toEnd(); }
    } finally {
      this.isPosting = false;
    }
  }
}
