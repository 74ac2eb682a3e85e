import AdapterKit
import AdapterProtocol

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

struct HostAccounts: AccountLookup {
    let connection: MessageConnection

    func account(named name: String) async throws -> AccountSummary? {
        try AccountSummary?(
            message: try await connection.hostRequest(
                RequestMethod.account, ["name": name.message], scope: HostCall.current?.scope))
    }

    func accounts(after name: String?, limit: Int) async throws -> [AccountSummary] {
        try [AccountSummary](
            message: try await connection.hostRequest(
                RequestMethod.accounts, ["after": name.message, "limit": limit.message], scope: HostCall.current?.scope)
        )
    }

    func hasSession(_ session: String, of account: String) async throws -> Bool {
        try Bool(
            message: try await connection.hostRequest(
                RequestMethod.hasSession, ["session": session.message, "account": account.message],
                scope: HostCall.current?.scope))
    }
}

struct HostLiveSignals: LiveSignals {
    let connection: MessageConnection

    func signal(
        _ event: EventName, _ data: WireDictionary, in group: RecordID, of feed: LiveFeedName, from sender: String
    ) {
        connection.report(
            RequestMethod.signal,
            [
                "event": event.message, "data": data.message, "group": group.message, "feed": feed.message,
                "from": sender.message,
            ])
    }

    func listeners(in group: RecordID, of feed: LiveFeedName, limit: Int) -> [String] {
        let response = try? connection.blockingHostRequest(
            RequestMethod.listeners, ["group": group.message, "feed": feed.message, "limit": limit.message], scope: nil)
        return (try? response.map { try [String](message: $0) }) ?? []
    }
}

struct HostPushSender: PushSender {
    let platforms: [PushPlatform]
    let connection: MessageConnection

    func send(_ note: PushNotification, to device: PushDevice) async -> PushDelivery {
        do {
            return try PushDelivery(
                message: try await connection.hostRequest(
                    RequestMethod.push, ["note": note.message, "device": device.message], scope: HostCall.current?.scope
                ))
        } catch {
            return .failed("\(error)")
        }
    }
}

struct HostChangeFeed: ChangeFeed {
    let connection: MessageConnection

    var position: Revision {
        let response = try? connection.blockingHostRequest(RequestMethod.changePosition, scope: nil)
        return (try? response.map { try Revision(message: $0) }) ?? Revision(0)
    }

    func created(in entity: EntityName, after position: Revision) async throws -> CreatedRecords {
        try CreatedRecords(
            message: try await connection.hostRequest(
                RequestMethod.created, ["entity": entity.message, "after": position.message], scope: nil))
    }
}

struct HostAges: RecordAges {
    let connection: MessageConnection
    let scope: Int

    func age(of entities: Set<EntityName>) async throws -> RecordAge? {
        try RecordAge?(
            message: try await connection.hostRequest(RequestMethod.age, ["entities": entities.message], scope: scope))
    }
}

struct HostServiceRecords: ServiceRecords {
    let connection: MessageConnection
    let scope: Int

    var records: any RecordStore { HostRecords(connection, caller: scope) }

    func entity(of set: String) -> EntityName? {
        let response = try? connection.blockingHostRequest(
            RequestMethod.serviceEntity, ["set": set.message], scope: scope)
        return (try? response.map { try EntityName?(message: $0) }) ?? nil
    }

    func field(_ property: String, of set: String) -> FieldName? {
        let response = try? connection.blockingHostRequest(
            RequestMethod.serviceField, ["set": set.message, "property": property.message], scope: scope)
        return (try? response.map { try FieldName?(message: $0) }) ?? nil
    }

    func reseed() async throws { _ = try await connection.hostRequest(RequestMethod.reseed, scope: scope) }
}

struct HostUpstream: Upstream {
    let name: UpstreamName
    let url: UpstreamAddress
    let actsForCallers: Bool
    private let connection: MessageConnection

    init(_ description: UpstreamDescription, _ connection: MessageConnection) {
        name = description.name
        url = description.url
        actsForCallers = description.actsForCallers
        self.connection = connection
    }

    func stream(
        _ request: UpstreamRequest, for caller: Principal?
    ) async throws(UpstreamFailure) -> UpstreamStream {
        let (response, content) = try await ask(request, caller, isWhole: false)
        return UpstreamStream(
            address: response.address, status: response.status, fields: response.fields, body: body(content))
    }

    func send(
        _ request: UpstreamRequest, for caller: Principal?
    ) async throws(UpstreamFailure) -> UpstreamResponse {
        let (response, content) = try await ask(request, caller, isWhole: true)
        var bytes: [UInt8] = []
        let body = body(content)
        while let piece = try await body.nextPiece() { bytes += piece }
        return UpstreamResponse(
            address: response.address, status: response.status, fields: response.fields, body: bytes)
    }

    private func ask(
        _ request: UpstreamRequest, _ caller: Principal?, isWhole: Bool
    ) async throws(UpstreamFailure) -> (UpstreamResponse, MessageBody.Content) {
        do {
            var parameters = request.parameters
            parameters["upstream"] = name.message
            parameters["whole"] = isWhole.message
            parameters["isStreamed"] = (request.streamedBody != nil).message
            parameters["caller"] = caller.map { $0.id.message }
            let body: MessageBody =
                if let stream = request.streamedBody {
                    MessageBody(.stream(try connection.send(stream)))
                } else {
                    try .sending(request.body, over: connection)
                }
            parameters["body"] = body.message
            let message = try await connection.hostRequest(
                RequestMethod.upstream, parameters, scope: HostCall.current?.scope)
            let map = try MessageMap(message)
            return (
                UpstreamResponse(
                    address: try map("address"), status: try map("status"), fields: try map("fields"), body: []),
                try map("body", as: MessageBody.self).content
            )
        } catch {
            throw failure(error)
        }
    }

    private func body(_ content: MessageBody.Content) -> HostUpstreamBody {
        let pieces: any ByteStream
        do {
            pieces =
                switch content {
                case .bytes(let bytes): SingleChunkStream(bytes)
                case .stream(let number): try connection.body(of: number)
                }
        } catch {
            pieces = FailedBody(error: error)
        }
        return HostUpstreamBody(pieces, failure)
    }

    private func failure(_ error: any Error) -> UpstreamFailure {
        switch error {
        case let failure as UpstreamFailure: failure
        case is CancellationError: UpstreamFailure(.cancelled, of: name)
        case let error as PorticoError where error.code == .adapterUnavailable:
            UpstreamFailure(.broken, of: name, detail: error.message)
        case let error as PorticoError where error.code == .overloaded: UpstreamFailure(.overloaded, of: name)
        default: UpstreamFailure(.broken, of: name, detail: "\(error)")
        }
    }
}

private final class HostUpstreamBody: UpstreamBody {
    private let pieces: any ByteStream
    private let failure: @Sendable (any Error) -> UpstreamFailure

    init(_ pieces: any ByteStream, _ failure: @escaping @Sendable (any Error) -> UpstreamFailure) {
        self.pieces = pieces
        self.failure = failure
    }

    deinit { pieces.cancel() }

    func nextPiece() async throws(UpstreamFailure) -> [UInt8]? {
        do { return try await pieces.next() } catch { throw failure(error) }
    }

    func cancel() { pieces.cancel() }
}

private struct FailedBody: ByteStream {
    let error: any Error
    func next() async throws -> [UInt8]? { throw error }
    func cancel() {}
}

struct SystemWallClock: WallClock {
    func now() -> WireDate {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WireDate(secondsSince1970: time.tv_sec, nanoseconds: time.tv_nsec)
    }
}
