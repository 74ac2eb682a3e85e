// The chat's resources as functions; docs/adapters/chat.md names them.

const segment = encodeURIComponent;

export class ChatService {
  constructor(portico) {
    this.portico = portico;
  }

  async rooms() {
    const [{ rooms }, unread] = await Promise.all([this.get("rooms"), this.get("unread")]);
    const counts = new Map(unread.rooms.map((room) => [room.room, room.unread]));
    return rooms.map((room) => ({ ...room, unread: counts.get(room.id) ?? 0 }));
  }

  async publicRooms() { return (await this.get("public-rooms")).rooms; }
  async members(room) { return (await this.get(`rooms/${segment(room)}/members`)).members; }
  async online(room) { return (await this.get(`rooms/${segment(room)}/presence`)).online; }

  /** The latest page, or the one before a `seq`; oldest first. */
  async messages(room, before) {
    const query = before === undefined ? "" : `&before=${before}`;
    return (await this.get(`rooms/${segment(room)}/messages?limit=50${query}`)).messages;
  }

  /** With the same id as often as one likes: it is there once. */
  async post(room, id, text) { return (await this.send("POST", `rooms/${segment(room)}/messages`, { id, text })).message; }
  async create(name, members, isPublic) { return (await this.send("POST", "rooms", { name, members, isPublic })).room; }
  join(room) { return this.send("POST", `rooms/${segment(room)}/join`, {}); }
  invite(room, member) { return this.send("PUT", `rooms/${segment(room)}/members/${segment(member)}`); }
  markRead(room, message) { return this.send("POST", `rooms/${segment(room)}/read`, { message }); }
  typing(room) { return this.send("POST", `rooms/${segment(room)}/typing`, {}); }

  /** What happens, for ever: name and data. Begins with `ready`; after `reset` everything shown has to be asked for anew. */
  async *happenings(options) {
    for await (const { event, data } of this.portico.events("/chat/v1/live", options)) {
      yield { name: event, data: JSON.parse(data) };
    }
  }

  get(path) { return this.portico.request("GET", `/chat/v1/${path}`); }
  send(method, path, body) { return this.portico.request(method, `/chat/v1/${path}`, { body }); }
}

/** A version 4 UUID, also where the page is served without TLS and `randomUUID` is not there. */
export function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const text = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
}
