import AdapterKit
import AdapterWorker
import Glibc
import WorkerHost

/// What a call costs in the process and as a worker: processor time of both processes, at two sizes of answers.
@main struct WorkerSpeed {
    static func main() async throws {
        if CommandLine.arguments.contains("--worker") { AdapterWorkerProgram.run(SpeedModule.self) }
        let seconds = CommandLine.arguments.dropFirst().first.flatMap(Double.init) ?? 3
        let (worker, process) = try await start()
        let library = try SpeedModule.make(AdapterConfiguration())
        print(
            "answer, calls at once: microseconds of processor time a call in the process, as a worker (host + program)")
        for (operation, label) in [("small", "300 B"), ("large", "100 KB")] as [(OperationName, String)] {
            for tasks in [1, 16] {
                let own = try await measure(library, operation, tasks, seconds, process: nil)
                let host = try await measure(worker, operation, tasks, seconds, process: process)
                print(
                    "\(label), \(tasks): \(text(own.own)), \(text(host.own + host.other)) (\(text(host.own)) + \(text(host.other)))"
                )
            }
        }
        worker.close()
        kill(process, SIGKILL)
    }

    private static func text(_ seconds: Double) -> String { "\((seconds * 1e8).rounded() / 100)" }

    /// This program once more, over a socket pair.
    private static func start() async throws -> (WorkerConnection, pid_t) {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw Failure(what: "socketpair") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 3)
        var process = pid_t()
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("/proc/self/exe"), strdup("--worker"), nil]
        let path = try path()
        guard posix_spawn(&process, path, &actions, nil, &arguments, environ) == 0 else {
            throw Failure(what: "posix_spawn")
        }
        close(ends[1])
        let session = try await WorkerConnector(configuration: AdapterConfiguration()) { _ in }.open(
            ends[0], deadline: .now + .seconds(30))
        return (session, process)
    }

    private static func path() throws -> String {
        guard let found = realpath("/proc/self/exe", nil) else { throw Failure(what: "realpath") }
        defer { free(found) }
        return String(cString: found)
    }

    private static func measure(
        _ adapter: any Adapter, _ operation: OperationName, _ tasks: Int, _ seconds: Double, process: pid_t?
    ) async throws -> (own: Double, other: Double) {
        let (before, otherBefore) = (processorSeconds(getpid()), process.map(processorSeconds) ?? 0)
        let end = ContinuousClock.now + .seconds(seconds)
        let calls = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    var calls = 0
                    while ContinuousClock.now < end {
                        _ = try await adapter.handle(call(operation))
                        calls += 1
                    }
                    return calls
                }
            }
            return try await group.reduce(0, +)
        }
        let own = processorSeconds(getpid()) - before
        let other = (process.map(processorSeconds) ?? 0) - otherBefore
        return (own / Double(max(1, calls)), other / Double(max(1, calls)))
    }

    private static func call(_ operation: OperationName) -> Call {
        Call(
            operation: operation, input: ["id": "42", "text": "some text of a caller"],
            caller: Principal(kind: .user, id: "1", name: "alice", roles: ["member"]), requestID: "1ab4b1thd1ppv-4",
            deadline: .now + .seconds(30), records: NoRecords(), log: .discarding)
    }

    /// User and system time of a process, in hundredths of a second (proc(5)).
    private static func processorSeconds(_ process: pid_t) -> Double {
        guard let file = fopen("/proc/\(process)/stat", "re") else { return 0 }
        defer { fclose(file) }
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count - 1, file)
        let line = String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let fields = line.drop { $0 != ")" }.split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
        return (user + system) / 100
    }
}

struct Failure: Error { let what: String }

struct NoRecords: RecordStore {
    private var missing: PorticoError { PorticoError(.adapterUnavailable, "There are no records here.") }
    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? { throw missing }
    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage { throw missing }
    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int { throw missing }
    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt { throw missing }
}

enum SpeedModule: AdapterModule {
    static let name: AdapterName = "speed"

    static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        AdapterDeclaration(name: name, title: "Speed", summary: "Answers at once.", version: "1")
    }

    static func make(_ configuration: AdapterConfiguration) throws -> any Adapter { SpeedAdapter() }
}

struct SpeedAdapter: Adapter {
    private let small: WireValue = .dictionary(Self.row(1))
    private let large: WireValue = .array((0..<340).map { .dictionary(Self.row($0)) })

    /// About 300 bytes as JSON.
    private static func row(_ number: Int) -> WireDictionary {
        [
            "id": .int64(Int64(number)), "firstName": "Grace", "lastName": "Hopper", "department": "Engineering",
            "email": "grace.hopper@example.com", "phone": "+1 555 0100", "room": "B-210", "isManager": true,
            "salary": 123_456.78, "since": .date(WireDate(secondsSince1970: 1_700_000_000)),
            "summary": .string(String(repeating: "x", count: 60)),
        ]
    }

    func handle(_ call: Call) async throws -> OperationResult {
        .value(call.operation == "large" ? large : small)
    }
}
