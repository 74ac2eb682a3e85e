import ArgumentParser
import ValueTree

/// The configuration of the gateway that runs.
struct ConfigurationCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Shows, checks and changes the configuration of the gateway that runs.",
        discussion: """
            The sources are those that the gateway was started with: its file, its environment and its --set. They are \
            read by the gateway, on its machine.

            Examples:
              porticoctl config diff
              porticoctl config apply --dry-run
              porticoctl config apply
            """,
        subcommands: [Show.self, Check.self, Differences.self, Apply.self])

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists what is used, where it stands, and whether it reloads.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "Only keys that begin like this.") var prefix: String = ""

        func run() async throws {
            let value = try await options.withConnection { try await $0.get("/admin/v1/configuration") }
            let settings = (value["settings"]?.arrayValue ?? []).filter {
                $0["key"]?.stringValue?.hasPrefix(prefix) ?? false
            }
            try Printer(style: options.output).show(
                ["settings": .array(settings)], columns: ["key", "value", "source", "reloads"], list: "settings")
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Checks the sources as they are now; exit status 1 where they cannot be used.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let report = try await options.withConnection { try await $0.get(ConfigurationCommands.changes) }
            let printer = Printer(style: options.output)
            if options.output == .json {
                try printer.show(report)
            } else if report.isValid {
                try printer.reportDone("The configuration is valid.")
            }
            try report.requireValid()
        }
    }

    struct Differences: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "diff", abstract: "Lists what the sources would change, and what of it needs a restart.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let report = try await options.withConnection { try await $0.get(ConfigurationCommands.changes) }
            try ConfigurationCommands.show(report, options)
            try report.requireValid()
        }
    }

    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Uses what the sources say now, as a whole or not at all; no request fails by it.",
            discussion: "Exit status 1 where it was not done: a mistake, or a key that needs a restart. As SIGHUP does."
        )

        @OptionGroup var options: ConnectionOptions
        @Flag(help: "Only tell what would change.") var dryRun = false

        func run() async throws {
            let report = try await options.withConnection { connection in
                dryRun
                    ? try await connection.get(ConfigurationCommands.changes)
                    : try await connection.post("/admin/v1/configuration/apply", [:])
            }
            try ConfigurationCommands.show(report, options)
            try report.requireValid()
            let needsRestart = report["changes"]?.arrayValue?.contains { $0["effect"] != "reloads" } ?? false
            guard !needsRestart else {
                throw CommandError(
                    """
                    Nothing was changed: some of it needs a restart of the gateway, which uses all of it \
                    (`systemctl restart portico`, or `kill -USR2` with its process id).
                    """)
            }
            guard !dryRun, options.output != .json, report["changes"]?.arrayValue?.isEmpty == false else { return }
            try Printer(style: options.output).reportDone("The gateway uses it now.")
        }
    }

    private static let changes = "/admin/v1/configuration/changes"

    private static func show(_ report: WireValue, _ options: ConnectionOptions) throws {
        let printer = Printer(style: options.output)
        // Of what has a mistake the error tells everything.
        guard report.isValid || options.output == .json else { return }
        try printer.show(
            report, columns: ["key", "old", "new", "effect"], list: "changes",
            empty: "Nothing differs from what the gateway uses.")
        guard options.output != .json else { return }
        for sentence in report["data"]?.arrayValue ?? [] { try printer.reportDone(sentence.stringValue ?? "") }
    }
}

extension WireValue {
    fileprivate var isValid: Bool { self["valid"]?.boolValue ?? false }

    fileprivate func requireValid() throws {
        guard !isValid else { return }
        let errors = self["errors"]?.arrayValue?.compactMap(\.stringValue) ?? []
        throw CommandError(errors.joined(separator: "\n"))
    }
}

/// Who may use the admin listener.
struct AdminCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin", abstract: "Administers the access of operators to the admin listener.",
        subcommands: [Tokens.self])

    struct Tokens: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Tokens for the admin listener.",
            discussion: """
                A viewer reads. An operator changes what runs as well. An admin also destroys, and gives rights to others.

                Examples:
                  porticoctl admin tokens add monitoring --role viewer
                  porticoctl status --url https://gateway.example:9443 --token-file monitoring.token
                """, subcommands: [List.self, Add.self, Revoke.self])
    }

    private static let path = "/admin/v1/tokens"

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the tokens, without their secrets.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            try await options.show(AdminCommands.path, columns: ["name", "role", "created"], list: "tokens")
        }
    }

    struct Add: AsyncParsableCommand {
        enum Role: String, ExpressibleByArgument, CaseIterable {
            case viewer
            case `operator`
            case admin
        }

        static let configuration = CommandConfiguration(abstract: "Makes a token and prints it, this once.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "What it is called: small letters, digits and hyphens.") var name: String
        @Option(help: "What it may do: viewer, operator or admin.") var role: Role

        func run() async throws {
            let made = try await options.withConnection {
                try await $0.post(AdminCommands.path, ["name": .string(name), "role": .string(role.rawValue)])
            }
            try Printer(style: options.output).show(made)
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Refuses a token from now on.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The token's name.") var name: String

        func run() async throws {
            _ = try await options.withConnection {
                try await $0.post("\(AdminCommands.path)/\(name.asPathSegment)/revoke", [:])
            }
            try Printer(style: options.output).reportDone("The token \(name) is revoked.")
        }
    }
}
