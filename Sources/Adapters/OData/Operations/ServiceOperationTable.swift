import AdapterKit
import Synchronization

/// Who answers which operation of a service, and what holds requests while the seed is loaded anew.
struct ServiceOperationTable: Sendable {
    private let byName: [String: any ServiceOperations]

    init(_ all: [any ServiceOperations]) {
        byName = Dictionary(
            all.flatMap { some in some.names.map { ($0, some) } }, uniquingKeysWith: { first, _ in first })
    }

    subscript(name: String) -> (any ServiceOperations)? { byName[name] }
}

/// Lets requests through side by side; who empties the service waits for them and holds those that come later.
actor ReseedGate {
    private var running = 0
    private var isClosed = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var whenIdle: [CheckedContinuation<Void, Never>] = []

    func enter() async {
        while isClosed { await withCheckedContinuation { waiting.append($0) } }
        running += 1
    }

    func leave() {
        running -= 1
        wake()
    }

    /// Runs alone. The caller has entered itself, and counts as gone while it waits.
    func alone<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        running -= 1
        wake()
        while isClosed { await withCheckedContinuation { waiting.append($0) } }
        isClosed = true
        while running > 0 { await withCheckedContinuation { whenIdle.append($0) } }
        defer { open() }
        return try await body()
    }

    private func open() {
        isClosed = false
        running += 1
        let all = waiting
        waiting = []
        for one in all { one.resume() }
    }

    private func wake() {
        guard running == 0 else { return }
        let all = whenIdle
        whenIdle = []
        for one in all { one.resume() }
    }
}
