import AdapterKit
import Dispatch
import Synchronization

/// What one side does with the other's messages.
public protocol MessageHandler: Sendable {
    /// Answers a request, in a task that is cancelled where the other side waits no more. What it throws crosses as
    /// ``CrossingError``.
    func respond(to request: Message.Request, over connection: MessageConnection) async throws -> WireValue

    /// Takes an event. Called by the reader's thread, in the order of the messages; it returns at once.
    func receive(event: String, scope: Int?, _ parameters: WireDictionary)

    /// The connection has ended. Called once.
    func ended(_ end: ConnectionEnd)
}

/// The connection had ended, or ended before a request was answered.
public struct ConnectionEnded: Error, Sendable, Equatable {
    /// Why.
    public let end: ConnectionEnd
    /// Whether the request had been given to the connection before.
    public let wasSent: Bool
}

/// One side of a connection between host and worker, over a stream socket: requests both ways, events and streams.
///
/// A thread of its own reads. The caller that has something to send writes it at once, together with what others add meanwhile, so
/// that several messages go in one write; where the socket has no room, a thread waits for it. Safe to use from any task.
public final class MessageConnection: Sendable {
    private enum Waiter {
        case task(CheckedContinuation<WireValue, any Error>)
        case thread(BlockedRequest)

        func resume(_ result: Result<WireValue, any Error>) {
            switch self {
            case .task(let continuation): continuation.resume(with: result)
            case .thread(let request): request.resume(result)
            }
        }
    }

    private struct State {
        var machine: ConnectionState
        /// Let go at the end, since it mostly holds the connection.
        var handler: (any MessageHandler)?
        var end: ConnectionEnd?
        var waiters: [Int: Waiter] = [:]
        /// Requests whose responses say nothing but that the other side reads.
        var heartbeats: Set<Int> = []
        /// Messages and pieces that have come, but for responses to heartbeats.
        var received = 0
        var tasks: [Int: Task<Void, Never>] = [:]
        var incoming: [Int: IncomingStream] = [:]
        var outgoing: [Int: OutgoingStream] = [:]
        /// Behind what is just being written.
        var output: [UInt8] = []
        var isWriting = false

        /// Whether it is the response to a heartbeat.
        mutating func takeHeartbeat(_ message: Message) -> Bool {
            guard case .response(let number, _) = message else { return false }
            return heartbeats.remove(number) != nil
        }
    }

    /// What an encoder keeps for the next message.
    private static let keptEncoder = 256 << 10

    private struct OutgoingStream {
        let body: any ByteStream
        var task: Task<Void, Never>?
        var waiter: CheckedContinuation<Void, Never>?
        /// Not wanted any more. Said under the lock, unlike the end of its task.
        var isStopped = false
    }

    private let socket: SocketEnd
    private let limits: ConnectionLimits
    private let state: Mutex<State>
    /// Of the last message, for the next one, so that a long one does not grow again.
    private let encoder = Mutex<CBOREncoder?>(nil)

    /// Takes the socket over. Nothing is read before ``start()``.
    public init(socket: Int32, limits: ConnectionLimits = ConnectionLimits(), handler: any MessageHandler) {
        self.socket = SocketEnd(socket)
        self.limits = limits
        state = Mutex(State(machine: ConnectionState(limits), handler: handler))
    }

    /// Begins to read.
    public func start() {
        guard SystemThread.start({ self.read() }) else { return end(.violation("there is no thread to read with")) }
    }

    /// Ends the connection and every request under way.
    public func close() { end(.closed) }

    /// How many messages and pieces of bodies have come so far, but for responses to ``RequestMethod/ping``, which the other side's
    /// reader gives whatever its calls do.
    public var received: Int { state.withLock { $0.received } }

    // MARK: Requests

