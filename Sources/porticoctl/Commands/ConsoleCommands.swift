import ArgumentParser
import ValueTree

struct ConsoleCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console", abstract: "The operators' console, a page of the admin listener.",
        subcommands: [Link.self, Sessions.self, Revoke.self])

    struct Link: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a link that signs in at the console once, as operator, within ten minutes.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let value = try await options.withConnection { try await $0.post("/admin/v1/console/links", [:]) }
            try Printer(style: options.output).show(value) { value["url"]?.stringValue ?? "" }
        }
    }

    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists an account's sign-ins at the console.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String

        func run() async throws {
            try await options.show(
                "/admin/v1/accounts/\(name.asPathSegment)/console-sessions",
                columns: ["id", "role", "created", "lastUsed", "expires", "address", "agent"], list: "sessions")
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Ends an account's sign-ins at the console at once.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String
        @Argument(help: "The one to end. None: all of them.") var id: String?

        func run() async throws {
            let input: WireDictionary = id.map { ["id": .string($0)] } ?? [:]
            try await options.change(name, "console-sessions/revoke", .dictionary(input))
            try Printer(style: options.output).reportDone(
                id == nil
                    ? "The sign-ins of \(name) at the console have ended." : "The sign-in at the console has ended.")
        }
    }
}
