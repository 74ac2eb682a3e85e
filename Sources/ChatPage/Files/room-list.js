// The list of rooms with their unread counts, and the rooms that one may join.

import { at, attempt, element } from "/pages/elements.js";

export class RoomList {
  constructor(service, { onOpen }) {
    this.service = service;
    this.onOpen = onOpen;
    this.list = at("rooms");
    this.joinable = at("public-rooms");
    this.rooms = [];
  }

  async load() {
    this.rooms = await this.service.rooms();
    this.show();
    const known = new Set(this.rooms.map((room) => room.id));
    this.showJoinable((await this.service.publicRooms()).filter((room) => !known.has(room.id)));
  }

  find(id) { return this.rooms.find((room) => room.id === id); }

  open(id) {
    this.current = id;
    this.setUnread(id, 0);
  }

  setUnread(id, count) {
    const room = this.find(id);
    if (room) room.unread = count;
    this.show();
  }

  addUnread(id) { this.setUnread(id, (this.find(id)?.unread ?? 0) + 1); }

  remove(id) {
    this.rooms = this.rooms.filter((room) => room.id !== id);
    this.show();
  }

  show() {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.room;
    this.list.replaceChildren(...this.rooms.map((room) => this.item(room)));
    at("no-rooms").hidden = this.rooms.length > 0;
    if (focused) this.list.querySelector(`[data-room="${CSS.escape(focused)}"]`)?.focus();
    const unread = this.rooms.reduce((sum, room) => sum + room.unread, 0);
    document.title = unread ? `(${unread}) Chat` : "Chat";
  }

  item(room) {
    const label = room.unread ? `${room.name}, ${room.unread} unread` : null;
    const current = room.id === this.current ? "true" : null;
    return element("li", {},
      element("button", { type: "button", "data-room": room.id, "aria-current": current, "aria-label": label, onclick: () => this.onOpen(room.id) },
        room.name, room.unread ? element("span", { class: "count" }, room.unread > 99 ? "99+" : String(room.unread)) : null));
  }

  showJoinable(rooms) {
    if (!rooms.length) return this.joinable.replaceChildren();
    const join = (room) => attempt(async () => {
      await this.service.join(room.id);
      await this.load();
      this.onOpen(room.id);
    });
    this.joinable.replaceChildren(
      element("h3", {}, "Rooms to join"),
      element("ul", {}, rooms.map((room) => element("li", {}, element("button", { type: "button", onclick: join(room) }, `Join ${room.name}`)))),
      element("p", { class: "problem", role: "alert" }));
  }
}
