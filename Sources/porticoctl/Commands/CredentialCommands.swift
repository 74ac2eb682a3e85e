import ArgumentParser
import ValueTree

struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Administers API keys of programs, and the keys that sign tokens.",
        subcommands: [List.self, Create.self, Revoke.self, RotateSigning.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists an account's API keys.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String

        func run() async throws {
            try await options.show(
                Keys.path(name),
                columns: ["id", "title", "roles", "adapters", "readOnly", "created", "expires"], list: "keys")
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates an API key and prints it, this once.",
            discussion: "It acts as the account, within what the options leave of the account's own reach.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String
        @Option(help: "What people call it.") var title: String
        @Option(help: "A role of the account that it has; may be given several times. None: all.")
        var role: [String] = []
        @Option(help: "An adapter that it reaches; may be given several times. None: all.")
        var adapter: [String] = []
        @Flag(help: "It changes nothing.") var readOnly = false
        @Option(help: "How many days it lives. None: until it is revoked.") var days: Int64?

        func run() async throws {
            var key: WireDictionary = ["title": .string(title), "readOnly": .bool(readOnly)]
            if !role.isEmpty { key["roles"] = .array(role.map(WireValue.string)) }
            if !adapter.isEmpty { key["adapters"] = .array(adapter.map(WireValue.string)) }
            if let days { key["days"] = .int64(days) }
            let made = try await options.withConnection { try await $0.post(Keys.path(name), .dictionary(key)) }
            try Printer(style: options.output).show(made)
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Revokes an API key at once.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String
        @Argument(help: "The key's id.") var id: String

        func run() async throws {
            try await options.change(name, "keys/revoke", ["id": .string(id)])
            try Printer(style: options.output).reportDone("The key is revoked.")
        }
    }

    struct RotateSigning: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes the next key that signs access tokens.",
            discussion: "Tokens of the one before are taken until they end, unless it is not to be trusted any more.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var confirmation: Confirmation
        @Flag(help: "Refuse all tokens that were signed before; apps refresh by themselves.") var distrustOld = false

        func run() async throws {
            if distrustOld { try confirmation.ask("Refuse all access tokens that there are?") }
            let value = try await options.withConnection {
                try await $0.post("/admin/v1/signing-keys/rotate", ["distrustOld": .bool(distrustOld)])
            }
            try Printer(style: options.output).show(value, columns: ["kid", "alg", "use"], list: "keys")
        }
    }

    private static func path(_ name: String) -> String { "/admin/v1/accounts/\(name.asPathSegment)/keys" }
}

struct SessionCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "Administers sessions.", subcommands: [List.self, Revoke.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists an account's sessions.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var name: String

        func run() async throws {
            try await options.show(
                "/admin/v1/accounts/\(name.asPathSegment)/sessions",
                columns: ["id", "created", "lastUsed", "expires", "address", "agent"], list: "sessions")
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
            try Printer(style: options.output).reportDone(
                id == nil ? "The sessions of \(name) have ended." : "The session has ended.")
        }
    }
}