    /// Asks the other side and returns its response. Throws what it throws, ``ConnectionEnded``, `CancellationError` where
    /// the task is cancelled, and `server.overloaded` where too many requests are under way. Of the body that its parameters
    /// name nothing more is sent then.
    ///
    /// `willSend` is called with the request's number before the other side can see it. It returns at once.
    public func request(
        _ method: String, _ parameters: WireDictionary = [:], scope: Int? = nil,
        willSend: @Sendable (Int) -> Void = { _ in }
    ) async throws -> WireValue {
        do {
            let body = try encode(method, parameters, scope)
            try Task.checkCancellation()
            let number = Mutex<Int?>(nil)
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    // Not under the lock: where the socket is closed, sending ends all tasks, this one among them.
                    let sent = send(
                        body, .task(continuation), isHeartbeat: method == RequestMethod.ping, willSend)
                    number.withLock { $0 = sent }
                    if Task.isCancelled, let sent { abandon(sent) }
                }
            } onCancel: {
                if let sent = number.withLock({ $0 }) { abandon(sent) }
            }
        } catch {
            if let body = MessageBody.stream(of: parameters) { stopSending(body) }
            throw error
        }
    }

    /// As ``request(_:_:scope:)``, for code that cannot wait otherwise: it blocks its thread.
    public func blockingRequest(
        _ method: String, _ parameters: WireDictionary = [:], scope: Int? = nil
    ) throws -> WireValue {
        let waiting = BlockedRequest()
        _ = send(try encode(method, parameters, scope), .thread(waiting))
        return try waiting.wait()
    }

    /// Reports something, unless so much waits to be sent that it is dropped: false then.
    @discardableResult
    public func report(_ event: String, _ parameters: WireDictionary, scope: Int? = nil) -> Bool {
        var isSent = false
        try? send(.event(event, scope: scope, parameters)) { state in
            isSent = state.end == nil && state.output.count < limits.eventQueue
            return isSent
        }
        return isSent
    }

    /// A request without its number, which is known only when it has its turn.
    private struct EncodedRequest {
        /// The members that follow the number.
        let members: [UInt8]
        let count: Int
    }

    private func encode(_ method: String, _ parameters: WireDictionary, _ scope: Int?) throws -> EncodedRequest {
        var members = CBOREncoder()
        members.append("method")
        members.append(method)
        if let scope {
            members.append("for")
            members.append(Int64(scope))
        }
        members.append("params")
        try members.append(parameters)
        let bytes = members.bytes
        try check(bytes.count)
        return EncodedRequest(members: bytes, count: scope == nil ? 3 : 4)
    }

    private func check(_ count: Int) throws {
        // With room for the number that stands before it.
        guard count <= limits.frame - 64 else {
            throw PorticoError(
                .requestTooLarge, "The value is too large for one message between the gateway and the adapter.",
                logDetail: "a message of \(count) bytes, more than \(limits.frame)")
        }
    }

    /// The request's number; nil where it could not be sent, which the waiter then knows.
    private func send(
        _ request: EncodedRequest, _ waiter: Waiter, isHeartbeat: Bool = false, _ willSend: (Int) -> Void = { _ in }
    ) -> Int? {
        let result: Result<Int, any Error> = write { state in
            if let end = state.end { return .failure(ConnectionEnded(end: end, wasSent: false)) }
            guard state.output.count < limits.queue, let number = state.machine.beginRequest() else {
                return .failure(PorticoError(.overloaded, "Too many calls are under way.", retryAfter: 1))
            }
            state.waiters[number] = waiter
            if isHeartbeat { state.heartbeats.insert(number) }
            willSend(number)
            var frame = CBOREncoder()
            frame.appendFrame { frame in
                frame.append(mapOf: request.count)
                frame.append("request")
                frame.append(Int64(number))
                frame.append(request.members)
            }
            state.output += frame.bytes
            return .success(number)
        }
        switch result {
        case .success(let number): return number
        case .failure(let error):
            waiter.resume(.failure(error))
            return nil
        }
    }

    private func abandon(_ number: Int) {
        let waiter = state.withLock { state -> Waiter? in
            guard state.machine.abandon(number) else { return nil }
            return state.waiters.removeValue(forKey: number)
        }
        guard let waiter else { return }
        sendNow(.cancel(number))
        waiter.resume(.failure(CancellationError()))
    }

    // MARK: Streams

    /// Sends a body, as fast as the other side reads it. Returns the stream's number, for the message that names it.
    ///
    /// `whenDone` is called once, when the last piece was sent or none is wanted any more.
    public func send(_ body: any ByteStream, whenDone: @escaping @Sendable () -> Void = {}) throws -> Int {
        let number = state.withLock { state -> Int? in
            guard state.end == nil, let number = state.machine.beginStream() else { return nil }
            // Numbers grow for the other side too, whichever stream's task has its first turn: an empty piece goes first.
            var announcement = CBOREncoder()
            announcement.appendPiece([], ofStream: number)
            announcement.withBytes { state.output += $0 }
            // Under the lock, so that the task is there before anything can end it.
            state.outgoing[number] = OutgoingStream(
                body: body,
                task: Task {
                    await self.pump(body, number)
                    whenDone()
                })
            return number
        }
        guard let number else {
            body.cancel()
            whenDone()
            throw PorticoError(.overloaded, "Too many bodies are under way.", retryAfter: 1)
        }
        return number
    }

    private func pump(_ body: any ByteStream, _ number: Int) async {
        var failure: CrossingError?
        do {
            while let piece = try await body.next() {
                guard await send(piece, of: number) else { break }
            }
        } catch {
            failure = CrossingError(error)
        }
        body.cancel()
        sendNow(.end(stream: number, failure)) { state in
            state.machine.endStream(number)
            state.outgoing[number] = nil
            return state.end == nil
        }
    }

    /// False where the stream is no longer wanted.
    private func send(_ piece: [UInt8], of number: Int) async -> Bool {
        var rest = piece[...]
        while !rest.isEmpty {
            let count = state.withLock { state -> Int? in
                guard state.end == nil, state.outgoing[number]?.isStopped == false else { return nil }
                return state.machine.takeCredit(of: number, rest.count)
            }
            guard let count else { return false }
            if count > 0 {
                send(rest.prefix(count), ofStream: number)
                rest = rest.dropFirst(count)
            } else {
                await waitForCredit(of: number)
            }
        }
        return true
    }

    /// As many frames as it takes, at once.
    private func send(_ bytes: ArraySlice<UInt8>, ofStream number: Int) {
        withEncoder { frames in
            var rest = bytes
            while !rest.isEmpty {
                let piece = rest.prefix(ConnectionLimits.streamPiece)
                rest = rest.dropFirst(piece.count)
                frames.appendPiece(piece, ofStream: number)
            }
            write(frames) { $0.end == nil }
        }
    }

    private func waitForCredit(of number: Int) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state -> Bool in
                guard state.end == nil, state.outgoing[number]?.isStopped == false,
                    !state.machine.hasCredit(of: number)
                else { return true }
                state.outgoing[number]?.waiter = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Ends a body that is not needed any more, wherever it is. Nothing where it was sent whole.
    public func stopSending(_ number: Int) {
        let stream = state.withLock { state in
            let stream = state.outgoing[number]
            state.outgoing[number]?.isStopped = true
            state.outgoing[number]?.waiter = nil
            return stream
        }
        stream?.task?.cancel()
        stream?.body.cancel()
        stream?.waiter?.resume()
    }

    /// The other side's stream of this number, which one of its messages has named. For one reader.
    ///
    /// `whenDone` is called once, when the stream has ended or is no longer wanted.
    public func body(of number: Int, whenDone: @escaping @Sendable () -> Void = {}) throws -> any ByteStream {
        let stream = try state.withLock { state -> IncomingStream in
            if let end = state.end { throw ConnectionEnded(end: end, wasSent: true) }
            guard let stream = incoming(number, &state), stream.claim(whenDone) else {
                throw MessageError("there is no such stream", at: "stream")
            }
            return stream
        }
        return stream
    }

    /// The body that a message has named, and that no reader has begun with when the message is done with, is not wanted.
    private func discardBody(of members: WireDictionary?) {
        guard let number = members.flatMap({ MessageBody.stream(of: $0) }),
            let stream = state.withLock({ $0.end == nil ? incoming(number, &$0) : nil }), stream.claim({})
        else { return }
        stream.cancel()
    }

    /// A stream that was named, whether it has begun or not; nil where there is no such one.
    private func incoming(_ number: Int, _ state: inout State) -> IncomingStream? {
        if !state.machine.isKnown(stream: number), state.machine.expect(stream: number) {
            _ = addIncoming(number, &state)
        }
        return state.incoming[number]
    }

    /// The reader took so many bytes.
    fileprivate func took(_ bytes: Int, of number: Int) {
        if let credit = state.withLock({ $0.machine.grant(bytes, to: number) }) {
            sendNow(.credit(stream: number, bytes: credit))
        }
    }

    /// The reader wants no more.
    fileprivate func discard(_ number: Int, isOver: Bool) {
        let isThere = state.withLock { state in
            state.incoming.removeValue(forKey: number) != nil && state.end == nil
        }
        if isThere, !isOver { sendNow(.stop(stream: number)) }
    }

    // MARK: Writing

    private func withEncoder<Failure: Error>(
        _ body: (inout CBOREncoder) throws(Failure) -> Void
    ) throws(Failure) {
        var mine: CBOREncoder?
        encoder.withLock { swap(&$0, &mine) }
        var own = mine.take() ?? CBOREncoder()
        own.removeAll(keeping: Self.keptEncoder)
        let result: Result<Void, Failure>
        do throws(Failure) { result = .success(try body(&own)) } catch { result = .failure(error) }
        mine = consume own
        encoder.withLock { swap(&$0, &mine) }
        try result.get()
    }

    private func sendNow(_ message: Message, if isWanted: (inout State) -> Bool = { $0.end == nil }) {
        do { try send(message, if: isWanted) } catch { end(.violation("a message that cannot be written")) }
    }

    /// Sends a message where `isWanted`, which is called under the lock, says so. Throws what cannot be encoded, before that.
    private func send(_ message: Message, if isWanted: (inout State) -> Bool) throws {
        try withEncoder { frame in
            try frame.appendFrame { try $0.append(message.message) }
            try check(frame.withBytes(\.count))
            write(frame, if: isWanted)
        }
    }

    /// Writes frames from where they are where nothing else waits, and adds them to what waits otherwise.
    private func write(_ frames: borrowing CBOREncoder, if isWanted: (inout State) -> Bool) {
        frames.withBytes { frames in
            let (isFirst, isFull) = state.withLock { state in
                guard isWanted(&state) else { return (false, false) }
                if !state.isWriting, state.output.isEmpty {
                    state.isWriting = true
                    return (true, false)
                }
                state.output += frames
                return (false, state.output.count > 2 * limits.queue)
            }
            if isFull { end(.violation("the other side does not read")) }
            if isFirst { write(UnsafeRawBufferPointer(frames)) } else { write { _ in } }
        }
    }

    /// Adds to what is to be sent, and sends it unless another caller is just doing that.
    private func write<Result>(_ body: (inout sending State) -> sending Result) -> sending Result {
        let (result, output, isFull) = state.withLock { state in
            let result = body(&state)
            let isFull = state.output.count > 2 * limits.queue
            guard !state.isWriting, !state.output.isEmpty else { return (result, [UInt8](), isFull) }
            state.isWriting = true
            return (result, Self.take(&state), isFull)
        }
        if isFull { end(.violation("the other side does not read")) }
        if !output.isEmpty { output.withUnsafeBytes { write($0) } }
        return result
    }

    private static func take(_ state: inout State) -> [UInt8] {
        let output = state.output
        state.output = []
        return output
    }

    /// Writes these bytes, and what is added meanwhile.
    private func write(_ first: UnsafeRawBufferPointer) {
        guard writeNow(first) else { return }
        while true {
            let output = next()
            guard !output.isEmpty, output.withUnsafeBytes({ writeNow($0) }) else { return }
        }
    }

    /// False where the connection has ended, or a thread writes the rest.
    private func writeNow(_ output: UnsafeRawBufferPointer) -> Bool {
        guard let written = socket.write(output, waits: false) else {
            end(.disconnected)
            return false
        }
        guard written < output.count else { return true }
        let rest = Array(output[written...])
        if !SystemThread.start({ self.writeWaiting(rest) }) { end(.violation("there is no thread to write with")) }
        return false
    }

    /// On a thread of its own, until everything is sent.
    private func writeWaiting(_ first: [UInt8]) {
        var output = first
        while !output.isEmpty {
            var offset = 0
            while offset < output.count {
                let written = output.withUnsafeBytes { bytes in
                    socket.write(UnsafeRawBufferPointer(rebasing: bytes[offset...]), waits: true)
                }
                guard let written else { return end(.disconnected) }
                offset += written
            }
            output = next()
        }
    }

    private func next() -> [UInt8] {
        state.withLock { state in
            if state.output.isEmpty { state.isWriting = false }
            return Self.take(&state)
        }
    }

    // MARK: Reading

    private func read() {
        var frames = FrameBuffer(maximum: limits.frame)
        while true {
            guard frames.fill({ socket.read(into: $0) }) > 0 else { return end(.disconnected) }
            do {
                while let (value, memory) = try frames.next({ try CBORDecoder.measuredValue($0, limits: limits.values) }
                ) {
                    guard receive(try Message(message: value), memory: memory) else { return }
                }
            } catch {
                return end(.violation("\(error)"))
            }
        }
    }

    /// False where the connection has ended.
    private func receive(_ message: Message, memory: Int) -> Bool {
        let effect = state.withLock { state -> (@Sendable () -> Void)? in
            if state.end != nil { return nil }
            if !state.takeHeartbeat(message) { state.received += 1 }
            return self.effect(of: state.machine.receive(message, memory: memory), &state)
        }
        guard let effect else { return false }
        effect()
        return true
    }

    /// What is done about a message once the lock is free.
    private func effect(of action: ConnectionState.Action, _ state: inout State) -> @Sendable () -> Void {
        switch action {
        case .nothing: return {}
        case .resume(let number, let result):
            let waiter = state.waiters.removeValue(forKey: number)
            return { waiter?.resume(result.mapError { $0.error }) }
        case .ignore(let members): return { self.discardBody(of: members) }
        case .serve(let request) where request.method == RequestMethod.ping:
            return { self.sendResult(request.number, .success(.null)) }
        case .serve(let request):
            // Under the lock, so that the task is there before it can be cancelled, and before it ends.
            let handler = state.handler
            state.tasks[request.number] = Task { await self.serve(request, handler) }
            return {}
        case .refuse(let request):
            let refusal = PorticoError(.overloaded, "Too much is asked for at once.", retryAfter: 1)
            return {
                self.discardBody(of: request.parameters)
                self.sendResult(request.number, .failure(CrossingError(refusal)))
            }
        case .cancel(let number):
            let task = state.tasks[number]
            return { task?.cancel() }
        case .report(let name, let scope, let parameters):
            let handler = state.handler
            return { handler?.receive(event: name, scope: scope, parameters) }
        case .deliver(let number, let bytes, let isNew):
            guard !isNew || addIncoming(number, &state) else {
                return { self.end(.violation("too many unread streams")) }
            }
            let stream = state.incoming[number]
            // Nil: it is not read any more.
            return { stream?.deliver(bytes) }
        case .finish(let number, let error, let isNew):
            guard !isNew || addIncoming(number, &state) else {
                return { self.end(.violation("too many unread streams")) }
            }
            let stream = state.incoming[number]
            return { stream?.finish(error.map { .failure($0.error) } ?? .success(())) }
        case .send(let number):
            let waiter = state.outgoing[number]?.waiter
            state.outgoing[number]?.waiter = nil
            return { waiter?.resume() }
        case .stop(let number): return { self.stopSending(number) }
        case .end(let reason): return { self.end(.violation(reason)) }
        }
    }

    /// Cancels what is done about one of the other side's requests. Its response is sent all the same.
    public func cancelServing(_ number: Int) { state.withLock { $0.tasks[number] }?.cancel() }

    /// False where too many streams have come that were not read.
    private func addIncoming(_ number: Int, _ state: inout State) -> Bool {
        guard state.incoming.count < limits.streams else { return false }
        state.incoming[number] = IncomingStream(number, self)
        return true
    }

    private func serve(_ request: Message.Request, _ handler: (any MessageHandler)?) async {
        defer { discardBody(of: request.parameters) }
        do {
            sendResult(request.number, .success(try await handler?.respond(to: request, over: self) ?? .null))
        } catch let error as MessageError {
            // An error names members and quotes no value. A program may have passed on what its caller has sent.
            let refusal = PorticoError(.requestInvalid, "The parameters of \(request.method.prefix(50)): \(error)")
            sendResult(request.number, .failure(CrossingError(refusal)))
        } catch {
            sendResult(request.number, .failure(CrossingError(error)))
        }
    }

    private func sendResult(_ number: Int, _ result: Result<WireValue, CrossingError>) {
        let isServed: (inout State) -> Bool = { state in
            state.machine.noteServed(number)
            state.tasks[number] = nil
            return state.end == nil
        }
        do {
            try send(.response(number, result), if: isServed)
        } catch {
            // A result that cannot cross.
            sendNow(.response(number, .failure(CrossingError(error))), if: isServed)
        }
    }

    // MARK: The end

    /// Ends the connection, once. For a handler too, which finds that the other side keeps to something else than the protocol.
    public func end(_ end: ConnectionEnd) {
        let old = state.withLock { state -> State? in
            guard state.end == nil else { return nil }
            let old = state
            state = State(machine: ConnectionState(limits), end: end, isWriting: true)
            return old
        }
        guard let old else { return }
        socket.shutDown()
        for waiter in old.waiters.values { waiter.resume(.failure(ConnectionEnded(end: end, wasSent: true))) }
        for task in old.tasks.values { task.cancel() }
        for stream in old.incoming.values { stream.finish(.failure(ConnectionEnded(end: end, wasSent: true))) }
        for stream in old.outgoing.values {
            stream.task?.cancel()
            stream.body.cancel()
            stream.waiter?.resume()
        }
        old.handler?.ended(end)
    }
}

