import AdapterKit
import Synchronization

/// The adapter of a connection file: its entities are mirrors, its operations ask the other system.
public final class ConnectedAdapter: Adapter {
    private let connection: Connection
    private let directory: String
    private let started = Mutex<AdapterContext?>(nil)

    /// `directory`: from which relative paths of files are meant, that of the connection file.
    public init(_ connection: Connection, directory: String) {
        self.connection = connection
        self.directory = directory
    }

    public func start(_ context: AdapterContext) { started.withLock { $0 = context } }

    public func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        let connected = try entity(request.entity)
        if let file = connected.file(in: directory, connection.revision) {
            guard let context = started.withLock({ $0 }) else {
                throw PorticoError(.adapterUnavailable, "The adapter has not started.")
            }
            return try await file.page(request, at: context.clock.now())
        }
        return try await source(connected).page(request)
    }

    public func readMirror(_ entity: EntityName, _ id: RecordID) async throws -> MirrorRecord {
        try await source(try self.entity(entity)).record(id)
    }

    public func writeMirror(_ change: MirrorChange) async throws -> MirrorWriteResult {
        try await source(try entity(change.entity)).write(change)
    }

    private func entity(_ name: EntityName) throws -> ConnectedEntity {
        guard let connected = connection.entities.first(where: { $0.name == name }) else {
            throw PorticoError(.adapterUnavailable, "This adapter mirrors no \(name).")
        }
        return connected
    }

    private func source(_ connected: ConnectedEntity) throws -> ConnectedEntitySource {
        let (upstream, clock) = try system()
        guard case .address(let request) = connected.source else {
            throw PorticoError(.adapterUnavailable, "The entity \(connected.name) is a file.")
        }
        return ConnectedEntitySource(
            connected: connected, request: request, upstream: upstream, headers: connection.headers, clock: clock,
            revision: connection.revision)
    }

    private func system() throws -> (any Upstream, any WallClock) {
        guard let context = started.withLock({ $0 }), let upstream = context.upstream else {
            throw PorticoError(.adapterUnavailable, "No upstream is configured.")
        }
        return (upstream, context.clock)
    }

    public func handle(_ call: Call) async throws -> OperationResult {
        guard let operation = connection.operations.first(where: { $0.operation.name == call.operation }) else {
            throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
        }
        let (upstream, _) = try system()
        return try await operation.perform(call.input, of: upstream, for: call.caller, connection.headers)
    }
}

extension ConnectedEntity {
    /// Nil where its rows are in another system.
    func file(in directory: String, _ revision: String) -> FileSource? {
        guard case .file(let path) = source else { return nil }
        return FileSource(path: path.hasPrefix("/") ? path : "\(directory)/\(path)", mapping: rows, revision: revision)
    }
}

extension ConnectedOperation {
    /// As ``askSystem(_:of:for:_:)``, and throws `upstream.outcomeUnknown` where the system may have made a change and its
    /// answer does not say so.
    func perform(
        _ input: WireDictionary, of upstream: any Upstream, for caller: Principal,
        _ headers: [(name: String, value: String)]
    ) async throws -> OperationResult {
        do { return try await askSystem(input, of: upstream, for: caller, headers) } catch let error
            where operation.effect == .writes && !(error is PorticoError)
        {
            // Only where nothing can have been sent, nothing was done.
            guard case .unknown(let detail) = MirrorWriteResult(error) else { throw error }
            throw PorticoError(outcomeUnknownOf: upstream.name, detail)
        }
    }

    /// Asks the system. Throws ``PorticoError`` for what the caller should learn, ``UpstreamFailure`` and
    /// ``MirrorRefusal`` for failures of the system.
    func askSystem(
        _ input: WireDictionary, of upstream: any Upstream, for caller: Principal,
        _ headers: [(name: String, value: String)]
    ) async throws -> OperationResult {
        var asked: UpstreamRequest
        do {
            asked = try request.request(of: upstream, TemplateValues(values: input, mappings: self.input))
        } catch let problem as Template.Problem {
            throw PorticoError(.requestInvalid, problem.message)
        }
        if operation.effect == .reads { asked.isIdempotent = true }
        let response = try await upstream.send(asked.accepting(answer.format, headers), for: caller)
        try Self.checkStatus(response, of: upstream)
        if operation.effect == .writes, response.isSuccess, response.body.isEmpty {
            return .value(isList ? [Self.items.text: []] : [:])
        }
        if operation.effect == .writes, case .unknown(let detail) = MirrorWriteResult(response, of: upstream.name) {
            throw PorticoError(outcomeUnknownOf: upstream.name, detail)
        }
        let document = try response.document(answer, of: upstream.name)
        guard isList else {
            try answer.checkSuccess(document)
            guard let item = request.item.value(in: document, isXML: answer.format == .xml), item.dictionaryValue != nil
            else { throw MirrorRefusal(.unexpected, "the answer is no dictionary") }
            return .value(.dictionary(fitting(try answer.row(item))), age: response.age)
        }
        let items = try answer.items(document).map { WireValue.dictionary(fitting(try answer.row($0))) }
        return .value([Self.items.text: .array(items)], age: response.age)
    }

    /// An answer to the caller, not a failure of the system.
    private static func checkStatus(_ response: UpstreamResponse, of upstream: any Upstream) throws {
        switch response.status {
        case 401 where upstream.actsForCallers, 403 where upstream.actsForCallers:
            throw PorticoError(.accessDenied, "The system \(upstream.name) does not let you do this.")
        case 404, 410: throw PorticoError(.recordNotFound, "The system \(upstream.name) has no such thing.")
        case 400, 409, 422:
            throw PorticoError(
                .requestInvalid, "The system \(upstream.name) refused the request (\(response.status)).")
        default: return
        }
    }

    /// Without what does not fit its field.
    private func fitting(_ row: WireDictionary) -> WireDictionary {
        var fitting = WireDictionary()
        for field in answer.fields {
            guard let value = row[field.name.text] else { continue }
            if value.isNull || (try? field.type.shape.check(value, at: field.name.text)) != nil {
                fitting[field.name.text] = value
            }
        }
        return fitting
    }
}

extension PorticoError {
    fileprivate init(outcomeUnknownOf upstream: UpstreamName, _ detail: String) {
        self.init(
            .upstreamOutcomeUnknown, "It is unknown whether the system \(upstream) has made the change.",
            logDetail: detail)
    }
}
