import AdapterKit
import Synchronization
import UpstreamRecording

/// An adapter that runs as in the host, on records in memory and without a gateway: what a call goes through on both
/// sides of the adapter is done here too (access, defaults, the input's shape, the output's shape).
public struct TestHost: Sendable {
    public let declaration: AdapterDeclaration
    public let adapter: any Adapter
    public let records: MemoryRecords
    public let clock: SettableClock
    private let accounts: MemoryAccounts
    private let upstream: (any Upstream)?
    private let services: Services
    private let faults: RecordFaults?

    /// What the host reaches people and its own store by.
    private struct Services: Sendable {
        let live: any LiveSignals
        let push: any PushSender
        let changeFeed: any ChangeFeed
    }

    /// Declares, makes and starts the adapter. `access` is what the configuration's `access` says; nil: nothing.
    /// `accounts` are the names of those that the host knows; `upstream` is what `adapters.{name}.upstream` leads to, such
    /// as a ``ScriptedUpstream``. The records in memory report no changes: `changeFeed` does. `log` and
    /// `metrics` get what the adapter writes and counts.
    public init(
        _ module: any AdapterModule.Type, _ configuration: AdapterConfiguration = AdapterConfiguration(),
        access: AccessRights? = nil, withSamples: Bool = false, accounts: [String] = ["someone"],
        upstream: (any Upstream)? = nil, live: any LiveSignals = NoLiveSignals(), push: any PushSender = NoPushSender(),
        changeFeed: any ChangeFeed = NoChangeFeed(), clock: SettableClock = SettableClock(),
        log: Log = .discarding, metrics: AdapterMetrics = .discarding
    ) async throws {
        let adapter = try module.make(configuration)
        let declaration = try module.declare(configuration).granting(access ?? AccessRights())
        let records = try MemoryRecords(declaration, clock: clock)
        if withSamples { try await records.load(adapter.sampleRecords()) }
        try await self.init(
            adapter, declaration, records, MemoryAccounts(accounts), upstream,
            Services(live: live, push: push, changeFeed: changeFeed), clock, log, metrics)
    }

    /// The same adapter made anew on a copy of this host's records: much faster than loading its samples again. Its accesses
    /// to the records meet these faults.
    func again(
        _ module: any AdapterModule.Type, _ configuration: AdapterConfiguration, faults: RecordFaults? = nil
    ) async throws -> TestHost {
        try await TestHost(
            module.make(configuration), declaration, try records.copy(), accounts, upstream, services,
            clock, .discarding, .discarding, faults)
    }

    private init(
        _ adapter: any Adapter, _ declaration: AdapterDeclaration, _ records: MemoryRecords,
        _ accounts: MemoryAccounts, _ upstream: (any Upstream)?, _ services: Services,
        _ clock: SettableClock, _ log: Log, _ metrics: AdapterMetrics, _ faults: RecordFaults? = nil
    ) async throws {
        self.faults = faults
        self.adapter = adapter
        self.declaration = declaration
        self.records = records
        self.accounts = accounts
        self.upstream = upstream
        self.services = services
        self.clock = clock
        try await adapter.start(
            AdapterContext(
                records: Self.meeting(faults, records.unrestricted), accounts: accounts, log: log, clock: clock,
                live: services.live, push: services.push, upstream: upstream, changeFeed: services.changeFeed,
                metrics: metrics, readers: { declaration.readers(of: $0) }))
        adapter.activate()
    }

    /// Ends the adapter's work beside its calls, and stops it.
    public func stop() async {
        await adapter.drain()
        await adapter.stop()
    }

    private static func meeting(_ faults: RecordFaults?, _ records: any RecordStore) -> any RecordStore {
        faults?.records(records) ?? records
    }

    /// Calls an operation with an input that a wire format could have been read into.
    ///
    /// Throws the error that a caller would get, and ``OutputMismatch`` where the answer is not of the declared shape.
    @discardableResult
    public func call(
        _ name: OperationName, _ input: WireDictionary = [:], as caller: Principal = .testUser
    ) async throws -> OperationResult {
        guard let operation = declaration.operation(name) else {
            throw PorticoError(.routeNotFound, "There is no such operation.", target: name.text)
        }
        try admit(caller, to: operation)
        let input = operation.input.filled(input)
        try Shape.object(operation.input).check(.dictionary(input))
        let answer = try await adapter.handle(call(operation, input, caller))
        try OutputMismatch.check(answer, of: operation)
        return answer
    }

    /// The value that an operation answers; null where it answers nothing.
    public func value(
        _ name: OperationName, _ input: WireDictionary = [:], as caller: Principal = .testUser
    ) async throws -> WireValue {
        guard case .value(let value) = try await call(name, input, as: caller).content else { return .null }
        return value
    }

    /// Fetches every mirror that the adapter declares, whole, and stores its rows, as the host's first refresh does.
    ///
    /// Throws what ``Adapter/readMirror(_:)`` throws, and `server.internal` for a source whose pages have no end.
    public func refreshMirrors() async throws {
        for source in declaration.mirrors {
            guard let entity = declaration.entity(source.entity) else { continue }
            let changes = try await rows(of: source.entity).compactMap { row -> RecordChange? in
                guard let id = row[entity.key.field.text].flatMap({ RecordID(key: $0) }) else { return nil }
                return RecordChange(
                    entity.name, .replace(id, row.keeping(fieldsOf: entity), orCreate: true))
            }
            _ = try await records.unrestricted.apply(changes)
        }
    }

