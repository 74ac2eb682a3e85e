import AdapterKit
import Foundation

/// Kills a process that writes to the store, again and again, and looks whether anything it acknowledged is lost.
///
///     store-kill-driver --rounds 100 [--seed N] [--directory DIR]
///
///     store-kill-driver --write-round N --directory DIR [--durability full|normal] [--failures tolerated]
///     store-kill-driver --verify-images DIR
///
/// Each round starts this program once more as the writer, kills it with SIGKILL after a time that the seed decides,
/// opens the store and compares it with the writer's ledger. Exit code 0: nothing was lost. The other two forms are for
/// Tests/PowerLoss, which preloads a recorder into the writer and has what it rebuilds verified.
@main
struct StoreKill {
    static func main() async {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            if let images = options.images {
                try await ImageVerification(directory: images).run()
            } else if options.isWriter {
                try await WriteLoad(options).run()
            } else {
                try await KillRounds(options).run()
            }
        } catch {
            FileHandle.standardError.write(Data("store-kill-driver: \(error)\n".utf8))
            exit(1)
        }
    }
}

/// The command line.
struct Options {
    var rounds = 10
    var seed: UInt64 = 1
    var directory = FileManager.default.temporaryDirectory.appending(path: "store-kill-\(UUID().uuidString)").path
    /// Which round a writer belongs to; nil: this is the process that kills.
    var writerRound: Int?
    /// Off: acknowledged writes may be lost with the power.
    var survivesPowerFailure = true
    /// Whether writes that the disk refuses end the writer.
    var toleratesFailures = false
    /// Stores to be verified, each in a directory of its own in this one.
    var images: String?

    var isWriter: Bool { writerRound != nil }
    var storePath: String { directory + "/store.sqlite" }
    var ledgerPath: String { directory + "/ledger" }

    init(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw Failure("\(name) has no value") }
            switch name {
            case "--rounds": rounds = Int(value) ?? rounds
            case "--seed": seed = UInt64(value) ?? seed
            case "--directory": directory = value
            case "--write-round": writerRound = Int(value)
            case "--durability": survivesPowerFailure = value != "normal"
            case "--failures": toleratesFailures = value == "tolerated"
            case "--verify-images": images = value
            default: throw Failure("\(name) is not known")
            }
        }
    }
}

/// Why the driver gives up.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
