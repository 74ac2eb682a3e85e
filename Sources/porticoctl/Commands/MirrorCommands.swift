import ArgumentParser
import ValueTree

struct Mirrors: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Mirrors of other systems: how old they are, what is held back.",
        subcommands: [List.self, Show.self, Refresh.self, Preview.self, Release.self])

    struct Name: ParsableArguments {
        @Argument(help: "The mirror: adapter/entity.") var name: String

        func validate() throws {
            let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts.contains("") else {
                throw ValidationError(
                    "\(name) is no mirror: its name is adapter/entity, as `porticoctl mirrors list` shows it.")
            }
        }

        func path(_ action: String = "") -> String {
            let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            return "/admin/v1/mirrors/" + parts.map { String($0).asPathSegment }.joined(separator: "/") + action
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the mirrors.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            try await options.show(
                "/admin/v1/mirrors",
                columns: ["name", "upstream", "state", "asOf", "ageSeconds", "failures"], list: "mirrors")
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows a mirror: its last refresh, why one failed or is held back, fields that have drifted.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var mirror: Name

        func run() async throws {
            try await options.show(mirror.path())
        }
    }

    struct Refresh: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Refreshes a mirror now, and waits for the end.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var mirror: Name
        @Flag(help: "Fetch every row, also where changes alone are asked for.") var full = false

        func run() async throws {
            let body: WireValue = full ? ["full": true] : [:]
            let value = try await options.withConnection { try await $0.post(mirror.path("/refresh"), body) }
            try Printer(style: options.output).show(value)
        }
    }

    struct Preview: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows some of the rows that the refresh which is held back would change.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var mirror: Name
        @Option(help: "Rows of each kind: created, updated, deleted.") var limit: Int?
        @Option(help: "Why; needed where the rows belong to callers. It stands in the audit log.") var reason: String?

        func run() async throws {
            var body: WireDictionary = [:]
            if let limit { body["limit"] = .int64(Int64(limit)) }
            if let reason { body["reason"] = .string(reason) }
            let value = try await options.withConnection {
                try await $0.post(mirror.path("/preview"), .dictionary(body))
            }
            try Printer(style: options.output).show(value)
        }
    }

    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes the refresh take effect that is held back because it changes too many records.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var mirror: Name
        @OptionGroup var confirmation: Confirmation
        @Flag(help: "Only show what is held back.") var dryRun = false

        func run() async throws {
            guard !dryRun else {
                let value = try await options.withConnection { try await $0.get(mirror.path()) }
                return try Printer(style: options.output).show(value["held"] ?? .null)
            }
            try confirmation.ask("Make the refresh take effect? Records that it lacks are deleted.")
            let value = try await options.withConnection { try await $0.post(mirror.path("/release"), [:]) }
            try Printer(style: options.output).show(value)
        }
    }
}