    /// All rows of a mirror, page by page, as its source answers them.
    func rows(of mirror: EntityName) async throws -> [WireDictionary] {
        var rows: [WireDictionary] = []
        var request = MirrorRequest(mirror)
        for _ in 0..<Self.maximumPages {
            let page = try await adapter.readMirror(request)
            rows += page.rows
            guard let next = page.next else { return rows }
            request = MirrorRequest(mirror, page: next)
        }
        throw PorticoError(.serverInternal, "the pages have no end")
    }

    /// Pages that a source may need at most.
    private static let maximumPages = 10_000

    private func admit(_ caller: Principal, to operation: Operation) throws {
        guard operation.audience == .callers else { return }
        for access in declaration.callers(of: operation) { try access.authorize(caller) }
    }

    private func call(_ operation: Operation, _ input: WireDictionary, _ caller: Principal) -> Call {
        let isBound = operation.audience == .callers && operation.access == nil
        return Call(
            operation: operation.name, input: input, caller: caller, requestID: "test",
            deadline: .now + (operation.deadline ?? .seconds(30)),
            records: Self.meeting(
                faults,
                isBound ? records.seen(by: caller, writing: declaration) : records.seen(by: caller)),
            log: .discarding)
    }
}

extension Principal {
    /// A user without roles.
    public static let testUser = Principal(kind: .user, id: "someone", name: "someone")

    public static func user(_ name: String, roles: Set<RoleName> = []) -> Principal {
        Principal(kind: .user, id: name, name: name, roles: roles)
    }
}

extension WireDictionary {
    fileprivate func keeping(fieldsOf entity: Entity) -> WireDictionary {
        WireDictionary(uncheckedUniqueKeys: filter { member in entity.fields.contains { $0.name.text == member.key } })
    }
}

extension ObjectShape {
    /// With the defaults of the members that were left out.
    func filled(_ input: WireDictionary) -> WireDictionary {
        var filled = input
        for member in members where filled[member.name.text] == nil {
            if let value = member.defaultValue { filled[member.name.text] = value }
        }
        return filled
    }
}

/// An answer that is not what its operation declares: always the adapter's fault.
public struct OutputMismatch: Error, Equatable, CustomStringConvertible {
    public let operation: OperationName
    public let reason: String

    public var description: String { "\(operation) answers what it does not declare: \(reason)" }

    static func check(_ answer: OperationResult, of operation: Operation) throws {
        switch answer.content {
        case .nothing: return
        case .value(let value):
            guard operation.documentType == nil else {
                throw OutputMismatch(operation: operation.name, reason: "a value instead of a document")
            }
            do {
                try operation.output.check(value)
            } catch {
                throw OutputMismatch(operation: operation.name, reason: error.message)
            }
        case .document(_, let mediaType):
            guard mediaType == operation.documentType else {
                throw OutputMismatch(operation: operation.name, reason: "a document of type \(mediaType)")
            }
        }
    }
}

/// Accounts of these names, each its own id and display name.
public struct MemoryAccounts: AccountLookup {
    private let names: [String]

    public init(_ names: [String]) {
        self.names = names.sorted { $0.lowercased() < $1.lowercased() }
    }

    public func account(named name: String) async throws -> AccountSummary? {
        names.first { $0.lowercased() == name.lowercased() }.map(Self.summary)
    }

    public func accounts(after name: String?, limit: Int) async throws -> [AccountSummary] {
        let later = names.filter { one in name.map { one.lowercased() > $0.lowercased() } ?? true }
        return later.prefix(limit).map(Self.summary)
    }

    private static func summary(_ name: String) -> AccountSummary {
        AccountSummary(id: name, name: name, displayName: name)
    }
}

/// Another system in a test: what it answers is a function of the request and of who calls, and every request is
/// remembered.
public final class ScriptedUpstream: Upstream {
    public struct Asked: Sendable {
        public let request: UpstreamRequest
        /// Nil: in the system's own name.
        public let caller: Principal?
    }

    public typealias Answer = @Sendable (UpstreamRequest, Principal?) async throws(UpstreamFailure) -> UpstreamResponse

    public let name: UpstreamName
    public let url: UpstreamAddress
    public let actsForCallers: Bool
    private let pieceBytes: Int
    private let answer: Answer
    private let log = Mutex<[Asked]>([])

    /// `url` ends in a slash. Bodies arrive in pieces of `pieceBytes`.
    public init(
        name: UpstreamName = "upstream", url: UpstreamAddress, actsForCallers: Bool = false, pieceBytes: Int = 65_536,
        answer: @escaping Answer
    ) {
        self.name = name
        self.url = url
        self.actsForCallers = actsForCallers
        self.pieceBytes = max(1, pieceBytes)
        self.answer = answer
    }

    /// In the order in which they came.
    public var asked: [Asked] { log.withLock { $0 } }

    public func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure)
        -> UpstreamStream
    {
        if actsForCallers, caller == nil { throw UpstreamFailure(.signInRequired, of: name) }
        log.withLock { $0.append(Asked(request: request, caller: caller)) }
        let response = try await answer(request, caller)
        return UpstreamStream(
            address: response.address, status: response.status, fields: response.fields,
            body: BufferedUpstreamBody(response.body, pieceBytes: pieceBytes))
    }
}

/// A clock that stands still until it is set.
public final class SettableClock: WallClock {
    private let instant: Mutex<WireDate>

    /// Starts at 2026-01-01T00:00:00Z by default.
    public init(_ instant: WireDate = WireDate(secondsSince1970: 1_767_225_600)) {
        self.instant = Mutex(instant)
    }

    public func now() -> WireDate {
        instant.withLock { $0 }
    }

    public func advance(seconds: Double) {
        instant.withLock { $0 = WireDate(secondsSinceReferenceDate: $0.secondsSinceReferenceDate + seconds) }
    }
}
