import AdapterKit

/// The list of a room's members, changed.
enum RoomMembers {
    /// The caller and those whom the call names, each once.
    static func invited(_ member: FieldName, _ call: ChatCall) async throws -> [String] {
        let texts = (call[member].arrayValue ?? []).compactMap(\.stringValue)
        guard texts.count <= Limits.largestInvitation else {
            throw RoomLimits.tooManyInvited
        }
        var names = [call.caller]
        for text in texts {
            let name = try await call.accountName(text, target: member)
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// A room that loses all its members stays, for the operators: nobody else can reach it.
    @discardableResult
    static func remove(_ name: String, from id: RecordID, banning: Bool = false, _ call: ChatCall) async throws
        -> Record
    {
        try await call.changeRoom(id) { room in
            let members = room.names(Rooms.members)
            let banned = room.names(Rooms.banned)
            let bans = banning && !banned.contains(name)
            guard members.contains(name) || bans else { return nil }
            var fields: WireDictionary = ["members": .names(members.filter { $0 != name })]
            if bans { fields["banned"] = .names(banned + [name]) }
            return fields
        }
    }
}

/// What bounds rooms.
enum RoomLimits {
    static func check(_ members: [String], _ settings: ChatSettings) throws(PorticoError) {
        guard members.count <= settings.maximumMembers else {
            throw PorticoError(
                .requestLimitExceeded, "A room has at most \(settings.maximumMembers) members.",
                target: Rooms.members.text)
        }
    }

    static func checkRooms(of name: String, _ call: ChatCall) async throws {
        let count = try await call.records.count(rooms(of: name), in: Rooms.entity.name)
        try checkRooms(count, of: call.settings.maximumRooms)
    }

    /// Whether an account that is in `count` rooms may be in one more.
    static func checkRooms(_ count: Int, of maximum: Int) throws(PorticoError) {
        guard count < maximum else { throw tooManyRooms(maximum) }
    }

    private static func tooManyRooms(_ maximum: Int) -> PorticoError {
        PorticoError(.requestLimitExceeded, "An account can be in at most \(maximum) rooms.")
    }

    /// Whether others may bring an account that is in `count` rooms into one more. A quarter of its rooms is left to
    /// the account itself, so that nobody keeps it from making and joining rooms.
    static func checkInvitation(_ count: Int, of maximum: Int) throws(PorticoError) {
        guard count < maximum - maximum / 4 else { throw tooManyRooms(maximum) }
    }

    static func rooms(of name: String) -> Filter { .listContains(Rooms.members, .string(name)) }

    static let tooManyInvited = PorticoError(
        .requestLimitExceeded, "At most \(Limits.largestInvitation) can be invited at once.",
        target: Rooms.members.text)

    static func banned(_ member: FieldName) -> PorticoError {
        PorticoError(.accessDenied, "This account is banned from the room.", target: member.text)
    }
}
