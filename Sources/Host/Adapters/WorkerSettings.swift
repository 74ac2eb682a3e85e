import AdapterKit
import Foundation
import HostConfiguration
import WorkerHost

/// How the program of one adapter runs: the keys below `adapters.NAME.worker`.
struct WorkerSettings: Sendable, Equatable {
    var limits = WorkerLimits()
    var sandbox = WorkerProgram.Sandbox.warn
    /// Absolute paths of further files and folders that it may read.
    var readable: [String] = []
    var supervision = SupervisionLimits()
    var calls = CallLimits()
    /// How many streamed reads the store makes at once.
    var storeStreams = 8
    /// What no worker may read.
    let files: GatewayFiles

    /// The values that hold where nothing is configured.
    init(files: GatewayFiles) { self.files = files }

    /// Throws ``ConfigurationErrors`` for values that cannot work.
    init(of adapter: AdapterName, _ resolved: ResolvedConfiguration, files: GatewayFiles) throws {
        self.files = files
        let section = SectionValues("adapters.\(adapter).worker", resolved)
        func duration(_ key: String, _ value: inout Duration) throws {
            guard let configured = section[key]?.duration else { return }
            guard configured <= Self.longest else { throw section.wrong(key, "This is at most 1d.") }
            value = configured
        }
        func integer<Number: FixedWidthInteger>(_ key: String, _ value: inout Number) {
            section[key]?.integer.map { value = Number(clamping: $0) }
        }
        if let memory = section["limits.memory"]?.size {
            guard memory >= Self.leastMemory else { throw section.wrong("limits.memory", "This is at least 16MiB.") }
            limits.memory = UInt64(clamping: memory)
        }
        section["limits.file"]?.size.map { limits.file = UInt64(clamping: max(1, $0)) }
        integer("limits.descriptors", &limits.descriptors)
        integer("limits.processes", &limits.processes)
        integer("limits.threads", &limits.threads)
        if let time = section["limits.processorTime"]?.duration {
            limits.processorSeconds = UInt64(clamping: max(1, time.components.seconds))
        }
        sandbox = section["sandbox"]?.text.flatMap { .init(rawValue: $0) } ?? sandbox
        readable = try Self.readable(section, files)
        try duration("supervision.start", &supervision.start)
        try duration("supervision.heartbeat", &supervision.heartbeatInterval)
        try duration("supervision.heartbeatTolerance", &supervision.heartbeatTolerance)
        try duration("supervision.terminationGrace", &supervision.terminationGrace)
        try duration("supervision.stableUptime", &supervision.stableUptime)
        try duration("supervision.firstBackoff", &supervision.firstBackoff)
        try duration("supervision.longestBackoff", &supervision.longestBackoff)
        integer("supervision.crashesToFail", &supervision.crashesToFail)
        try duration("supervision.crashWindow", &supervision.crashWindow)
        try duration("supervision.failedRetry", &supervision.failedRetry)
        integer("supervision.stallCalls", &supervision.stallCalls)
        try duration("supervision.spinTolerance", &supervision.spinTolerance)
        try duration("supervision.stallTolerance", &supervision.stallTolerance)
        resolved["store.streams"]?.integer.map { storeStreams = $0 }
        integer("calls.inFlight", &calls.inFlight)
        integer("calls.queued", &calls.queued)
        try duration("calls.queueTimeout", &calls.queueTimeout)
    }

    /// A program that runs by these settings.
    func program(_ path: String, folder: String) -> WorkerProgram {
        var program = WorkerProgram(
            executable: path, folder: folder, readable: readable + SwiftRuntimeFolders.namedFolders(byProgramAt: path),
            limits: limits, sandbox: sandbox)
        let folders = WorkerProgram.folders(of: path)
        program.readsProgramFolder = files.isReadable(codeFolder: folders.program)
        // Of what it may read there it looks for the names, as the modules of a script are found.
        if !program.readsProgramFolder,
            readable.contains(where: { ResolvedPath(folders.program).contains(ResolvedPath($0)) })
        {
            program.listable = [folders.program]
        }
        program.readsLibraryFolder = files.isReadable(codeFolder: folders.library)
        program.closed = files.closed
        return program
    }

    /// What the configuration names below the folders that the program at this path reads, each with such a folder: it is closed
    /// to the program all the same.
    func namedFiles(inFoldersOf path: String) -> [(named: GatewayFiles.Named, folder: String)] {
        program(path, folder: "").readableFolders.flatMap { folder in
            files.namedFiles(below: folder).map { ($0, folder) }
        }
    }

    /// Times are waited for: a longer one is a mistake.
    private static let longest = Duration.seconds(86_400)
    private static let leastMemory = 16 << 20
    /// The launcher takes few more.
    private static let mostReadable = 32

