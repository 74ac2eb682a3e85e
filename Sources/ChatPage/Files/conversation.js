// One room: its messages, who is there, and the form to write.

import { newID } from "./service.js";

/** Milliseconds: how long a typing signal is shown; one's own is sent twice in that time. */
const typingLasts = 4_000;

export class Conversation {
  constructor(service, user) {
    this.service = service;
    this.user = user;
    this.main = document.querySelector("#conversation");
    this.list = document.querySelector("#messages");
    this.scroller = document.querySelector("#scroller");
    this.earlier = document.querySelector("#earlier");
    this.text = document.querySelector("#text");
    this.form = document.querySelector("#post");
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
    document.querySelector("#room-title").textContent = room.name;
    await this.refresh();
    this.toEnd();
    this.text.focus();
  }

  close() {
    this.room = undefined;
    this.main.hidden = true;
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
    const item = known ?? document.createElement("li");
    item.dataset.seq = message.seq;
    item.className = message.user === this.user.name ? "own" : "";
    item.replaceChildren(...this.lines(message));
    if (known) return;
    const isAtEnd = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < 80;
    this.shown.set(message.id, item);
    const later = [...this.list.children].findLast((other) => Number(other.dataset.seq) < message.seq);
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
    const by = document.createElement("p");
    by.className = "by";
    const time = document.createElement("time");
    time.dateTime = sent;
    time.textContent = new Date(sent).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    by.append(user, " · ", time, edited && edited !== sent ? " · edited" : "");
    const body = document.createElement("p");
    body.className = "text";
    body.textContent = text;
    return [by, body];
  }

  toEnd() { this.scroller.scrollTop = this.scroller.scrollHeight; }

  async showMembers() {
    const { room } = this;
    const [members, online] = await Promise.all([this.service.members(room.id), this.service.online(room.id)]);
    if (this.room !== room) return;
    const here = new Set(online);
    const names = members.slice(0, 20).map((name) => (here.has(name) ? `${name} (online)` : name));
    const rest = members.length > 20 ? `, and ${members.length - 20} others` : "";
    document.querySelector("#members").textContent = names.join(", ") + rest;
  }

  showTyping() {
    const names = [...this.typists.keys()];
    const text = names.length ? `${names.join(", ")} ${names.length > 1 ? "are" : "is"} typing…` : "";
    document.querySelector("#typing").textContent = text;
  }

  types(name) {
    clearTimeout(this.typists.get(name));
    this.typists.set(name, setTimeout(() => { this.typists.delete(name); this.showTyping(); }, typingLasts));
    this.showTyping();
  }

  /** Up to the last message, once the page is visible. */
  markRead() {
    const last = [...this.shown].reduce(
      (latest, [id, item]) => (Number(item.dataset.seq) > (latest?.seq ?? 0) ? { id, seq: Number(item.dataset.seq) } : latest),
      undefined);
    if (!last || document.hidden || last.id === this.marked) return;
    this.marked = last.id;
    this.service.markRead(this.room.id, last.id).catch(() => { this.marked = undefined; });
  }

  listen() {
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.post(); });
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
    const invite = document.querySelector("#invite");
    invite.addEventListener("submit", (event) => {
      event.preventDefault();
      const input = invite.querySelector("input");
      attempt(invite, async () => {
        await this.service.invite(this.room.id, input.value.trim());
        input.value = "";
      });
    });
  }

  /** Sent again after a failure, a message keeps its id: it cannot come twice. */
  post() {
    const { room } = this;
    const text = this.text.value;
    if (!text.trim() || this.isPosting) return;
    if (this.draft?.text !== text || this.draft.room !== room.id) this.draft = { id: newID(), text, room: room.id };
    this.isPosting = true;
    attempt(this.form, async () => {
      const message = await this.service.post(room.id, this.draft.id, text);
      if (this.text.value === text) this.text.value = "";
      if (this.room === room) { this.put(message); this.toEnd(); }
    }).finally(() => { this.isPosting = false; });
  }
}

/** Shows in a form why something did not work. */
export async function attempt(form, work) {
  const place = form.querySelector(".error");
  place.textContent = "";
  try {
    await work();
  } catch (error) {
    place.textContent = error.message;
  }
}
