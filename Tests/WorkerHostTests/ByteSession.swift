import AdapterKit
import Foundation
import Synchronization
import WorkerHost

/// A session of the simplest protocol: the worker answers each byte with the same byte, in order.
final class ByteSession: WorkerSession {
    private struct State {
        var asked: [(id: UInt64, byte: UInt8, continuation: CheckedContinuation<Void, any Error>)] = []
        var lastID: UInt64 = 0
        var received = 0
        var end: WorkerEnd?
        var isClosed = false
        var watchers: [CheckedContinuation<WorkerEnd, Never>] = []
    }

    let greeting = WorkerGreeting(name: "hostile", version: "1", protocolVersion: 1, sdk: "none")
    private let socket: Int32
    private let state = Mutex(State())
    private let starts: @Sendable () async throws -> Void

    init(_ socket: Int32, starts: @escaping @Sendable () async throws -> Void = {}) {
        self.socket = socket
        self.starts = starts
        Thread.detachNewThread { [self] in
            var byte: UInt8 = 0
            while read(socket, &byte, 1) == 1 {
                let answered = state.withLock { [byte] state in
                    if byte != UInt8(ascii: "p") { state.received += 1 }
                    return state.asked.firstIndex { $0.byte == byte }.map { state.asked.remove(at: $0) }
                }
                answered?.continuation.resume()
            }
            finish(.disconnected)
            // Under the lock, so that the number is not another socket's when it is shut down.
            state.withLock { state in
                Glibc.close(socket)
                state.isClosed = true
            }
        }
    }

    func start(_ context: AdapterContext) async throws { try await starts() }
    var received: Int { state.withLock { $0.received } }
    func ping() async throws { try await ask(UInt8(ascii: "p")) }

    func handle(_ call: Call) async throws -> OperationResult {
        let text = call.input["order"]?.stringValue ?? "c"
        try await ask(text.utf8.first ?? 0)
        return .value(.string(text))
    }

    func waitForEnd() async -> WorkerEnd {
        await withCheckedContinuation { continuation in
            let end = state.withLock { state in
                if state.end == nil { state.watchers.append(continuation) }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
    }

    func close() {
        state.withLock { state in
            if !state.isClosed { shutdown(socket, Int32(SHUT_RDWR)) }
        }
        finish(.closed)
    }

    private func ask(_ byte: UInt8) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let end = state.withLock { state in
                    guard state.end == nil else { return state.end }
                    state.asked.append((id, byte, continuation))
                    var byte = byte
                    _ = send(socket, &byte, 1, Int32(MSG_NOSIGNAL))
                    return nil
                }
                if let end { continuation.resume(throwing: WorkerEnded(end, wasSent: false)) }
            }
        } onCancel: {
            let call = state.withLock { state in
                state.asked.firstIndex { $0.id == id }.map { state.asked.remove(at: $0) }
            }
            call?.continuation.resume(throwing: CancellationError())
        }
    }

    private func finish(_ end: WorkerEnd) {
        let (asked, watchers, end) = state.withLock { state in
            defer { (state.asked, state.watchers) = ([], []) }
            state.end = state.end ?? end
            return (state.asked, state.watchers, state.end ?? end)
        }
        for call in asked { call.continuation.resume(throwing: WorkerEnded(end, wasSent: true)) }
        for watcher in watchers { watcher.resume(returning: end) }
    }
}

/// Makes byte sessions, and counts them.
final class ByteConnector: WorkerConnecting {
    private let count = Atomic<Int>(0)
    private let starts: @Sendable (Int) async throws -> Void

    /// `starts`: what the start of the session with this number does.
    init(starts: @escaping @Sendable (Int) async throws -> Void = { _ in }) {
        self.starts = starts
    }

    var sessions: Int { count.load(ordering: .relaxed) }

    func connect(_ socket: Int32, deadline: ContinuousClock.Instant) async throws -> any WorkerSession {
        let number = count.add(1, ordering: .relaxed).newValue
        let starts = starts
        let session = ByteSession(socket) { try await starts(number) }
        // The greeting.
        try await session.ping()
        return session
    }
}
