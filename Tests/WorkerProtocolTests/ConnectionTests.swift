import AdapterKit
import AdapterProtocol
import Foundation
import Glibc
import Synchronization
import Testing
import WorkerHost
import WorkerTesting

/// A worker that says whatever a test wants.
final class RawPeer: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    func send(_ value: WireValue) throws { send(try Self.frame(value)) }

    /// The next message of this kind; the others are left aside.
    func received(_ isWanted: @escaping @Sendable (WireValue) -> Bool) async throws -> WireValue {
        // Apart from the threads that all tasks share, since it waits.
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "peer").async {
                continuation.resume(
                    with: Result {
                        while true {
                            let length = self.read(4).reduce(0) { $0 << 8 | Int($1) }
                            let message = try CBORDecoder.value(of: self.read(length))
                            if isWanted(message) { return message }
                        }
                    })
            }
        }
    }

    private func read(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = max(0, recv(descriptor, buffer.baseAddress, count, Int32(MSG_WAITALL)))
        }
    }

    /// A session with a peer that has answered the greeting so.
    static func session(
        _ first: WireValue = greeting, limits: SessionLimits = SessionLimits()
    ) async throws -> (WorkerConnection, RawPeer) {
        let ends = socketPair()
        let peer = RawPeer(ends.worker)
        async let session = WorkerConnector(configuration: nil, limits: limits) { _ in }.open(
            ends.host, deadline: .now + .seconds(600))
        _ = try await peer.received { $0["method"] == "hello" }
        try peer.send(first)
        return (try await session, peer)
    }

    static func frame(_ value: WireValue) throws -> [UInt8] {
        var encoder = CBOREncoder()
        try encoder.append(value)
        let count = encoder.bytes.count
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + encoder.bytes
    }

    static let greeting: WireValue = [
        "response": 1, "result": ["version": 2, "name": "raw", "program": "1", "sdk": "none", "options": []],
    ]
}

@Suite struct `A host that speaks with a hostile worker` {
    private func session(_ first: WireValue = RawPeer.greeting) async throws -> (WorkerConnection, RawPeer) {
        try await RawPeer.session(first)
    }

    @Test func `greets it`() async throws {
        let (session, peer) = try await session()
        defer { withExtendedLifetime(peer) {} }
        #expect(session.greeting == WorkerGreeting(name: "raw", version: "1", protocolVersion: 2, sdk: "none"))
        session.close()
        #expect(await session.waitForEnd() == .closed)
        await #expect(throws: WorkerEnded(.closed, wasSent: false)) { try await session.ping() }
    }