/// A request whose thread waits.
private final class BlockedRequest: Sendable {
    private let result = Mutex<Result<WireValue, any Error>?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    func resume(_ value: Result<WireValue, any Error>) {
        result.withLock { $0 = value }
        semaphore.signal()
    }

    func wait() throws -> WireValue {
        semaphore.wait()
        // The semaphore is signalled after the result is there.
        return try result.withLock { try $0?.get() ?? .null }
    }
}

/// A stream that the other side sends. It holds what has come and was not read: at most the window.
private final class IncomingStream: ByteStream {
    private struct State {
        var pieces: [[UInt8]] = []
        var end: Result<Void, any Error>?
        var waiter: CheckedContinuation<[UInt8]?, any Error>?
        var whenDone: (@Sendable () -> Void)?
        var isClaimed = false

        /// All that there are in one: each turn of a reader costs more than the copy.
        mutating func takePieces() -> [UInt8] {
            var whole = pieces[0]
            whole.reserveCapacity(pieces.reduce(0) { $0 + $1.count })
            // `joined()` would copy byte by byte.
            for piece in pieces.dropFirst() { whole += piece }
            pieces.removeAll(keepingCapacity: true)
            return whole
        }
    }

    private let number: Int
    private let connection: MessageConnection
    private let state = Mutex(State())

