import Foundation
import Synchronization

/// The program that stands between a store and its server.
final class RoundTripProxy: Sendable {
    let port: Int
    private let process: Mutex<Process>
    private let input = Pipe()
    private let output = Pipe()

    struct Counts {
        let roundTrips: Int
        let connections: Int
    }

    init(to server: Int, microseconds: Int = 0) throws {
        port = try DatabaseServer.freePort()
        process = Mutex(Process())
        let folder = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        let (input, output, port) = (input, output, port)
        try process.withLock { process in
            process.executableURL = folder.appending(path: "round-trip-proxy")
            process.arguments = ["\(port)", "\(server)", "\(microseconds)"]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
        }
        _ = line()
    }

    deinit { try? input.fileHandleForWriting.close() }

    /// What was counted since it was asked last.
    @discardableResult
    func count() throws -> Counts { try ask("count") }

    /// Ends all connections.
    func cut() throws { try ask("cut") }

    /// Keeps back what the server answers.
    func hold() throws { try ask("hold") }

    func release() throws { try ask("release") }

    @discardableResult
    private func ask(_ command: String) throws -> Counts {
        try process.withLock { _ in
            try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
            let numbers = line().split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 4 else { throw CocoaError(.fileReadCorruptFile) }
            return Counts(roundTrips: numbers[0], connections: numbers[1])
        }
    }

    private func line() -> String {
        var bytes: [UInt8] = []
        while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
