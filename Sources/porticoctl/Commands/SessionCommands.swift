import ArgumentParser
import ValueTree

struct SessionCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "Administers sessions.", subcommands: [List.self, Revoke.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists an account's sessions.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String

        func run() async throws {
            let value = try await options.withConnection {
                try await $0.get("/admin/v1/accounts/\(name.asPathSegment)/sessions")
            }
            try Printer(style: options.output).show(
                value, columns: ["id", "created", "lastUsed", "expires", "address"], list: "sessions")
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Ends an account's sessions at once.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String
        @Argument(help: "The one to end. None: all of them.") var id: String?

        func run() async throws {
            let input: WireDictionary = id.map { ["id": .string($0)] } ?? [:]
            try await options.change(name, "sessions/revoke", .dictionary(input))
            try Printer(style: options.output).done(
                id == nil ? "The sessions of \(name) have ended." : "The session has ended.")
        }
    }
}
