import AdapterKit
import Dispatch
import Foundation
import Synchronization
import WorkerHost

/// An adapter's program, and what it has said of itself.
struct WorkerPlugin: Sendable {
    /// From a program's start until it has answered what it offers.
    private static let patience = Duration.seconds(20)

    let name: AdapterName
    let options: [ConfigurationOption]
    private let path: String
    /// The path before links were resolved.
    private let source: String
    private let data: String
    private var folders: WorkerFolders { WorkerFolders(data) }

    /// Starts the program with these settings, asks for its name, and ends it. Blocks its thread. `hint`: what the operator can
    /// change where it does not answer. The program's own folder is below the data directory.
    init(_ path: String, _ settings: WorkerSettings, hint: String) throws {
        self = try Self.blocking { try await Self.asking(path, settings, hint: hint) }
    }

    /// As ``init(_:_:hint:)``, for a task.
    static func asking(
        _ source: String, _ settings: WorkerSettings, hint: String
    ) async throws -> WorkerPlugin {
        let path = try ProgramFile(source).path
        let (name, options) = try await asking(path, settings, hint: hint) { ($0.greeting.name, $0.options) }
        return WorkerPlugin(name: name, options: options, path: path, source: source, data: settings.files.data)
    }

    private init(name: AdapterName, options: [ConfigurationOption], path: String, source: String, data: String) {
        (self.name, self.options, self.path, self.source, self.data) = (name, options, path, source, data)
    }

    /// Starts the program once more for what it offers with this configuration. Blocks its thread.
    func describe(_ configuration: AdapterConfiguration, _ settings: WorkerSettings) throws -> WorkerDescription {
        let path = path
        let description = try Self.blocking {
            try await Self.asking(path, settings, hint: nil) { try await $0.describe(configuration) }
        }
        guard description.declaration.name == name else {
            throw HostCommandError(
                "plugin \(path): it declares the adapter \(description.declaration.name), and its response to hello names \(name)."
            )
        }
        return description
    }

    /// The adapter, which is started with the others.
    func adapter(
        _ description: WorkerDescription, _ configuration: AdapterConfiguration, _ settings: WorkerSettings,
        log: WorkerLog
    ) -> any Adapter {
        let folder = folders.instance(of: name)
        var session = SessionLimits()
        session.snapshots = Self.permits(store: settings.storeStreams).share(of: name)
        return WorkerAdapter(
            settings.program(path, folder: folder),
            connector: WorkerConnector(configuration: configuration, scratch: folder, limits: session) {
                log.writeEvent($0)
            },
            declaration: description.declaration, serviceOperations: description.services,
            samples: description.samples, shapedErrors: description.shapedErrors,
            worksBesideCalls: description.worksBesideCalls, protocolVersion: description.protocolVersion,
            limits: settings.supervision,
            callLimits: settings.calls,
            crashFile: folders.crashes(of: name), kept: (folders.declaration(of: name), source),
            clock: SystemClock(), log: Log { log.write($0) })
    }

    private static let permits = Mutex<SnapshotPermits?>(nil)

    /// Those of the one store that the process has.
    private static func permits(store: Int) -> SnapshotPermits {
        permits.withLock { permits in
            let shared = permits ?? SnapshotPermits(store: store)
            permits = shared
            return shared
        }
    }

    /// Runs the program for as long as `body` asks it, in a folder that is removed when its process has ended.
    private static func asking<Answer: Sendable>(
        _ path: String, _ settings: WorkerSettings, hint: String?,
        _ body: @escaping @Sendable (WorkerConnection) async throws -> Answer
    ) async throws -> Answer {
        let folder = FileManager.default.temporaryDirectory.appending(path: "portico-plugin-\(UUID())").path
        do {
            let process = try await WorkerProcesses.shared.start(
                settings.program(path, folder: folder), log: .discarding)
            do {
                let answer = try await asking(path, process, hint: hint, body)
                await remove(folder, of: process)
                return answer
            } catch {
                await remove(folder, of: process)
                throw error
            }
        } catch let error as PorticoError {
            throw HostCommandError("plugin \(path): \(error.message) \(error.logDetail ?? "")")
        }
    }

