import Client
import Foundation

/// One session of an app's life, which may end by SIGKILL at a point that the seed decides: before a request, after its
/// answer, or while the answer is applied.
///
///     client-kill-driver --server URL --folder DIR --session N [--seed N]   edits and syncs until it is killed, or is done
///     client-kill-driver --server URL --folder DIR --settle yes             syncs until nothing waits, prints what there is
///
/// At the start it compares what is on the device with the ledger in the folder (`begin ID TEXT`, `done ID TEXT`): an edit
/// whose call returned must be there, one that was begun may be. Exit code 0: all is as it should be.
@main
struct ClientKill {
    static func main() async {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            if !options.chat.isEmpty { return try await ChatLife(options).run() }
            let life = try await Life(options)
            try await life.verify()
            if options.settles { try await life.settle() } else { try await life.live() }
        } catch {
            FileHandle.standardError.write(Data("client-kill-driver: \(error)\n".utf8))
            exit(1)
        }
    }
}

/// The command line.
struct Options {
    var server = ""
    var folder = ""
    var session = 0
    var seed: UInt64 = 1
    var settles = false
    /// A room's id: the session chats instead.
    var chat = ""

    init(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw Failure("\(name) has no value") }
            switch name {
            case "--server": server = value
            case "--folder": folder = value
            case "--session": session = Int(value) ?? 0
            case "--seed": seed = UInt64(value) ?? 1
            case "--settle": settles = true
            case "--chat": chat = value
            default: throw Failure("\(name) is not known")
            }
        }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
