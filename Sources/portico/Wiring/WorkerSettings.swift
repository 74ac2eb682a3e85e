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

    /// The values that hold where nothing is configured.
    init() {}

    /// Throws ``ConfigurationErrors`` for values that cannot work. `files`: what no worker may read.
    init(of adapter: AdapterName, _ resolved: ResolvedConfiguration, files: GatewayFiles) throws {
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
        integer("calls.underWay", &calls.underWay)
        integer("calls.waiting", &calls.waiting)
        try duration("calls.wait", &calls.wait)
    }

    /// A program that runs by these settings.
    func program(_ path: String, folder: String, files: GatewayFiles) -> WorkerProgram {
        var program = WorkerProgram(
            executable: path, folder: folder, readable: readable, limits: limits, sandbox: sandbox)
        let folders = WorkerProgram.folders(of: path)
        program.readsProgramFolder = files.isReadable(programFolder: folders.program)
        if !program.readsProgramFolder { program.readable += Self.libraries(in: folders.program) }
        program.readsLibraryFolder = files.isReadable(libraryFolder: folders.library)
        return program
    }

    /// The shared libraries that lie beside a program, such as those that were built with it.
    private static func libraries(in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let paths = names.sorted().filter { $0.hasSuffix(".so") || $0.contains(".so.") }.map { "\(folder)/\($0)" }
        // A link's own file is one of them, or is not meant.
        let files = paths.filter {
            (try? FileManager.default.attributesOfItem(atPath: $0))?[.type] as? FileAttributeType == .typeRegular
        }
        return Array(files.prefix(mostLibraries))
    }

    /// Times are waited for: a longer one is a mistake.
    private static let longest = Duration.seconds(86_400)
    private static let leastMemory = 16 << 20
    /// The launcher takes few more.
    private static let mostReadable = 16
    private static let mostLibraries = 16

    private static func readable(_ section: SectionValues, _ files: GatewayFiles) throws -> [String] {
        let paths = try section.list("readable", "an absolute path") { $0.hasPrefix("/") ? $0 : nil }
        guard paths.count <= mostReadable else {
            throw section.wrong("readable", "These are at most \(mostReadable) paths.")
        }
        return try paths.map { path in
            guard let file = FilePlace(existing: path) else {
                // No mistake of the configuration: it may come back, and the others are served meanwhile.
                throw CommandError("\(section.path).readable: there is no such file, or it cannot be reached: \(path).")
            }
            guard !files.overlap(file) else {
                throw section.wrong("readable", "A worker may not read \(path): the gateway's own files are there.")
            }
            guard !GatewayFiles.areKernels(file) else {
                throw section.wrong("readable", "A worker may not read \(path): the kernel's files are there.")
            }
            // A link that leads elsewhere later gives the worker nothing else.
            return file.path
        }
    }

    /// The keys that a configuration can have below `adapters.NAME.worker`. `adapter`: `*` for the reference of all.
    static func keys(of adapter: String) -> [ConfigurationKey] {
        func key(_ name: String, _ kind: ConfigurationKind, _ value: String?, _ summary: String) -> ConfigurationKey {
            ConfigurationKey("adapters.\(adapter).worker.\(name)", kind, default: value, summary).reloading
        }
        return [
            key("limits.memory", .size, "1GiB", "Of an adapter that is a program: its private memory; at least 16MiB."),
            key("limits.file", .size, "1GiB", "Bytes of one file that it writes."),
            key("limits.descriptors", .integer(16...1_048_576), "256", "Its open descriptors."),
            key(
                "limits.processes", .integer(1...4_194_304), "4096",
                "Threads and processes of the gateway's user, all together; not enforced for root."),
            key(
                "limits.threads", .integer(1...4_194_304), "1024",
                "Its own threads. With more it is ended, and the second time within ten minutes it has failed."),
            key(
                "limits.processorTime", .duration, nil,
                "Processor time in its life, in whole seconds; then it is ended and started anew. Left out: any."),
            key(
                "sandbox", .choice(WorkerProgram.Sandbox.allCases.map(\.rawValue)), "warn",
                "Where the kernel cannot restrict it: `require` does not start it, `warn` starts it with a warning. `off` restricts nothing but resources, for debugging."
            ),
            key(
                "readable", .list(of: .text), "[]",
                "Absolute paths of files and folders that it may read beyond its own folders; they must exist, outside the configuration's folder and the data directory."
            ),
            key("supervision.start", .duration, "30s", "From its launch until it is ready; then it is killed."),
            key("supervision.heartbeat", .duration, "2s", "From the answer to a heartbeat to the next one."),
            key("supervision.heartbeatTolerance", .duration, "5s", "Without an answer to a heartbeat it is killed."),
            key("supervision.terminationGrace", .duration, "2s", "From the request to end to the kill."),
            key(
                "supervision.stableUptime", .duration, "1s",
                "One that ran for so long is started at once when it ends, and earlier crashes are forgotten."),
            key(
                "supervision.firstBackoff", .duration, "100ms",
                "The wait after the second crash in a row; each is twice the last."),
            key("supervision.longestBackoff", .duration, "30s", "The longest of these waits."),
            key(
                "supervision.crashesToFail", .integer(1...1_000), "8",
                "So many crashes in a row within `crashWindow`: it has failed, and calls are answered 503."),
            key("supervision.crashWindow", .duration, "60s", "Crashes that are older do not count."),
            key("supervision.failedRetry", .duration, "60s", "When one that has failed is started again."),
            key(
                "supervision.stallCalls", .integer(1...100_000), "4",
                "So many calls that expired with none answered: it is watched for a stall."),
            key(
                "supervision.spinTolerance", .duration, "5s",
                "Then one that takes the processor while calls wait is killed."),
            key(
                "supervision.stallTolerance", .duration, "60s",
                "Then any other is killed once calls have waited so long, all together."),
            key("calls.underWay", .integer(1...100_000), "1024", "Its calls at once; more are answered 503."),
            key(
                "calls.waiting", .integer(0...100_000), "256",
                "Calls that wait while it restarts; more are answered 503."),
            key("calls.wait", .duration, "5s", "How long they wait."),
        ]
    }

    /// The same keys, as paths below the adapter's name.
    static let paths = Set(keys(of: "*").map { Array($0.path.dropFirst(2)) })
}
