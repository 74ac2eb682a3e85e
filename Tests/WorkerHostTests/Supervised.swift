import AdapterKit
import Foundation
import Testing
import WorkerHost

/// A supervised hostile worker.
final class Supervised: Sendable {
    let adapter: WorkerAdapter
    let connector: ByteConnector
    private let folder: String

    init(
        _ limits: SupervisionLimits, _ connector: ByteConnector, callLimits: CallLimits = .unhurried,
        executable: String? = nil
    ) {
        var program = Worker.program("serve", [], limits: WorkerLimits(memory: 64 << 20, threads: 64))
        if let executable { program.executable = executable }
        folder = program.folder
        self.connector = connector
        let input = ObjectShape("Order", members: [Member("order", .string(maximumLength: 1))])
        adapter = WorkerAdapter(
            program, connector: connector,
            declaration: AdapterDeclaration(
                name: "hostile", title: "Hostile", summary: "Hostile.", version: "1",
                operations: [
                    Operation("read", summary: "Reads.", effect: .reads, input: input, output: .string),
                    Operation("write", summary: "Writes.", effect: .writes, input: input, output: .string),
                ]),
            limits: limits, callLimits: callLimits, crashFile: nil, clock: FixedClock(), log: .discarding)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    static func run(
        _ limits: SupervisionLimits = SupervisionLimits(), _ connector: ByteConnector = ByteConnector(),
        callLimits: CallLimits = .unhurried, _ body: (Supervised) async throws -> Void
    ) async throws {
        let worker = Supervised(limits, connector, callLimits: callLimits)
        try await worker.start()
        do { try await body(worker) } catch {
            await worker.adapter.stop()
            throw error
        }
        await worker.adapter.stop()
    }

    func start() async throws {
        try await adapter.start(
            AdapterContext(records: NoRecords(), accounts: NoAccounts(), log: .discarding, clock: FixedClock()))
    }

    func answers() async throws {
        let answer = try await call("read", "a")
        #expect(answer == "a")
    }

    @discardableResult
    func call(
        _ operation: OperationName, _ order: String, until deadline: ContinuousClock.Instant? = nil
    ) async throws -> String {
        let result = try await adapter.handle(
            Call(
                operation: operation, input: ["order": .string(order)], caller: .anonymous, requestID: "test",
                deadline: deadline ?? .now.advanced(by: .seconds(30)), records: NoRecords(), log: .discarding))
        guard case .value(.string(let text)) = result.content else { return "" }
        return text
    }
}

extension CallLimits {
    /// For machines that are busy with other tests.
    static var unhurried: CallLimits { CallLimits(queueTimeout: .seconds(60)) }
}