    init(_ number: Int, _ connection: MessageConnection) {
        self.number = number
        self.connection = connection
    }

    /// False for a second reader.
    func claim(_ whenDone: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard !state.isClaimed else { return false }
            (state.isClaimed, state.whenDone) = (true, whenDone)
            return true
        }
    }

    func deliver(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        let waiter = state.withLock { state -> CheckedContinuation<[UInt8]?, any Error>? in
            guard state.end == nil else { return nil }
            guard let waiter = state.waiter else {
                state.pieces.append(bytes)
                return nil
            }
            state.waiter = nil
            return waiter
        }
        guard let waiter else { return }
        connection.took(bytes.count, of: number)
        waiter.resume(returning: bytes)
    }

    func finish(_ end: Result<Void, any Error>) {
        let (waiter, isDrained) = state.withLock { state in
            if state.end == nil { state.end = end }
            defer { state.waiter = nil }
            return (state.waiter, state.pieces.isEmpty && state.isClaimed)
        }
        if isDrained { finish() }
        waiter?.resume(with: end.map { nil })
    }

    func next() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, taken) = state.withLock { state -> (Result<[UInt8]?, any Error>?, Int) in
                    if !state.pieces.isEmpty {
                        let piece = state.takePieces()
                        return (.success(piece), piece.count)
                    }
                    if let end = state.end { return (end.map { nil }, 0) }
                    guard state.waiter == nil else { return (.failure(MessageError("two readers of one stream")), 0) }
                    state.waiter = continuation
                    return (nil, 0)
                }
                guard let result else { return }
                if taken > 0 { connection.took(taken, of: number) } else { finish() }
                continuation.resume(with: result)
            }
        } onCancel: {
            cancel()
        }
    }

    func cancel() {
        let (waiter, isOver) = state.withLock { state in
            let isOver = state.end != nil
            if !isOver { state.end = .failure(CancellationError()) }
            state.pieces = []
            defer { state.waiter = nil }
            return (state.waiter, isOver)
        }
        waiter?.resume(throwing: CancellationError())
        finish(isOver: isOver)
    }

    private func finish(isOver: Bool = true) {
        let whenDone = state.withLock { state in
            defer { state.whenDone = nil }
            return state.whenDone
        }
        connection.discard(number, isOver: isOver)
        whenDone?()
    }
}
