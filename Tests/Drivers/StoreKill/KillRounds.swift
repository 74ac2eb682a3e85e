import AdapterKit
import Foundation

/// Starts writers, kills them, checks.
struct KillRounds {
    private let options: Options

    init(_ options: Options) {
        self.options = options
    }

    func run() async throws {
        try FileManager.default.createDirectory(atPath: options.directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: options.directory) }
        var random = SeededRandom(seed: options.seed)
        var slowest = Duration.zero
        var acknowledged = 0
        for round in 1...options.rounds {
            try await killWriter(round, afterMilliseconds: UInt64.random(in: 20...400, using: &random))
            let check = try await Verification(options).run()
            slowest = max(slowest, check.opening)
            acknowledged = check.acknowledged
        }
        print("\(options.rounds) kills, \(acknowledged) acknowledged writes, none lost; reopened within \(slowest)")
        if slowest > .seconds(1) { throw Failure("reopening took longer than a second") }
    }

    /// The time runs from the first line in the ledger, so that a slow start is not all that is killed.
    private func killWriter(_ round: Int, afterMilliseconds delay: UInt64) async throws {
        let size = ledgerSize
        let writer = Process()
        writer.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        writer.arguments = ["--write-round", "\(round)", "--directory", options.directory]
        try writer.run()
        while ledgerSize == size {
            guard writer.isRunning else { throw Failure("round \(round): the writer ended by itself") }
            try await Task.sleep(for: .milliseconds(2))
        }
        try await Task.sleep(for: .milliseconds(delay))
        guard writer.isRunning else { throw Failure("round \(round): the writer ended by itself") }
        kill(writer.processIdentifier, SIGKILL)
        writer.waitUntilExit()
    }

    private var ledgerSize: Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: options.ledgerPath)
        return attributes?[.size] as? Int ?? 0
    }
}
