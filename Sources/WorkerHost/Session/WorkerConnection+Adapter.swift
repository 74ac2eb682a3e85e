import AdapterKit
import AdapterProtocol
import Synchronization

extension WorkerConnection {
    public func start(_ context: AdapterContext) async throws {
        use(context)
        let parameters = StartParameters(
            upstream: context.upstream?.name,
            upstreams: context.upstreams.values.sorted { $0.name < $1.name }.map {
                UpstreamDescription(name: $0.name, url: $0.url, actsForCallers: $0.actsForCallers)
            }, platforms: context.push.platforms)
        _ = try await ask(RequestMethod.start, parameters.message.dictionaryValue ?? [:])
    }

    public func switchWork(on isOn: Bool) async throws {
        _ = try await ask(isOn ? RequestMethod.activate : RequestMethod.drain)
    }

    public func stop() async { _ = try? await ask(RequestMethod.stop) }

    public func handle(_ call: Call) async throws -> OperationResult {
        var parameters: WireDictionary = [
            "operation": call.operation.message, "input": .dictionary(call.input), "caller": call.caller.message,
            "requestID": call.requestID.message, "left": (call.deadline - .now).message,
        ]
        parameters["session"] = call.session?.message
        parameters["context"] = contextMessage
        let scope = CallScope(caller: call.caller, records: call.records)
        let result = try read(
            OperationResult.self, try await ask(RequestMethod.call, parameters, scope), of: RequestMethod.call)
        guard let version = result.validators?.version, !Validators.isTagText(version) else { return result }
        Log(log).warning(
            "a version that no entity tag can have was left out",
            ["operation": .text(call.operation.text), "version": .text(version.cut(toBytes: 100))])
        return OperationResult(
            result.content, validators: Validators(lastModified: result.validators?.lastModified), age: result.age)
    }

    public func handle(_ request: MountRequest) async throws -> MountResponse {
        let connection = try messages
        try beginMount()
        let (sent, value, scope): (MessageBody, WireValue, Int)
        do {
            sent = try MessageBody.sending(request.body, over: connection)
            var parameters: WireDictionary = [
                "mount": request.mount.message, "method": request.method.message, "target": request.target.message,
                "origin": request.origin.message, "headers": request.headers.withoutCredentials.message,
                "body": sent.message, "caller": request.caller.message, "requestID": request.requestID.message,
                "left": (request.deadline - .now).message,
            ]
            parameters["context"] = contextMessage
            (value, scope) = try await askKeepingScope(
                RequestMethod.mount, parameters,
                CallScope(caller: request.caller, records: request.records, ages: request.ages))
        } catch {
            endMount()
            throw error
        }
        // A worker may answer without reading the request's body.
        let finish: @Sendable () -> Void = { [self] in
            leave(scope)
            endMount()
            if case .stream(let number) = sent.content { connection.stopSending(number) }
        }
        do {
            let head = try read(MountHead.self, value, of: RequestMethod.mount)
            switch head.body.content {
            case .bytes(let bytes) where bytes.count > Self.heldBody:
                return MountResponse(
                    head.status, headers: head.headers, body: .stream(HeldBody(bytes, whenDone: finish)))
            case .bytes(let bytes):
                finish()
                return MountResponse(head.status, headers: head.headers, body: .bytes(bytes))
            case .stream(let number):
                let body = try connection.body(of: number, whenDone: finish)
                return MountResponse(head.status, headers: head.headers, body: .stream(body))
            }
        } catch let error as MessageError {
            finish()
            throw endForViolation("\(RequestMethod.mount): \(error)")
        } catch let ended as ConnectionEnded {
            finish()
            throw WorkerEnded(WorkerEnd(ended.end), wasSent: true)
        } catch {
            finish()
            throw error
        }
    }

    /// Longer bodies that are no streams count as answers that have not ended until they were sent.
    private static let heldBody = 256 << 10

    public func shapedError(
        _ error: PorticoError, status: Int, to failure: MountFailure
    ) async throws -> MountResponse? {
        let connection = try messages
        let failure = MountFailure(
            mount: failure.mount, method: failure.method, target: failure.target,
            headers: failure.headers.withoutCredentials, requestID: failure.requestID)
        let (value, scope) = try await askKeepingScope(
            RequestMethod.shapeError,
            [
                "error": CrossingError.error(error).message, "status": status.message, "failure": failure.message,
            ], CallScope())
        defer { leave(scope) }
        guard let head = try read(MountHead?.self, value, of: RequestMethod.shapeError) else { return nil }
        let body = try await head.body.collected(over: connection, limit: Self.maximumErrorBody)
        return MountResponse(head.status, headers: head.headers, body: .bytes(body))
    }

    private static var maximumErrorBody: Int { 1 << 20 }

    public func resolve(_ conflict: RecordConflict) async throws -> ConflictResolution {
        var parameters: WireDictionary = ["conflict": conflict.message]
        parameters["context"] = contextMessage
        let message = try await ask(RequestMethod.resolve, parameters, CallScope(caller: conflict.caller))
        return try read(ConflictResolution.self, message, of: RequestMethod.resolve)
    }

