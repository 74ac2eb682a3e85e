import ReplicaStorage
import SyncDevice
import SyncMessages
import ValueTree
import WireFormats

/// The requests of `docs/protocol/sync.md`, and what their answers mean for the device.
struct SyncServer: Sendable {
    let session: Session
    let limits: SyncLimits

    func pull(_ request: PullRequest) async -> (reply: PullReply, error: ClientError?) {
        do {
            let tape = try await session.answer(to: call("pull", request.wireValue)).tape()
            return (.page(try PullPage(reading: tape)), nil)
        } catch {
            let error = ClientError(meaning: error)
            if error.endsSignIn { return (.unauthorized, error) }
            if case .refused(let refusal) = error, refusal.status == 410 { return (.fetchAgain, nil) }
            return (.unavailable, error)
        }
    }

    enum PushResult {
        case reply(PushReply, ClientError?)
        /// The client id belongs to another account: nothing was made, and nothing ever will be under that id.
        case clientIsForeign(ClientError)
    }

    func push(_ request: PushRequest) async -> PushResult {
        do {
            let value = try await value("push", request.wireValue)
            return .reply(.answer(try PushResponse(from: value)), nil)
        } catch {
            let error = ClientError(meaning: error)
            if error.endsSignIn { return .reply(.unauthorized, error) }
            guard case .refused(let refusal) = error else { return .reply(.unavailable, error) }
            switch refusal.status {
            case 403: return .clientIsForeign(error)
            case 410: return .reply(.fetchAgain, nil)
            case 400, 413: return .reply(.refused(refusal.code), error)
            default: return .reply(.unavailable, error)
            }
        }
    }

    /// Waits until there is something after the checkpoint, or the time is over.
    func hasNews(after checkpoint: String, collections: [String]?) async throws -> Bool {
        var query = [
            (name: "checkpoint", value: checkpoint), (name: "limit", value: "1"),
            (name: "wait", value: "\(limits.livePoll.components.seconds)"),
        ]
        if let collections { query.append((name: "collections", value: collections.joined(separator: ","))) }
        let call = ServerCall(
            path: ["sync", "v1", "live"], query: query, deadline: limits.livePoll + limits.deadline,
            largestAnswer: limits.largestAnswer)
        return try PullPage(from: try await session.value(of: call)).hasChanges
    }

    private func value(_ name: String, _ body: WireValue) async throws -> WireValue {
        try await session.value(of: call(name, body))
    }

    private func call(_ name: String, _ body: WireValue) -> ServerCall {
        ServerCall(
            "POST", path: ["sync", "v1", name], body: .value(body), deadline: limits.deadline,
            largestAnswer: limits.largestAnswer)
    }
}

extension ClientError {
    /// Any error of an exchange; a cancelled one got no answer.
    init(meaning error: any Error) {
        switch error {
        case let error as ClientError: self = error
        case let error as SyncMessageError: self = .unreadableAnswer(error.description)
        case is CancellationError: self = .unreachable("cancelled")
        default: self = .unreadableAnswer("\(error)")
        }
    }

    var endsSignIn: Bool {
        switch self {
        case .notSignedIn, .signInEnded: true
        case .refused(let refusal): refusal.status == 401
        default: false
        }
    }
}

extension PullPage {
    /// Reads a page as ``init(from:)`` does, but leaves the records' fields where they lie.
    init(reading tape: Tape) throws(SyncMessageError) {
        var rest: WireDictionary = [:]
        var operations: [RecordOperation] = []
        for member in tape.members(at: 0) {
            let name = tape.string(of: tape.tokens[member])
            guard name == "operations", tape.tokens[member + 1].kind == .array else {
                rest[name] = tape.value(at: member + 1)
                continue
            }
            rest[name] = .array([])
            operations = try Self.operations(tape, at: member + 1)
        }
        try self.init(from: .dictionary(rest))
        self.operations = operations
    }

    private static func operations(_ tape: Tape, at list: Int) throws(SyncMessageError) -> [RecordOperation] {
        var operations: [RecordOperation] = []
        operations.reserveCapacity(tape.tokens[list].memberCount)
        var position = list + 1
        while tape.tokens[position].kind != .end {
            operations.append(try RecordOperation(reading: tape, at: position))
            position = tape.position(after: position)
        }
        return operations
    }
}

extension RecordOperation {
    /// Member by member, where they are as they should be; else as a value, which says what is wrong with it.
    fileprivate init(reading tape: Tape, at position: Int) throws(SyncMessageError) {
        var (collection, id, operation, rev, fields): (String?, String?, String?, Int64?, EncodedFields?)
        for member in tape.members(at: position) {
            let (name, value) = (tape.string(of: tape.tokens[member]), tape.tokens[member + 1])
            switch (name, value.kind) {
            case ("collection", .string): collection = tape.string(of: value)
            case ("id", .string): id = tape.string(of: value)
            case ("operation", .string): operation = tape.string(of: value)
            case ("rev", .int64): rev = value.int64
            case ("fields", .dictionary): fields = EncodedFields(tape, at: member + 1)
            default: break
            }
        }
        if let collection, let id, let rev, operation == "put", let fields {
            self.init(collection: collection, id: id, rev: rev, kind: .put(RecordFields(fields)))
        } else {
            try self.init(from: tape.value(at: position))
        }
    }
}

extension Tape {
    /// The places of a dictionary's keys; none where there is something else.
    fileprivate func members(at position: Int) -> [Int] {
        guard tokens[position].kind == .dictionary else { return [] }
        var members: [Int] = []
        members.reserveCapacity(tokens[position].memberCount)
        var place = position + 1
        while tokens[place].kind == .key {
            members.append(place)
            place = self.position(after: place)
        }
        return members
    }
}
