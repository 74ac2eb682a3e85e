import AdapterKit
import Foundation
import Synchronization
import WorkerHost

/// A hostile worker with what it wrote.
final class Worker: Sendable {
    private struct Output {
        var lines: [String] = []
        var omitted = 0
        var waiters: [(String, CheckedContinuation<Void, Never>)] = []
    }

    let process: WorkerProcess
    let folder: String
    private let output: OutputSink

    private final class OutputSink: Sendable {
        let state = Mutex(Output())
    }

    private init(_ program: WorkerProgram) async throws {
        let output = OutputSink()
        self.output = output
        folder = program.folder
        process = try await WorkerProcesses.shared.start(
            program,
            log: Log { message in
                let resumed = output.state.withLock { state in
                    for item in message.values {
                        switch item.value {
                        case .text(let line): state.lines.append(line)
                        case .number(let count): state.omitted += Int(count)
                        case .flag: break
                        }
                    }
                    let found = state.waiters.filter { state.lines.contains($0.0) }
                    state.waiters.removeAll { state.lines.contains($0.0) }
                    return found
                }
                for waiter in resumed { waiter.1.resume() }
            })
    }

    var lines: [String] { output.state.withLock { $0.lines } }
    var omitted: Int { output.state.withLock { $0.omitted } }
    var exit: ProcessExit? { process.exit }

    static func program(_ mode: String, _ arguments: [String], limits: WorkerLimits = WorkerLimits()) -> WorkerProgram {
        WorkerProgram(
            executable: ownFolder + "/hostile-worker", arguments: [mode] + arguments, folder: newFolder(),
            limits: limits, sandbox: .require)
    }

    private static let ownFolder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    static func newFolder() -> String {
        URL(filePath: NSTemporaryDirectory()).resolvingSymlinksInPath().path + "/worker-\(UUID().uuidString)"
    }

    static func start(_ mode: String, _ arguments: String...) async throws -> Worker {
        try await Worker(program(mode, arguments))
    }

    /// To its end.
    static func run(_ mode: String, _ arguments: String..., limits: WorkerLimits = WorkerLimits()) async throws
        -> Worker
    {
        try await run(program(mode, arguments, limits: limits))
    }

    static func run(_ mode: String, _ arguments: [String]) async throws -> Worker {
        try await run(program(mode, arguments))
    }

    static func run(program: String, _ arguments: [String]) async throws -> Worker {
        try await run(
            WorkerProgram(executable: program, arguments: arguments, folder: newFolder(), sandbox: .require))
    }

    private static func run(_ program: WorkerProgram) async throws -> Worker {
        let worker = try await Worker(program)
        _ = await worker.process.waitForExit()
        worker.end()
        return worker
    }

    /// Returns when it has written the line.
    func wrote(_ line: String) async throws {
        await withCheckedContinuation { continuation in
            let isThere = output.state.withLock { state in
                if !state.lines.contains(line) { state.waiters.append((line, continuation)) }
                return state.lines.contains(line)
            }
            if isThere { continuation.resume() }
        }
    }

    /// Sends a byte over the socket and returns the answer.
    func ask(_ byte: UInt8) -> UInt8? {
        var byte = byte
        guard write(process.socket, &byte, 1) == 1, read(process.socket, &byte, 1) == 1 else { return nil }
        return byte
    }

    func end() {
        close(process.socket)
        process.kill()
        try? FileManager.default.removeItem(atPath: folder)
    }
}

struct NoRecords: RecordStore {
    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? { nil }
    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage { RecordPage(records: [], next: nil) }
    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int { 0 }
    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        throw PorticoError(.accessDenied, "There are no records.")
    }
}

struct NoAccounts: AccountLookup {
    func account(named name: String) async throws -> AccountSummary? { nil }
    func accounts(after name: String?, limit: Int) async throws -> [AccountSummary] { [] }
}

struct FixedClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 0) }
}
