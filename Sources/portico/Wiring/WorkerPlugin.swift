import AdapterKit
import Dispatch
import Foundation
import PluginHost
import Synchronization
import WorkerHost

/// How a plugin runs.
enum PluginMode: String, CaseIterable {
    /// A library in the gateway's process.
    case inProcess
    /// A program of its own.
    case worker
}

/// An adapter's program, and what it has said of itself.
struct WorkerPlugin: Sendable {
    /// From a program's start until it has answered what it offers.
    private static let patience = Duration.seconds(20)

    let name: AdapterName
    let options: [ConfigurationOption]
    private let path: String
    /// The path before links were resolved.
    private let source: String
    private let files: GatewayFiles
    private var folders: WorkerFolders { WorkerFolders(files.data) }

    /// Starts the program, asks for its name, and ends it. Blocks its thread. `files`: what it may not read; the program's own
    /// folder is below the data directory.
    init(_ path: String, files: GatewayFiles) throws {
        self = try Self.blocking { try await Self.asking(path, files: files) }
    }

    /// As ``init(_:files:)``, for a task.
    static func asking(_ source: String, files: GatewayFiles) async throws -> WorkerPlugin {
        let path = try PluginHost().checkProgram(source)
        let (name, options) = try await asking(path, WorkerSettings(), files) { ($0.greeting.name, $0.options) }
        return WorkerPlugin(name: name, options: options, path: path, source: source, files: files)
    }

    private init(
        name: AdapterName, options: [ConfigurationOption], path: String, source: String, files: GatewayFiles
    ) {
        (self.name, self.options, self.path, self.source, self.files) = (name, options, path, source, files)
    }

    /// Starts the program once more for what it offers with this configuration. Blocks its thread.
    func describe(_ configuration: AdapterConfiguration, _ settings: WorkerSettings) throws -> WorkerDescription {
        let (path, files) = (path, files)
        let description = try Self.blocking {
            try await Self.asking(path, settings, files) { try await $0.describe(configuration) }
        }
        guard description.declaration.name == name else {
            throw CommandError(
                "plugin \(path): it declares the adapter \(description.declaration.name), and is named \(name).")
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
        session.snapshots = Self.places(store: settings.storeStreams).share(of: name)
        return SupervisedWorker(
            settings.program(path, folder: folder, files: files),
            connector: WorkerConnector(configuration: configuration, scratch: folder, limits: session) {
                log.writeEvent($0)
            },
            declaration: description.declaration, serviceOperations: description.services,
            samples: description.samples, shapedErrors: description.shapedErrors, limits: settings.supervision,
            callLimits: settings.calls,
            crashFile: folders.crashes(of: name), kept: (folders.declaration(of: name), source),
            clock: SystemClock(), log: Log { log.write($0) })
    }

    private static let places = Mutex<SnapshotPlaces?>(nil)

    /// Those of the one store that the process has.
    private static func places(store: Int) -> SnapshotPlaces {
        places.withLock { places in
            let shared = places ?? SnapshotPlaces(store: store)
            places = shared
            return shared
        }
    }

    /// Runs the program for as long as `body` asks it, in a folder that is removed when its process has ended.
    private static func asking<Answer: Sendable>(
        _ path: String, _ settings: WorkerSettings, _ files: GatewayFiles,
        _ body: @escaping @Sendable (WorkerConnection) async throws -> Answer
    ) async throws -> Answer {
        let folder = FileManager.default.temporaryDirectory.appending(path: "portico-plugin-\(UUID())").path
        do {
            let process = try await WorkerProcesses.shared.start(
                settings.program(path, folder: folder, files: files), log: .discarding)
            do {
                let answer = try await asking(path, process, body)
                await remove(folder, of: process)
                return answer
            } catch {
                await remove(folder, of: process)
                throw error
            }
        } catch let error as PorticoError {
            throw CommandError("plugin \(path): \(error.message) \(error.logDetail ?? "")")
        }
    }

    /// Kills the process.
    private static func asking<Answer: Sendable>(
        _ path: String, _ process: WorkerProcess,
        _ body: @escaping @Sendable (WorkerConnection) async throws -> Answer
    ) async throws -> Answer {
        defer { process.kill() }
        do {
            let session = try await WorkerConnector(configuration: nil) { _ in }.open(
                process.socket, deadline: .now + patience)
            let answer = try await body(session)
            session.close()
            return answer
        } catch let ended as WorkerEnded {
            // It may be about to end by itself, with a status that says why.
            let killing = Task {
                if ended.end == .disconnected { try? await Task.sleep(for: .seconds(2)) }
                process.kill()
            }
            _ = await process.exited()
            killing.cancel()
            throw CommandError("plugin \(path): \(reason(ended.end, process))")
        }
    }

    private static func remove(_ folder: String, of process: WorkerProcess) async {
        _ = await process.exited()
        await WorkerFolder.remove(folder, log: .discarding)
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
        // Waited for below.
        Task {
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
                throw CommandError("The adapter's program was not asked.")
            }
            return try result.get()
        }
    }
}

