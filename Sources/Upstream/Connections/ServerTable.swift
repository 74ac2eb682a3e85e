/// Which servers have connections, and who uses them. What has to make room is what was used longest ago and is not in
/// use now. A state machine; ``Connections`` makes and closes what it names.
struct ServerTable<Server: Sendable>: Sendable {
    struct Key: Sendable, Hashable {
        /// Of TLS's certificate and of the `Host` field.
        let host: String
        let address: IPAddress
    }

    private struct Entry {
        let server: Server
        var users: Int
        var lastUsed: UInt64
    }

    private let limit: Int
    private var entries: [Key: Entry] = [:]
    private var time: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// The server, in use from now on, and which ones to close for it.
    mutating func take(_ key: Key, make: () -> Server) -> (server: Server, closing: [Server]) {
        time += 1
        if var entry = entries[key] {
            entry.users += 1
            entry.lastUsed = time
            entries[key] = entry
            return (entry.server, [])
        }
        let server = make()
        entries[key] = Entry(server: server, users: 1, lastUsed: time)
        return (server, makeRoom())
    }

    mutating func release(_ key: Key) {
        entries[key]?.users -= 1
    }

    mutating func removeAll() -> [Server] {
        defer { entries = [:] }
        return entries.values.map(\.server)
    }

    private mutating func makeRoom() -> [Server] {
        guard entries.count > limit else { return [] }
        let unused = entries.filter { $0.value.users == 0 }.min { $0.value.lastUsed < $1.value.lastUsed }
        guard let unused else { return [] }
        entries[unused.key] = nil
        return [unused.value.server]
    }
}