    private static func readable(_ section: SectionValues, _ files: GatewayFiles) throws -> [String] {
        let paths = try section.list("readable", "an absolute path") { $0.hasPrefix("/") ? $0 : nil }
        guard paths.count <= mostReadable else {
            throw section.wrong("readable", "These are at most \(mostReadable) paths.")
        }
        return try paths.map { path in
            guard let file = ResolvedPath(existing: path) else {
                // No mistake of the configuration: it may come back, and the others are served meanwhile.
                throw HostCommandError(
                    "\(section.path).readable: there is no such file, or it cannot be reached: \(path).")
            }
            if let reason = files.refusal(of: file) {
                throw section.wrong("readable", "A worker may not read \(path): \(reason).")
            }
            // A link that leads elsewhere later gives the worker nothing else.
            return file.path
        }
    }

    /// The keys that a configuration can have below `adapters.NAME.worker`. `adapter`: `*` for the reference of all.
    static func keys(of adapter: String) -> [ConfigurationKey] {
        func key(_ name: String, _ kind: ConfigurationKind, _ value: String?, _ summary: String) -> ConfigurationKey {
            ConfigurationKey("adapters.\(adapter).worker.\(name)", kind, default: value, summary)
        }
        return [
            key("limits.memory", .size, "1GiB", "Maximum private memory of the worker; at least 16MiB."),
            key("limits.file", .size, "1GiB", "Maximum size of one file that the worker writes."),
            key(
                "limits.descriptors", .integer(16...1_048_576), "256",
                "Maximum number of open descriptors of the worker."),
            key(
                "limits.processes", .integer(1...4_194_304), "4096",
                "Maximum number of threads and processes of the gateway's user, all programs together; not enforced for root."
            ),
            key(
                "limits.threads", .integer(1...4_194_304), "1024",
                "Maximum number of threads of the worker. With more it is killed; the second time within ten minutes it has failed."
            ),
            key(
                "limits.processorTime", .duration, nil,
                "Processor time of one process of the worker, in whole seconds, after which it is killed and started again. Without it: no limit."
            ),
            key(
                "sandbox", .choice(WorkerProgram.Sandbox.allCases.map(\.rawValue)), "warn",
                "What happens where the kernel cannot sandbox the worker: `require` does not start it, `warn` starts it with a warning. `off` never sandboxes it and limits resources only, for debugging."
            ),
            key(
                "readable", .list(of: .text), "[]",
                "Absolute paths of further files and folders that the worker may read, such as the modules of a program that lies in the configuration's folder. They must exist, outside the data directory; what the configuration names is closed to it all the same."
            ),
            key(
                "supervision.start", .duration, "30s",
                "Longest time from the launch of the worker until it is ready; after that it is killed."),
            key(
                "supervision.heartbeat", .duration, "2s",
                "Time from the worker's answer to a heartbeat to the next heartbeat."),
            key(
                "supervision.heartbeatTolerance", .duration, "5s",
                "Longest time that a heartbeat may be unanswered; after that the worker is killed."),
            key(
                "supervision.terminationGrace", .duration, "2s",
                "Time between the request to the worker to end and its kill."),
            key(
                "supervision.stableUptime", .duration, "1s",
                "A worker that has run this long is started again at once when it crashes, and its earlier crashes no longer count."
            ),
            key(
                "supervision.firstBackoff", .duration, "100ms",
                "Wait before the restart after the worker's second crash in a row; each further wait is twice the one before."
            ),
            key(
                "supervision.longestBackoff", .duration, "30s",
                "Longest wait before a restart of the worker after a crash."),
            key(
                "supervision.crashesToFail", .integer(1...1_000), "8",
                "Number of crashes in a row within `crashWindow` after which the worker has failed and its calls are answered 503."
            ),
            key("supervision.crashWindow", .duration, "60s", "Age above which a crash of the worker no longer counts."),
            key(
                "supervision.failedRetry", .duration, "60s",
                "Time after which a worker that has failed is started again."),
            key(
                "supervision.stallCalls", .integer(1...100_000), "4",
                "Number of calls that expired, with none answered, after which the worker counts as stalled; `spinTolerance` and `stallTolerance` decide when it is killed."
            ),
            key(
                "supervision.spinTolerance", .duration, "5s",
                "Time after which a stalled worker is killed that uses the processor while calls wait."),
            key(
                "supervision.stallTolerance", .duration, "60s",
                "Time that calls have waited in all, after which any other stalled worker is killed."),
            key(
                "calls.inFlight", .integer(1...100_000), "1024",
                "Maximum number of calls that the worker has at once; more are answered 503."),
            key(
                "calls.queued", .integer(0...100_000), "256",
                "Maximum number of calls that wait while the worker restarts; more are answered 503."),
            key(
                "calls.queueTimeout", .duration, "5s",
                "Longest time that a call waits while the worker restarts; after that it is answered 503."),
        ]
    }

    /// The same keys, as paths below the adapter's name.
    static let paths = Set(keys(of: "*").map { Array($0.path.dropFirst(2)) })
}
