import AdapterKit

/// Where pushes go.
extension ChatFunction {
    static let registerDevice = ChatFunction(
        "registerdevice", "Registers a device's token for pushes; a token is one account's at a time.", .writes,
        of: Devices.entity,
        isIdempotent: true,
        input: [
            tokenMember,
            Member(Devices.platform, .choice(Devices.platforms), defaultValue: "apns", summary: "Who delivers."),
        ],
        output: [ChatInputs.done], at: [.chat(.post, "/chat/v1/devices")]
    ) { call in
        guard call.isPerson else {
            throw PorticoError(
                .accessDenied, "An API key registers no devices: pushes are for people who have signed in.")
        }
        let platform = call.text(Devices.platform) ?? "apns"
        let version = try await call.accounts.account(named: call.caller)?.credentialVersion ?? 0
        let fields: WireDictionary = [
            "user": .string(call.caller), "platform": .string(platform), "token": call[Devices.token],
            "credentialVersion": .int64(version), "session": call.session.map(WireValue.string) ?? .null,
        ]
        let removals = try await outdatedRegistrations(call).map { RecordChange(Devices.entity.name, .delete($0.id)) }
        _ = try await call.unrestricted.apply(removals + [RecordChange(Devices.entity.name, .create(nil, fields))])
        return ["done": true]
    }

    static let unregisterDevice = ChatFunction(
        "unregisterdevice", "Ends pushes to a device of the caller's.", .writes, of: Devices.entity, isIdempotent: true,
        input: [tokenMember], output: [ChatInputs.done], at: [.chat(.post, "/chat/v1/devices/unregister")]
    ) { call in
        let filter = Filter.all([
            .compare(Devices.token, .equal, call[Devices.token]),
            .compare(Devices.user, .equal, .string(call.caller)),
        ])
        let page = try await call.unrestricted.query(Query(filter, limit: 1), in: Devices.entity.name)
        for device in page.records { try await call.unrestricted.delete(device.id, in: Devices.entity.name) }
        return ["done": true]
    }

    /// The records that make room for a registration: the same token, of any account, and the oldest beyond the maximum.
    private static func outdatedRegistrations(_ call: ChatCall) async throws -> [Record] {
        let same = Query(.compare(Devices.token, .equal, call[Devices.token]), limit: 1)
        let own = Query(
            .compare(Devices.user, .equal, .string(call.caller)),
            order: [SortKey(Devices.registered, descending: true)],
            limit: 100)
        let others = try await call.unrestricted.query(own, in: Devices.entity.name).records
            .filter { $0[Devices.token] != call[Devices.token] }
        return try await call.unrestricted.query(same, in: Devices.entity.name).records
            + others.dropFirst(Devices.maximum - 1)
    }

    private static let tokenMember = Member(
        Devices.token, .string(TextLimits(minimumLength: 1, maximumLength: 4096)), isRequired: true)
}

/// Functions about what is true for a moment only and kept nowhere.
extension ChatFunction {
    static let typing = ChatFunction(
        "typing", "Tells the others in a room that the caller is typing.", .writes, of: ReadPositions.entity,
        isIdempotent: true,
        input: [ChatInputs.roomMember], output: [ChatInputs.done], at: [.chat(.post, "/chat/v1/rooms/{room}/typing")]
    ) { call in
        let room = try await call.room()
        call.live.signal(
            ChatLiveFeed.typing, ["room": .string(room.id.text), "user": .string(call.caller)], in: room.id,
            of: ChatLiveFeed.name, from: call.caller)
        return ["done": true]
    }

    static let presence = ChatFunction(
        "getpresence", "The members of a room who have a live stream open.", .reads, input: [ChatInputs.roomMember],
        output: [Member("online", .list(of: ChatLimits.accountName), isRequired: true)],
        at: [.chat(.get, "/chat/v1/rooms/{room}/presence")]
    ) { call in
        let room = try await call.room()
        let names = call.live.listeners(in: room.id, of: ChatLiveFeed.name, limit: call.settings.maximumMembers)
        return ["online": .names(names)]
    }
}
