import AdapterKit
import AdapterTesting
import Synchronization
import Testing
import WorkerHost
import WorkerTesting

/// What an adapter in a program does beside its calls.
@Suite struct `Work beside the calls of a program` {
    private enum WorkingModule: AdapterModule {
        static let name: AdapterName = "working"

        static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
            AdapterDeclaration(name: name, title: "Working", summary: "Works.", version: "1")
        }

        static func make(_ configuration: AdapterConfiguration) -> any Adapter { WorkingAdapter() }
    }

    private final class WorkingAdapter: Adapter {
        private let log = Mutex<Log?>(nil)

        func start(_ context: AdapterContext) { log.withLock { $0 = context.log } }
        func activate() { log.withLock { $0 }?.info("begins") }
        func drain() async { log.withLock { $0 }?.info("ends") }
        func handle(_ call: Call) async throws -> OperationResult { .nothing }
    }

    @Test func `begins and ends when the host says so, once however often it does`() async throws {
        let lines = Lines()
        let pair = try await WorkerPair(WorkingModule.self, AdapterConfiguration()) { lines.add($0) }
        let description = try await pair.session.describe(AdapterConfiguration())
        #expect(description.worksBesideCalls)
        try await pair.session.start(
            AdapterContext(
                records: try MemoryRecords(WorkingModule.declare(AdapterConfiguration())).unrestricted,
                accounts: MemoryAccounts([]), log: .discarding, clock: SettableClock()))
        #expect(lines.texts.isEmpty)
        for isOn in [true, true, false, false, true] { try await pair.session.switchWork(on: isOn) }
        #expect(lines.texts == ["begins", "ends", "begins"])
        pair.session.close()
    }

    private final class Lines: Sendable {
        private let all = Mutex<[String]>([])
        var texts: [String] { all.withLock { $0 } }
        func add(_ message: LogMessage) { all.withLock { $0.append("\(message.text)") } }
    }
}