    /// Kills the process.
    private static func asking<Answer: Sendable>(
        _ path: String, _ process: WorkerProcess, hint: String?,
        _ body: @escaping @Sendable (WorkerConnection) async throws -> Answer
    ) async throws -> Answer {
        defer { process.kill() }
        do {
            let deadline = ContinuousClock.now + patience
            let session = try await WorkerConnector(configuration: nil) { _ in }.open(
                process.socket, deadline: deadline)
            defer { session.close() }
            return try await withThrowingTaskGroup(of: Answer?.self) { group in
                group.addTask { try await body(session) }
                group.addTask {
                    try await Task.sleep(until: deadline)
                    return nil
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() ?? nil else {
                    throw WorkerEnded(.handshakeTimeout, wasSent: true)
                }
                return answer
            }
        } catch let ended as WorkerEnded {
            // It may be about to end by itself, with a status that says why.
            let killing = Task {
                if ended.end == .disconnected { try? await Task.sleep(for: .seconds(2)) }
                process.kill()
            }
            _ = await process.waitForExit()
            killing.cancel()
            let hint = ended.end.isOfItsRun ? hint.map { " (\($0))" } ?? "" : ""
            throw HostCommandError("plugin \(path): \(reason(ended.end, process))\(hint)")
        }
    }

    private static func remove(_ folder: String, of process: WorkerProcess) async {
        _ = await process.waitForExit()
        await FolderRemover.remove(folder, log: .discarding)
    }

    private static func reason(_ end: WorkerEnd, _ process: WorkerProcess) -> String {
        let lines = shortened(process.lastLines).joined(separator: " / ")
        let reason =
            switch end {
            case .versionRefused(let reason): "it speaks another version of the protocol: \(reason)"
            case .protocolViolation(let reason): "it does not keep to the protocol: \(reason)"
            case .handshakeTimeout: "it did not answer within \(patience)"
            case .closed, .disconnected: "it ended (\(process.exit.map { "\($0)" } ?? "without a status"))"
            }
        return lines.isEmpty ? reason : "\(reason): \(lines)"
    }

    /// The first lines, of which one says what is wrong in most languages, and the last, which does in others.
    private static func shortened(_ lines: [String]) -> [String] {
        lines.count <= 10 ? lines : lines.prefix(7) + ["…"] + lines.suffix(3)
    }

    /// A configuration is read on a thread of its own, which may wait for tasks.
    private static func blocking<Answer: Sendable>(
        _ body: @escaping @Sendable () async throws -> Answer
    ) throws -> Answer {
        let (result, done) = (Answered<Answer>(), DispatchSemaphore(value: 0))
        // Waited for below. The thread that waits may be one of the few on which tasks run otherwise.
        Task(executorPreference: BlockingExecutor("adapter.program")) {
            do { result.set(.success(try await body())) } catch { result.set(.failure(error)) }
            done.signal()
        }
        done.wait()
        return try result.get()
    }

    private final class Answered<Answer: Sendable>: Sendable {
        private let value = Mutex<Result<Answer, any Error>?>(nil)

        func set(_ result: Result<Answer, any Error>) { value.withLock { $0 = result } }

        func get() throws -> Answer {
            guard let result = value.withLock({ $0 }) else {
                throw HostCommandError("The adapter's program was not asked.")
            }
            return try result.get()
        }
    }
}

extension WorkerEnd {
    /// Whether other settings of its run may keep it from ending so.
    fileprivate var isOfItsRun: Bool {
        switch self {
        case .closed, .disconnected, .handshakeTimeout: true
        case .versionRefused, .protocolViolation: false
        }
    }
}

/// What a worker has answered to one configuration, a failure too. A plan asks twice for it: for the declaration, and for the
/// adapter.
final class DescribedWorker: Sendable {
    private struct Answer {
        let configuration: AdapterConfiguration
        let settings: WorkerSettings
        let result: Result<WorkerDescription, any Error>
    }

    private let worker: WorkerPlugin
    private let known = Mutex<Answer?>(nil)

    init(_ worker: WorkerPlugin) { self.worker = worker }

    /// Asks each, side by side. Blocks its thread.
    static func ask(_ workers: [(DescribedWorker, AdapterConfiguration, WorkerSettings)]) {
        SideBySide.run(workers.count) { position in
            let (worker, configuration, settings) = workers[position]
            _ = try? worker.description(with: configuration, settings)
        }
    }

    func description(
        with configuration: AdapterConfiguration, _ settings: WorkerSettings
    ) throws -> WorkerDescription {
        if let known = known.withLock({ $0 }), (known.configuration, known.settings) == (configuration, settings) {
            return try known.result.get()
        }
        let result = Result { try worker.describe(configuration, settings) }
        known.withLock { $0 = Answer(configuration: configuration, settings: settings, result: result) }
        return try result.get()
    }
}

/// Work that waits, all of it at the same time.
enum SideBySide {
    /// Calls the body with each number, on a thread for each: those of a queue are as few as there are processors. Blocks its thread
    /// until all have returned.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        guard count > 1 else {
            if count == 1 { body(0) }
            return
        }
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            Thread {
                body(number)
                group.leave()
            }.start()
        }
        group.wait()
    }
}
