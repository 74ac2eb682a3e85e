// The list of rooms with their unread counts, and the rooms that one may join.

export class RoomList {
  constructor(service, { onOpen }) {
    this.service = service;
    this.onOpen = onOpen;
    this.list = document.querySelector("#rooms");
    this.joinable = document.querySelector("#public-rooms");
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
    const focused = document.activeElement?.dataset?.room;
    this.list.replaceChildren(...this.rooms.map((room) => this.item(room)));
    if (focused) this.list.querySelector(`[data-room="${CSS.escape(focused)}"]`)?.focus();
    const unread = this.rooms.reduce((sum, room) => sum + room.unread, 0);
    document.title = unread ? `(${unread}) Chat` : "Chat";
  }

  item(room) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.room = room.id;
    button.append(room.name);
    if (room.id === this.current) button.setAttribute("aria-current", "true");
    if (room.unread) {
      const count = document.createElement("span");
      count.className = "count";
      count.textContent = room.unread > 99 ? "99+" : room.unread;
      button.append(count);
      button.setAttribute("aria-label", `${room.name}, ${room.unread} unread`);
    }
    button.addEventListener("click", () => this.onOpen(room.id));
    const item = document.createElement("li");
    item.append(button);
    return item;
  }

  showJoinable(rooms) {
    if (!rooms.length) return this.joinable.replaceChildren();
    const title = document.createElement("h3");
    title.textContent = "Rooms to join";
    const list = document.createElement("ul");
    for (const room of rooms) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `Join ${room.name}`;
      button.addEventListener("click", async () => {
        await this.service.join(room.id);
        await this.load();
        this.onOpen(room.id);
      });
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    }
    this.joinable.replaceChildren(title, list);
  }
}
