import Foundation
import Synchronization

/// The program itself, as an operator runs it, in a folder of its own.
final class Program: Sendable {
    let folder: URL
    private let process: Process
    private let end: AsyncStream<Int32>

    /// `files` are written before it begins, by name; arguments may name them.
    init(_ arguments: [String], input: [UInt8] = [], files: [String: String] = [:]) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "p-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Files, so that neither side waits for the other.
        try Data(input).write(to: folder.appending(path: "in"))
        for name in ["out", "err"] { try Data().write(to: folder.appending(path: name)) }
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        process = Process()
        // The build puts it beside the tests.
        process.executableURL = Bundle.main.executableURL?.deletingLastPathComponent().appending(path: "portico")
        process.arguments = arguments
        // Configuration keys may be variables: those of the tests are none of the program's.
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PORTICO_") }
        process.currentDirectoryURL = folder
        process.standardInput = try FileHandle(forReadingFrom: folder.appending(path: "in"))
        process.standardOutput = try FileHandle(forWritingTo: folder.appending(path: "out"))
        process.standardError = try FileHandle(forWritingTo: folder.appending(path: "err"))
        let (end, ended) = AsyncStream.makeStream(of: Int32.self)
        self.end = end
        process.terminationHandler = { process in
            ended.yield(process.terminationStatus)
            ended.finish()
        }
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    /// The status with which it ends. For one caller.
    var status: Int32 {
        get async { await end.first { _ in true } ?? -1 }
    }

    var output: String { text("out") }
    var errors: String { text("err") }

    func write(_ text: String, to name: String) throws { try Data(text.utf8).write(to: folder.appending(path: name)) }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// The first line with these words on standard output or standard error, once it is there, or nil where the process
    /// ends without it.
    func line(with words: String) async throws -> String? {
        while true {
            let isOver = !process.isRunning
            let lines = (output + errors).split(separator: "\n")
            if let found = lines.first(where: { $0.contains(words) }) { return String(found) }
            if isOver { return nil }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func text(_ name: String) -> String {
        (try? String(contentsOf: folder.appending(path: name), encoding: .utf8)) ?? ""
    }
}
