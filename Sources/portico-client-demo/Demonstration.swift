import Client
import Foundation

/// Shows in a terminal what working offline is like, against a gateway that `make run` started.
///
///     swift run portico-client-demo [--server http://127.0.0.1:8080] [--user alice] [--password portico-demo]
///     swift run portico-client-demo --script
///
/// With `--script` it plays the whole story by itself and ends: two devices of one person, one of them offline, a conflict
/// and its resolution. Nothing of it stays on this machine.
@main
struct Demonstration {
    static func main() async {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            let stage = try await Stage(options)
            if options.isScripted {
                try await Story(stage: stage).play()
            } else {
                await DemoTerminal(stage: stage).run()
            }
            await stage.close()
        } catch {
            FileHandle.standardError.write(Data("portico-client-demo: \(Words.reason(error))\n".utf8))
            exit(1)
        }
    }
}

/// The command line.
struct Options {
    var server = "http://127.0.0.1:8080"
    var user = "alice"
    var password = "portico-demo"
    var isScripted = false

    init(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        while let name = rest.popFirst() {
            if name == "--script" {
                isScripted = true
                continue
            }
            guard let value = rest.popFirst() else { throw Usage("\(name) has no value") }
            switch name {
            case "--server": server = value
            case "--user": user = value
            case "--password": password = value
            default: throw Usage("\(name) is not known: --server, --user, --password, --script")
            }
        }
    }
}

struct Usage: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