/// What a worker has answered to one configuration. A plan asks twice for it: for the declaration, and for the adapter.
final class DescribedWorker: Sendable {
    private let worker: WorkerPlugin
    private let known = Mutex<(AdapterConfiguration, WorkerSettings, WorkerDescription)?>(nil)

    init(_ worker: WorkerPlugin) { self.worker = worker }

    func description(
        with configuration: AdapterConfiguration, _ settings: WorkerSettings
    ) throws -> WorkerDescription {
        if let known = known.withLock({ $0 }), (known.0, known.1) == (configuration, settings) { return known.2 }
        let description = try worker.describe(configuration, settings)
        known.withLock { $0 = (configuration, settings, description) }
        return description
    }
}

/// Where workers' files are, below the data directory.
///
/// ```
/// workers/NAME/INSTANCE/        the folder of one instance, which it alone may write; removed when it is stopped
/// workers/.left-ID/             what an earlier process has left, until it is removed
/// workers/NAME.crashes.json     its last crashes
/// workers/NAME.declaration      what it declared when it was last started
/// ```
struct WorkerFolders: Sendable {
    private static let declarationSuffix = ".declaration"
    private static let leftPrefix = ".left-"
    private let folder: URL

    init(_ data: String) { folder = URL(fileURLWithPath: data, isDirectory: true).appending(path: "workers") }

    /// Another one with each call: while one instance takes another one's place, both have files.
    func instance(of name: AdapterName) -> String {
        folder.appending(path: name.text).appending(path: UUID().uuidString).path
    }

    func crashes(of name: AdapterName) -> String { folder.appending(path: "\(name).crashes.json").path }

    func declaration(of name: AdapterName) -> String {
        folder.appending(path: name.text + Self.declarationSuffix).path
    }

    /// Those of all adapters.
    var declarations: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
            .filter { $0.hasSuffix(Self.declarationSuffix) }.map { folder.appending(path: $0).path }
    }

    /// Removes what instances of an earlier process have left, which may take longer than this does. To be called before any is
    /// started, by the one process that uses the data directory. What stays is a warning in the log.
    func removeLeftovers(log: Log) {
        var left: [String] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            let path = folder.appending(path: name).path
            // Of a symbolic link this is the link's type.
            let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            guard type == .typeDirectory else { continue }
            guard !name.hasPrefix(Self.leftPrefix) else {
                left.append(path)
                continue
            }
            // Instances of this process make a folder of the name again.
            let aside = folder.appending(path: "\(Self.leftPrefix)\(UUID().uuidString)").path
            if rename(path, aside) == 0 {
                left.append(aside)
            } else {
                log.warning("files of earlier workers stay", ["folder": .text(path)])
            }
        }
        guard !left.isEmpty else { return }
        Task.detached(priority: .background) { [left] in
            for path in left { await WorkerFolder.remove(path, patience: nil, log: log) }
        }
    }
}

/// The log of a worker's adapter. The host's log is there later than the adapter.
final class WorkerLog: Sendable {
    /// Not the function itself: a lock's value is generic, and each use of a function in one leaves it wrapped once more.
    private struct Target {
        let sink: Log.Sink
    }

    private let target = Mutex<Target?>(nil)
    private let events = Mutex(LogEventLimit())

    func use(_ sink: @escaping Log.Sink) { target.withLock { $0 = Target(sink: sink) } }

    func write(_ message: LogMessage) { target.withLock { $0 }?.sink(message) }

    /// What the program logs itself, as far as ``LogEventLimit`` lets it through.
    func writeEvent(_ message: LogMessage) {
        for message in events.withLock({ $0.take(Self.named(message), at: .now) }) { write(message) }
    }

    /// What a line of the log says of itself is the host's; a value of such a name gets another one.
    private static func named(_ message: LogMessage) -> LogMessage {
        let values = message.values.map { value in
            own.contains(value.key) ? LogMessage.Item(key: "adapter.\(value.key)", value: value.value) : value
        }
        return LogMessage(level: message.level, text: message.text, values: values)
    }

    private static let own: Set<String> = ["caller", "endpoint", "level", "message", "requestId", "source", "time"]
}