    @Test func `refuses a version that it does not know, with both versions`() async throws {
        await #expect(
            throws: WorkerEnded(
                .versionRefused("the worker speaks version 3, the gateway speaks 2, 1"), wasSent: true)
        ) {
            _ = try await session([
                "response": 1, "result": ["version": 3, "name": "raw", "program": "1", "sdk": "none", "options": []],
            ])
        }
        let error: WireValue = [
            "error": ["code": "request.versionUnsupported", "message": "It speaks 7, the gateway 1."]
        ]
        await #expect(throws: WorkerEnded(.versionRefused("It speaks 7, the gateway 1."), wasSent: true)) {
            _ = try await session(["response": 1, "error": error])
        }
    }

    @Test func `gives a silent one up at the deadline`() async throws {
        let ends = socketPair()
        let peer = RawPeer(ends.worker)
        await #expect(throws: WorkerEnded(.handshakeTimeout, wasSent: true)) {
            _ = try await WorkerConnector(configuration: nil) { _ in }.open(
                ends.host, deadline: .now + .milliseconds(30))
        }
        _ = peer
    }

    @Test func `counts what comes from it, but for its answers to heartbeats`() async throws {
        let (session, peer) = try await session()
        let before = session.received
        for _ in 0..<3 {
            let asked = Task { try await session.ping() }
            let ping = try await peer.received { $0["method"] == "ping" }
            try peer.send(["response": try #require(ping["request"]), "result": .null])
            try await asked.value
        }
        #expect(session.received == before)
        for event in ["log", "unknown", "unknown"] {
            try peer.send([
                "event": .string(event), "params": ["message": ["level": "info", "text": "x", "values": []]],
            ])
        }
        let asked = Task { try await session.ping() }
        let ping = try await peer.received { $0["method"] == "ping" }
        try peer.send(["response": try #require(ping["request"]), "result": .null])
        try await asked.value
        #expect(session.received == before + 3)
        session.close()
    }

    @Test(arguments: [
        ("7", "7"), ("a-b.c", "a-b.c"), ("", nil), ("a b", nil), ("a\"b", nil), ("a,b", nil), ("ä", nil),
        ("a\r\nX: 1", nil),
        (String(repeating: "a", count: 201), nil),
    ])
    func `leaves out a version that no entity tag can have`(version: String, taken: String?) async throws {
        let (session, peer) = try await session()
        async let result = session.handle(
            Call(
                operation: "look", input: [:], caller: .anonymous, requestID: "test", deadline: .now + .seconds(600),
                records: NoRecords(), log: .discarding))
        let call = try await peer.received { $0["method"] == "call" }
        try peer.send([
            "response": try #require(call["request"]),
            "result": ["content": ["value": [1]], "validators": ["version": .string(version)]],
        ])
        #expect(try await result.validators?.version == taken)
        session.close()
    }

    @Test(arguments: [(-5, nil), (0, 0), (7, 7), (Int64.max, Int(Int32.max))] as [(Int64, Int?)])
    func `leaves out a time to try again that has passed`(sent: Int64, taken: Int?) async throws {
        let (session, peer) = try await session()
        let asked = Task {
            try await session.handle(
                Call(
                    operation: "look", input: [:], caller: .anonymous, requestID: "test",
                    deadline: .now + .seconds(600), records: NoRecords(), log: .discarding))
        }
        let call = try await peer.received { $0["method"] == "call" }
        try peer.send([
            "response": try #require(call["request"]),
            "error": ["error": ["code": "server.overloaded", "message": "Later.", "retryAfter": .int64(sent)]],
        ])
        let error = await #expect(throws: PorticoError.self) { try await asked.value }
        #expect(error?.retryAfter == taken && (error?.logDetail == nil) == (sent >= 0))
        session.close()
    }

    @Test func `notices that it is gone`() async throws {
        var (session, peer): (WorkerConnection, RawPeer?) = try await session()
        let asked = Task { [session] in try await session.ping() }
        try await Task.sleep(for: .milliseconds(20))
        peer = nil
        #expect(await session.waitForEnd() == .disconnected)
        await #expect(throws: WorkerEnded(.disconnected, wasSent: true)) { try await asked.value }
        _ = peer
    }

    @Test(
        arguments: [
            (["response": 99, "result": .null], "a response to no request (99)"),
            (["nothing": 1], "a message of no known kind"),
            ([1, 2], "a map is expected"),
            (["request": 0, "method": "record"], "request: numbers begin with 1"),
            (["request": "1", "method": "record"], "request: an integer is expected"),
            (["request": 5], "method: it is missing"),
            (["stream": 3, "data": "text"], "data: bytes are expected"),
            (
                ["stream": 3, "data": .data(Array(repeating: 0, count: 200_000))],
                "more of a stream than was granted (3)"
            ),
            (["credit": 1, "bytes": 10], "credit for a stream that never was (1)"),
            (["stop": 1], "a stream that never was is stopped (1)"),
            (["event": "log", "params": ["message": 1]], "log: message: a map is expected"),
        ] as [(WireValue, String)])
    func `ends the connection with the reason`(message: WireValue, reason: String) async throws {
        let (session, peer) = try await session()
        try peer.send(message)
        #expect(await session.waitForEnd() == .protocolViolation(reason))
    }

    @Test func `ends the connection where a number comes twice`() async throws {
        let (session, peer) = try await session()
        try peer.send(["request": 4, "method": "ping"])
        try peer.send(["request": 4, "method": "ping"])
        #expect(await session.waitForEnd() == .protocolViolation("the number of a request is used twice"))
    }

    @Test func `ends the connection for a frame that is too long, before it has come`() async throws {
        let (session, peer) = try await session()
        peer.send([0x7F, 0xFF, 0xFF, 0xFF])
        #expect(await session.waitForEnd() == .protocolViolation("a frame of 2147483647 bytes, more than 33554432"))
    }

    @Test func `ends the connection where streams come that nobody reads`() async throws {
        let (session, peer) = try await session()
        for number in 1...1_100 {
            try peer.send(["stream": .int64(Int64(number)), "data": .data([1])])
            try peer.send(["stream": .int64(Int64(number)), "end": true])
        }
        #expect(await session.waitForEnd() == .protocolViolation("too many unread streams"))
    }

    @Test func `ends the connection for a response that is not what was asked for`() async throws {
        let (session, peer) = try await session()
        let asked = Task { try await session.frontPageEntries() }
        try await Task.sleep(for: .milliseconds(20))
        try peer.send(["response": 2, "result": [["title": 3]]])
        await #expect(
            throws: WorkerEnded(.protocolViolation("frontPage: [0].title: a text is expected"), wasSent: true)
        ) {
            try await asked.value
        }
    }

    @Test func `tells it of methods and calls that there are not`() async throws {
        let (session, peer) = try await session()
        try peer.send(["request": 1, "method": "record", "for": 77])
        let refusal = try await peer.received { $0["response"] == 1 }
        #expect(refusal["error"]?["error"]?["code"] == "adapter.unavailable")
        try peer.send(["request": 2, "method": "ping"])
        let pong = try await peer.received { $0["response"] == 2 }
        #expect(pong["result"] == .null)
        session.close()
    }

    /// Each ends with a reason or goes on; nothing traps, and nothing waits for ever.
    @Test func `survives 500 random and mutated conversations`() async throws {
        var random = SeededRandom(seed: 4_127)
        var (violations, others) = (0, 0)
        let messages: [WireValue] = [
            ["request": 2, "method": "record", "params": ["entity": "items", "id": "a"]],
            ["request": 3, "method": "upstream", "params": ["upstream": "x", "method": "GET"]],
            ["request": 4, "method": "openSnapshot"], ["response": 2, "result": [:]], ["cancel": 4],
            ["stream": 1, "data": .data([1, 2, 3])], ["stream": 1, "end": true], ["credit": 1, "bytes": 3],
            ["event": "log", "params": ["message": ["level": "info", "text": "t", "values": [["k", 1]]]]],
            ["event": "signal", "params": ["event": "e"]], ["request": 5, "method": "ping"],
        ]
        for _ in 0..<500 {
            let (session, peer) = try await session()
            var bytes: [UInt8] = []
            for _ in 0..<4 { bytes += try RawPeer.frame(messages.randomElement(using: &random) ?? .null) }
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            peer.send(bytes)
            shutdown(peer.descriptor, Int32(SHUT_WR))
            if case .protocolViolation = await session.waitForEnd() { violations += 1 } else { others += 1 }
        }
        #expect(violations > 100)
        #expect(others > 30)
    }
}

private struct NoRecords: RecordStore {
    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? { nil }
    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage { RecordPage(records: [], next: nil) }
    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int { 0 }
    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        throw PorticoError(.accessDenied, "There are no records.")
    }
}
