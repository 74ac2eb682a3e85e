import AdapterKit
import Foundation
import PostgreSQLStore
import Synchronization

/// A PostgreSQL server of this process's tests, on a port of its own of the loopback. It ends with the process, because it
/// ends with the pipe that the process holds.
final class DatabaseServer: Sendable {
    /// Nil where no PostgreSQL is installed.
    static let shared: DatabaseServer? = programs.flatMap { try? DatabaseServer($0) }

    /// The folder of `initdb` and `postgres`.
    static let programs: String? = {
        let packaged = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let folders =
            packaged.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "/usr/lib/postgresql/\($0)/bin" }
            + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { String($0) }
        return folders.first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
    }()

    let port: Int
    private let directory: URL
    private let programs: String
    private let process: Mutex<Process>
    private let pipe = Pipe()
    private let schemas = Atomic<Int>(0)

    /// `options`: settings of the server, as `-c` takes them.
    init(_ programs: String, options: [String] = [], encoding: String = "UTF8") throws {
        self.programs = programs
        directory = FileManager.default.temporaryDirectory.appending(path: "postgresql-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        port = try Self.freePort()
        process = Mutex(Process())
        let isRoot = getuid() == 0
        if isRoot { try Self.run(["/bin/chown", "postgres", directory.path]) }
        let data = directory.appending(path: "data").path
        let setUp =
            "'\(programs)/initdb' -D '\(data)' -U portico -A trust --no-sync -E \(encoding) --locale=C >/dev/null"
        let settings = (["listen_addresses=127.0.0.1", "port=\(port)"] + options).map { "-c \($0)" }.joined(
            separator: " ")
        let serve = """
            '\(programs)/postgres' -D '\(data)' -k '\(directory.path)' \(settings) >'\(directory.path)/log' 2>&1 </dev/null &
            server=$!; cat >/dev/null; kill -INT $server; wait $server
            """
        let script = "\(setUp) && (\(serve)); rm -rf '\(directory.path)/data'"
        let arguments = isRoot ? ["su", "postgres", "-s", "/bin/sh", "-c", script] : ["sh", "-c", script]
        try process.withLock { process in
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = arguments
            process.standardInput = pipe
            process.currentDirectoryURL = FileManager.default.temporaryDirectory
            try process.run()
        }
        try waitUntilReady()
    }

    deinit { stop() }

    func stop() { try? pipe.fileHandleForWriting.close() }

    var url: String { "postgresql://portico@127.0.0.1:\(port)/postgres" }

    /// Settings of a store in a schema that nobody else uses.
    func settings(schema: String? = nil, port: Int? = nil, connections: Int = 4) -> PostgreSQLStoreSettings {
        let number = schemas.add(1, ordering: .relaxed).newValue
        return PostgreSQLStoreSettings(
            url: "postgresql://portico@127.0.0.1:\(port ?? self.port)/postgres", schema: schema ?? "test_\(number)",
            tls: "disable", connections: connections, clock: FixedClock())
    }

    /// Runs statements as the owner of the database, and gives what `psql` prints.
    @discardableResult
    func run(_ sql: String) throws -> String {
        try Self.run(["\(programs)/psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
    }

    /// Ends the connections of all stores.
    func endConnections() throws {
        try run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'portico'")
    }

    private func waitUntilReady() throws {
        let end = ContinuousClock.now + .seconds(180)
        while ContinuousClock.now < end {
            if (try? run("SELECT 1")) != nil { return }
            Thread.sleep(forTimeInterval: 0.05)
        }
        throw CocoaError(.executableLoad)
    }

    static func freePort() throws -> Int {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard bind(socket, pointer, length) == 0, getsockname(socket, pointer, &length) == 0 else {
                    throw CocoaError(.fileReadUnknown)
                }
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    @discardableResult
    static func run(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
        return String(decoding: data, as: UTF8.self)
    }
}

/// A time that does not move.
private struct FixedClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 12 * 3600) }
}
