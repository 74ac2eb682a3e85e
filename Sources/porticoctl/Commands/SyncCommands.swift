import ArgumentParser
import ValueTree

struct Sync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Offline sync: how far the log is, what changed, who has what.",
        subcommands: [
            State.self, Devices.self, OneDevice.self, Conflicts.self, Changes.self, Explain.self, SyncCompact.self,
            SyncSweep.self,
        ])

    struct State: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Shows how far the log is, and who syncs.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            try await options.show("/admin/v1/sync/status")
        }
    }

    struct Devices: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the devices: whose they are, when they were seen, how far they are behind.")

        @OptionGroup var options: ConnectionOptions
        @Option(help: "Only those behind this id.") var after: String?
        @Option(help: "At most so many, up to 1000.") var limit = 100

        func run() async throws {
            let start = after.map { "&after=\($0.asPathSegment)" } ?? ""
            try await options.show(
                "/admin/v1/sync/devices?limit=\(limit)\(start)",
                columns: ["id", "account", "lastSeen", "lag", "lastPush", "lastSequence", "outcomes"], list: "devices")
        }
    }

    struct OneDevice: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "device", abstract: "Shows what became of the latest changes of one device.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The device's id.") var id: String

        func run() async throws {
            try await options.show("/admin/v1/sync/devices/\(id.asPathSegment)")
        }
    }

    struct Conflicts: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists devices' changes that did not become the record, the latest first.")

        @OptionGroup var options: ConnectionOptions
        @Option(help: "Only those before this number.") var before: Int64?
        @Option(help: "At most so many, up to 1000.") var limit = 100

        func run() async throws {
            let start = before.map { "&before=\($0)" } ?? ""
            try await options.show(
                "/admin/v1/sync/conflicts?limit=\(limit)\(start)",
                columns: ["number", "time", "cause", "author", "device", "collection", "id"], list: "conflicts")
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
            try await options.show(
                "/admin/v1/sync/changes?limit=\(limit)\(start)",
                columns: ["position", "time", "kind", "collection", "id", "changed"], list: "changes")
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
            try await options.show("/admin/v1/sync/explanations/\(user.asPathSegment)/\(path)")
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
