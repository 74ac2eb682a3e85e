import ArgumentParser
import ValueTree

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows what runs.")

    @OptionGroup var options: ConnectionOptions

    func run() async throws {
        try await options.show("/admin/v1/status")
    }
}

struct Adapters: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows, installs, upgrades, restarts, enables and disables adapters.",
        subcommands: [
            List.self, Show.self, EnableAdapter.self, DisableAdapter.self, RestartAdapter.self, InstallAdapter.self,
            UpgradeAdapter.self, RollbackAdapter.self, RemoveAdapter.self, InstalledPackages.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the adapters.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            try await options.show(
                "/admin/v1/adapters",
                columns: ["name", "title", "version", "state", "access", "entities"], list: "adapters")
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows an adapter's entities and operations, and its process.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The adapter's name.") var name: String
        @Flag(help: "The last crashes of its process instead, the latest first.") var crashes = false

        func run() async throws {
            guard !crashes else { return try await showCrashes() }
            try await options.show("/admin/v1/adapters/\(name.asPathSegment)")
        }

        private func showCrashes() async throws {
            try await options.show("/admin/v1/adapters/\(name.asPathSegment)/crashes")
        }
    }
}

struct EnableAdapter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Lets an adapter that was disabled answer again.")

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "The adapter's name.") var name: String

    func run() async throws {
        let value = try await options.withConnection {
            try await $0.post("/admin/v1/adapters/\(name.asPathSegment)/enable", [:])
        }
        try Printer(style: options.output).show(value)
    }
}

struct DisableAdapter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Refuses an adapter's calls with 503 and pauses its mirrors.",
        discussion: """
            Until adapters enable, or until the gateway starts anew. For longer: adapters.NAME.enabled: false in the \
            configuration.
            """)

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "The adapter's name.") var name: String

    func run() async throws {
        let value = try await options.withConnection {
            try await $0.post("/admin/v1/adapters/\(name.asPathSegment)/disable", [:])
        }
        try Printer(style: options.output).show(value)
    }
}

struct Audit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The audit log.", subcommands: [List.self, Verify.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the latest entries, latest first.")

        @OptionGroup var options: ConnectionOptions
        @Option(help: "How many, at most 1000.") var limit: Int64 = 100
        @Option(help: "Only those before this number.") var before: Int64?
        @Option(help: "Only those of this kind, such as signIn.refused.") var kind: String?
        @Option(help: "Only what this account, token or other text did, or was done to.") var person: String?
        @Option(help: "Only those since a time such as 2026-11-26T14:00:00Z.") var from: String?
        @Option(help: "Only those before a time.") var until: String?

        func run() async throws {
            var page: WireDictionary = ["limit": .int64(limit)]
            if let before { page["before"] = .int64(before) }
            for case (let name, let text?) in [("kind", kind), ("person", person), ("from", from), ("until", until)] {
                page[name] = .string(text)
            }
            let value = try await options.withConnection {
                try await $0.post("/admin/v1/audit/entries", .dictionary(page))
            }
            try Printer(style: options.output).show(
                value, columns: ["number", "time", "kind", "actor", "subject", "address", "detail"], list: "entries")
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Checks that no entry was changed, removed or cut off.",
            discussion:
                "Prints the log's head. Keep it elsewhere and pass it to a later run, to prove that the log was not rewritten. "
                + "The exit status is 1 if something is wrong.")

        @OptionGroup var options: ConnectionOptions
        @Option(help: "A head that an earlier verification printed.") var head: String?

        func run() async throws {
            let input: WireDictionary = head.map { ["head": .string($0)] } ?? [:]
            let value = try await options.withConnection {
                try await $0.post("/admin/v1/audit/verify", .dictionary(input))
            }
            try Printer(style: options.output).show(value)
            if value["intact"]?.boolValue != true { throw CommandError("The audit log is not intact.") }
        }
    }
}
