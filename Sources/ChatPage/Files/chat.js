// The page: who is signed in, which room is open, and what the live stream says.

import { connect } from "/client/portico.js";
import { attempt, Conversation } from "./conversation.js";
import { RoomList } from "./room-list.js";
import { ChatService } from "./service.js";

const portico = connect();
const service = new ChatService(portico);
const find = (selector) => document.querySelector(selector);
const tell = (text) => { find("#state").textContent = text; };

async function begin() {
  const user = await portico.user();
  find("#sign-in").hidden = user !== null;
  find("#work").hidden = find("#sign-out").hidden = user === null;
  if (!user) return tell("Not signed in.");
  tell(`Signed in as ${user.name}.`);
  await new Chat(user).run();
}

class Chat {
  constructor(user) {
    this.user = user;
    this.conversation = new Conversation(service, user);
    this.rooms = new RoomList(service, { onOpen: (id) => this.open(id) });
    find("#back").addEventListener("click", () => this.showRooms());
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.showRooms(); });
    find("#new-room").addEventListener("submit", (event) => { event.preventDefault(); this.create(event.target); });
  }

  async run() {
    const onState = (isOpen) => tell(isOpen ? `Signed in as ${this.user.name}.` : "The connection is lost; trying again…");
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
    (find("#rooms [aria-current]") ?? find("#rooms button"))?.focus();
  }

  create(form) {
    attempt(form, async () => {
      const members = find("#room-members").value.split(/[\s,]+/).filter(Boolean);
      const room = await service.create(find("#room-name").value, members, find("#room-public").checked);
      form.reset();
      await this.rooms.load();
      await this.open(room.id);
    });
  }
}

find("#sign-in form").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(event.target, async () => {
    await portico.signIn(find("#username").value, find("#password").value);
    find("#password").value = "";
    begin().catch((error) => tell(error.message));
  });
});
find("#sign-out").addEventListener("click", async () => {
  await portico.signOut().catch(() => {});
  location.reload();
});
begin().catch((error) => tell(error.message));
