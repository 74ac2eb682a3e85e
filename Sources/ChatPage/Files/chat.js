// The page: who is signed in, which room is open, and what the live stream says.

import { connect } from "/client/portico.js";
import "/pages/account.js";
import { at, attempt } from "/pages/elements.js";
import { Conversation } from "./conversation.js";
import { RoomList } from "./room-list.js";
import { ChatService } from "./service.js";

const portico = connect();
const service = new ChatService(portico);
const account = /** @type {import("/pages/account.js").Account} */ (document.querySelector("portico-account"));
const tell = (text) => { at("state").textContent = text; };

async function begin() {
  const { user } = account;
  at("welcome").hidden = user !== null;
  at("work").hidden = user === null;
  if (!user) return tell("");
  tell("Connecting…");
  await new Chat(user).run();
}

class Chat {
  constructor(user) {
    this.user = user;
    this.conversation = new Conversation(service, user);
    this.rooms = new RoomList(service, { onOpen: (id) => this.open(id) });
    at("back").addEventListener("click", () => this.showRooms());
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.showRooms(); });
    at("new-room").addEventListener("submit", attempt((event) => this.create(event.target)));
  }

  async run() {
    const onState = (isOpen) => tell(isOpen ? "Live" : "The connection is lost; trying again…");
    try {
      for await (const { name, data } of service.happenings({ onState })) await this.hear(name, data);
    } catch (error) {
      if (error.needsSignIn) location.reload();
      else tell(error.message);
    }
  }

  async hear(name, data) {
    const { conversation, rooms } = this;
    const isOpen = conversation.room?.id === data.room;
    switch (name) {
      case "ready": case "reset": await this.reload(); break;
      case "message":
        if (isOpen) { conversation.put(data); conversation.markRead(); }
        else if (data.user !== this.user.name) rooms.addUnread(data.room);
        break;
      case "edit": if (isOpen && conversation.shown.has(data.id)) conversation.put(data); break;
      case "removal": if (isOpen) conversation.remove(data.id); break;
      case "typing": if (isOpen) conversation.types(data.user); break;
      case "read": if (data.user === this.user.name && !isOpen) await rooms.load(); break;
      case "membership": case "room": await this.changed(data); break;
      case "presence": if (conversation.room) await conversation.showMembers(); break;
    }
  }

  async changed({ id, left = [] }) {
    const isMine = this.conversation.room?.id === id;
    if (left.includes(this.user.name)) {
      this.rooms.remove(id);
      if (isMine) { this.showRooms(); this.conversation.close(); tell("You are not in that room any more."); }
      return;
    }
    await this.rooms.load();
    if (isMine) await this.conversation.showMembers();
  }

  async reload() {
    await this.rooms.load();
    await this.conversation.refresh();
  }

  async open(id) {
    document.body.dataset.view = "conversation";
    this.rooms.open(id);
    await this.conversation.open(this.rooms.find(id));
  }

  showRooms() {
    document.body.dataset.view = "rooms";
    const rooms = at("rooms");
    (rooms.querySelector("[aria-current]") ?? rooms.querySelector("button"))?.focus();
  }

  async create(form) {
    const members = at("room-members").value.split(/[\s,]+/).filter(Boolean);
    const room = await service.create(at("room-name").value, members, at("room-public").checked);
    form.reset();
    at("making").open = false;
    await this.rooms.load();
    await this.open(room.id);
  }
}

at("enter").addEventListener("click", () => account.open());
// Everything that is shown is one person's.
account.addEventListener("change", () => location.reload());
account.load(portico).then(begin).catch((error) => tell(error.message));
