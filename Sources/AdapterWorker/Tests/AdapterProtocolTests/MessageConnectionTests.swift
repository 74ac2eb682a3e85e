import AdapterKit
import AdapterProtocol
import Glibc
import Synchronization
import Testing

@Suite struct `A connection` {
    @Test func `carries messages of every size, whatever is under way beside them`() async throws {
        let (host, _) = Self.pair()
        defer { host.close() }
        let sizes = [0, 1, 300, 65_000, 262_144, 300_000, 3_000_000, 20, 1_100_000, 262_140]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for (index, size) in sizes.enumerated() {
                        let data: WireValue = .data(Array(repeating: UInt8(16 * task + index), count: size))
                        let echoed = try await host.request("echo", ["value": data])
                        #expect(echoed == data)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `carries long bodies that are made at once, each as it is`() async throws {
        let (host, _) = Self.pair()
        defer { host.close() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<16 {
                group.addTask {
                    for round in 0..<30 {
                        let fill = UInt8(truncatingIfNeeded: 16 * round + task)
                        let size = 70_000 + 10_000 * (task % 4) + (round % 10 == 0 ? 1 << 20 : 0)
                        let response = try await host.request(
                            "body", ["fill": .int64(Int64(fill)), "size": .int64(Int64(size))])
                        let body = try await MessageBody(message: response).collected(over: host, limit: .max)
                        #expect(body == Array(repeating: fill, count: size))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: [[2, 1], [3, 1, 2], [2_000, 1_999, 977], [1, 100, 99, 98, 2]])
    func `takes streams in any order of their numbers`(order: [Int]) async throws {
        let (descriptor, peer) = Self.sockets()
        defer { close(peer) }
        let host = MessageConnection(socket: descriptor, handler: Peer())
        host.start()
        defer { host.close() }
        let asked = Task { try await host.request("any") }
        var arrived = [UInt8](repeating: 0, count: 256)
        while recv(peer, &arrived, arrived.count, Int32(MSG_DONTWAIT)) < 0 {
            try await Task.sleep(for: .milliseconds(1))
        }
        for number in order {
            try Self.send(["stream": .int64(Int64(number)), "data": .data([UInt8(number % 256)])], to: peer)
            try Self.send(["stream": .int64(Int64(number)), "end": true], to: peer)
        }
        // Once this is answered, all of it has been read.
        try Self.send(["response": 1, "result": .null], to: peer)
        _ = try await asked.value
        for number in order {
            let body = try await MessageBody(.stream(number)).collected(over: host, limit: .max)
            #expect(body == [UInt8(number % 256)])
        }
    }

    @Test(arguments: [
        [1, 1], [2, 1, 1], [2_000, 975], [.max, .max - 1, .max],
    ])
    func `refuses a stream that has ended, or is far behind`(order: [Int]) async throws {
        let (descriptor, peer) = Self.sockets()
        defer { close(peer) }
        let handler = Peer()
        let host = MessageConnection(socket: descriptor, handler: handler)
        host.start()
        for number in order { try Self.send(["stream": .int64(Int64(number)), "end": true], to: peer) }
        while handler.end.withLock({ $0 }) == nil { try await Task.sleep(for: .milliseconds(1)) }
        let last = order[order.count - 1]
        #expect(
            handler.end.withLock { $0 } == .violation("the end of a stream that is not open (\(last))"))
    }

    @Test func `begins its own streams in the order of their numbers`() async throws {
        let (descriptor, peer) = Self.sockets()
        defer { close(peer) }
        let host = MessageConnection(socket: descriptor, handler: Peer())
        defer { host.close() }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for _ in 0..<20 { _ = try? host.send(SingleChunkStream(Array(repeating: UInt8(task), count: 10))) }
                }
            }
        }
        var (arrived, begun, ended) = ([UInt8](), [Int](), 0)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while ended < 160 {
            let count = recv(peer, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count < 0 { try await Task.sleep(for: .milliseconds(1)) } else { arrived += buffer[..<count] }
            while arrived.count >= 4, let length = arrived[..<4].reduce(0, { $0 << 8 | Int($1) }) as Int?,
                arrived.count >= 4 + length
            {
                let map = try MessageMap(CBORDecoder.value(of: Array(arrived[4..<4 + length])))
                arrived.removeFirst(4 + length)
                let number: Int = try map("stream")
                if !begun.contains(number) { begun.append(number) }
                if map.members["end"] != nil { ended += 1 }
            }
        }
        #expect(begun == Array(1...160))
    }

    @Test func `ends with its socket, whoever notices it, in the course of what it ends`() async throws {
        let (descriptor, peer) = Self.sockets()
        // It does not read, so that the request is the first to find the socket closed.
        let host = MessageConnection(socket: descriptor, handler: Peer())
        close(peer)
        let ended = AsyncStream<Void>.makeStream()
        _ = try host.send(AskingBody(host), whenDone: { ended.continuation.finish() })
        for await _ in ended.stream {}
        await #expect(throws: ConnectionEnded.self) { try await host.request("any") }
    }

    @Test func `stops the body of a response that nobody waits for`() async throws {
        let peer = Peer()
        let (host, _) = Self.pair(worker: peer)
        defer { host.close() }
        let asked = Task { try await host.request("late") }
        await peer.asked()
        asked.cancel()
        _ = await asked.result
        await peer.stoppedLateBody()
    }

    @Test(arguments: ["unread", "refused"])
    func `stops the body of a request that is answered without reading it`(method: String) async throws {
        let (host, _) = Self.pair()
        defer { host.close() }
        let body = EndlessBody()
        let ended = AsyncStream<Void>.makeStream()
        let number = try host.send(body, whenDone: { ended.continuation.finish() })
        _ = try? await host.request(method, ["body": ["stream": .int64(Int64(number))]])
        for await _ in ended.stream {}
        #expect(body.isCancelled)
    }

    @Test func `stops the body of a request that is not sent`() async throws {
        let (host, _) = Self.pair()
        defer { host.close() }
        let body = EndlessBody()
        let ended = AsyncStream<Void>.makeStream()
        let number = try host.send(body, whenDone: { ended.continuation.finish() })
        let asked = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await host.request("unread", ["body": ["stream": .int64(Int64(number))]])
        }
        asked.cancel()
        await #expect(throws: CancellationError.self) { try await asked.value }
        for await _ in ended.stream {}
        #expect(body.isCancelled)
    }

    private static func sockets() -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private static func pair(worker peer: Peer = Peer()) -> (MessageConnection, MessageConnection) {
        let ends = sockets()
        let (host, worker) = (
            MessageConnection(socket: ends.0, handler: Peer()), MessageConnection(socket: ends.1, handler: peer)
        )
        host.start()
        worker.start()
        return (host, worker)
    }

    private static func send(_ message: WireValue, to descriptor: Int32) throws {
        var encoder = CBOREncoder()
        try encoder.append(message)
        let bytes = encoder.bytes
        let frame = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes
        #expect(write(descriptor, frame, frame.count) == frame.count)
    }
}

/// Echoes a value, and answers with a body of so many equal bytes: at once, or when nobody waits for it any more.
private final class Peer: MessageHandler {
    let end = Mutex<ConnectionEnd?>(nil)
    private let (arrivals, arrival) = AsyncStream<Void>.makeStream()
    private let (outcomes, outcome) = AsyncStream<EndlessBody>.makeStream()

    func respond(to request: Message.Request, over connection: MessageConnection) async throws -> WireValue {
        let parameters = try MessageMap(.dictionary(request.parameters))
        switch request.method {
        case "body":
            let fill = UInt8(truncatingIfNeeded: try parameters("fill", as: Int.self))
            return try MessageBody.sending(
                Array(repeating: fill, count: try parameters("size", as: Int.self)), over: connection
            ).message
        case "late":
            arrival.finish()
            while !Task.isCancelled { await Task.yield() }
            let body = EndlessBody()
            outcome.yield(body)
            return ["body": ["stream": .int64(Int64(try connection.send(body)))]]
        case "unread": return .null
        case "refused": throw PorticoError(.requestInvalid, "It is not wanted.")
        default: return try parameters("value")
        }
    }

    /// Returns when the request for something late is there.
    func asked() async { for await _ in arrivals {} }

    /// Returns when the late body is not sent any more.
    func stoppedLateBody() async {
        for await body in outcomes {
            await body.cancelled()
            return
        }
    }

    func receive(event: String, scope: Int?, _ parameters: WireDictionary) {}

    func ended(_ end: ConnectionEnd) { self.end.withLock { $0 = end } }
}

/// Goes on until it is cancelled.
private final class EndlessBody: ByteStream {
    private let (ends, end) = AsyncStream<Void>.makeStream()
    private let wasCancelled = Mutex(false)

    var isCancelled: Bool { wasCancelled.withLock { $0 } }

    func next() async throws -> [UInt8]? { isCancelled ? nil : Array(repeating: 7, count: 10_000) }

    func cancel() {
        wasCancelled.withLock { $0 = true }
        end.finish()
    }

    func cancelled() async { for await _ in ends {} }
}

/// Asks the other side for what it has to say.
private final class AskingBody: ByteStream {
    private let connection: MessageConnection

    init(_ connection: MessageConnection) { self.connection = connection }

    func next() async throws -> [UInt8]? { try await connection.request("any").dataValue }

    func cancel() {}
}