    public func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        var parameters: WireDictionary = ["request": request.message]
        parameters["context"] = contextMessage
        let message = try await ask(RequestMethod.readMirror, parameters, CallScope(caller: request.caller))
        return try read(MirrorPage.self, message, of: RequestMethod.readMirror)
    }

    public func readMirror(_ entity: EntityName, _ id: RecordID) async throws -> MirrorRecord {
        var parameters: WireDictionary = ["entity": entity.message, "id": id.message]
        parameters["context"] = contextMessage
        let message = try await ask(RequestMethod.readMirrorRecord, parameters)
        return try read(MirrorRecord.self, message, of: RequestMethod.readMirrorRecord)
    }

    public func writeMirror(_ change: MirrorChange) async throws -> MirrorWriteResult {
        var parameters: WireDictionary = ["change": change.message]
        parameters["context"] = contextMessage
        let message = try await ask(RequestMethod.writeMirror, parameters)
        return try read(MirrorWriteResult.self, message, of: RequestMethod.writeMirror)
    }

    public func answer(_ question: RuleQuestion) async throws -> WireValue {
        var parameters = question.parameters
        parameters["context"] = contextMessage
        var scope = CallScope()
        scope.ruleReads = question.reads
        question.reads.restart()
        let message = try await ask(question.method, parameters, scope)
        guard question.method == RequestMethod.prepareRule else { return .null }
        let prepared = try read(PreparedChange.self, message, of: question.method)
        // Here, so that no transaction begins with so many.
        do { try prepared.checkFirst(atMost: question.maximumFirst) } catch {
            Log(log).error("rules put too many changes first", ["detail": .text(error.logDetail ?? "")])
            throw error
        }
        return prepared.message
    }

    public func frontPageEntries() async throws -> [FrontPageEntry] {
        try read([FrontPageEntry].self, try await ask(RequestMethod.frontPage), of: RequestMethod.frontPage)
    }

    public var serviceOperations: [any ServiceOperations] {
        services.map { SessionServiceOperations(names: $0, worker: self) }
    }

    fileprivate var contextMessage: WireValue? { CallContext.current.map { ContextValues($0).message } }
}

extension Validators {
    /// Whether an entity tag can be made of it (RFC 9110, section 8.8.3), of ASCII, and not too long to come back in a request.
    fileprivate static func isTagText(_ version: String) -> Bool {
        (1...longestVersion).contains(version.utf8.count)
            && version.utf8.allSatisfy {
                (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ",")
            }
    }

    private static let longestVersion = 200
}

extension MountHeaders {
    /// The host knows the caller by these; a program that had them could act as the caller at other adapters.
    private static let credentials: Set<String> = ["authorization", "cookie", "proxy-authorization", "x-csrf-token"]

    fileprivate var withoutCredentials: MountHeaders {
        MountHeaders(fields.filter { !Self.credentials.contains($0.name.lowercased()) })
    }
}

/// A body that is there, as a stream. `whenDone` is called once, when it was sent or is not wanted any more.
private final class HeldBody: ByteStream {
    /// Not the function itself: each use of one in a lock leaves it wrapped once more.
    private struct Completion {
        let whenDone: @Sendable () -> Void
    }

    private let piece: SingleChunkStream
    private let completion: Mutex<Completion?>

    init(_ bytes: [UInt8], whenDone: @escaping @Sendable () -> Void) {
        piece = SingleChunkStream(bytes)
        completion = Mutex(Completion(whenDone: whenDone))
    }

    deinit { cancel() }

    func next() async throws -> [UInt8]? {
        let bytes = try await piece.next()
        if bytes == nil { cancel() }
        return bytes
    }

    func cancel() {
        piece.cancel()
        completion.withLock { $0.take() }?.whenDone()
    }
}

/// The head of a mount's response.
private struct MountHead: MessageValue {
    let status: Int
    let headers: MountHeaders
    let body: MessageBody

    var message: WireValue {
        ["status": status.message, "headers": headers.message, "body": body.message]
    }

    init(message: WireValue) throws {
        let map = try MessageMap(message)
        status = try map("status")
        headers = try map("headers", default: [:])
        body = try map("body", default: MessageBody(.bytes([])))
    }
}

private struct SessionServiceOperations: ServiceOperations {
    let names: Set<String>
    let worker: WorkerConnection

    func perform(_ call: ServiceCall) async throws -> ServiceResult {
        let scope = CallScope(caller: call.caller, records: call.service.records, service: call.service)
        var parameters: WireDictionary = [
            "name": call.name.message, "parameters": call.parameters.message, "arguments": call.arguments.message,
            "binding": call.binding.message, "caller": call.caller.message,
        ]
        parameters["context"] = worker.contextMessage
        let message = try await worker.ask(RequestMethod.performService, parameters, scope)
        return try worker.read(ServiceResult.self, message, of: RequestMethod.performService)
    }
}
