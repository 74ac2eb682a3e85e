import ArgumentParser
import ValueTree

struct Sync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Offline sync: how far the log is, what changed, who has what.",
        subcommands: [State.self, Devices.self, Changes.self, Explain.self, SyncCompact.self, SyncSweep.self])

    struct State: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Shows how far the log is, and who syncs.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let value = try await options.withConnection { try await $0.get("/admin/v1/sync/status") }
            try Printer(style: options.output).show(value)
        }
    }

    struct Devices: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the devices that have pushed: whose they are, when and how far.")

        @OptionGroup var options: ConnectionOptions
        @Option(help: "Only those behind this id.") var after: String?
        @Option(help: "At most so many, up to 1000.") var limit = 100

        func run() async throws {
            let start = after.map { "&after=\($0.asPathSegment)" } ?? ""
            let value = try await options.withConnection {
                try await $0.get("/admin/v1/sync/devices?limit=\(limit)\(start)")
            }
            try Printer(style: options.output).show(
                value, columns: ["id", "account", "lastPush", "lastSequence"], list: "devices")
        }
    }

    struct Changes: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists changes of records, the last ones by default.")

        @OptionGroup var options: ConnectionOptions
        @Option(help: "Only what came after this position.") var after: Int64?
        @Option(help: "At most so many, up to 1000.") var limit = 100

        func run() async throws {
            let start = after.map { "&after=\($0)" } ?? ""
            let value = try await options.withConnection {
                try await $0.get("/admin/v1/sync/changes?limit=\(limit)\(start)")
            }
            try Printer(style: options.output).show(
                value, columns: ["position", "time", "kind", "collection", "id", "changed"], list: "changes")
        }
    }

    struct Explain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Says why a device of a user does or does not have a record.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The account's name.") var user: String
        @Argument(help: "The record: notes/ID, or adapter/entity/ID.") var record: String

        func run() async throws {
            let path = record.split(separator: "/", omittingEmptySubsequences: false).map {
                String($0).asPathSegment
            }.joined(separator: "/")
            let value = try await options.withConnection {
                try await $0.get("/admin/v1/sync/explanations/\(user.asPathSegment)/\(path)")
            }
            try Printer(style: options.output).show(value)
        }
    }
}

struct SyncCompact: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract:
            "Removes what of the log is older than sync.offlineWindow, and losing copies older than sync.keptCopies.",
        discussion: "The gateway does so by itself every hour. Devices that were away for longer start over.")

    @OptionGroup var options: ConnectionOptions
    @OptionGroup var confirmation: Confirmation
    @Flag(help: "Only tell what would be removed.") var dryRun = false

    func run() async throws {
        if !dryRun { try confirmation.ask("Remove the old log? Devices that were away for longer start over.") }
        let value = try await options.withConnection {
            try await $0.post("/admin/v1/sync/compaction", ["dryRun": .bool(dryRun)])
        }
        try Printer(style: options.output).show(value)
    }
}

struct SyncSweep: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sweep",
        abstract: "Removes attachments that no record has named for sync.attachments.window, and forsaken uploads.",
        discussion: "The gateway does so by itself every hour.")

    @OptionGroup var options: ConnectionOptions
    @OptionGroup var confirmation: Confirmation

    func run() async throws {
        try confirmation.ask("Remove attachments that no record names?")
        let value = try await options.withConnection { try await $0.post("/admin/v1/sync/sweep", [:]) }
        try Printer(style: options.output).show(value)
    }
}
