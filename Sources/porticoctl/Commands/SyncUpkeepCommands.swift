import ArgumentParser
import ValueTree

struct SyncCompact: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract:
            "Removes what of the log is older than sync.offlineWindow, and losing copies older than sync.keptCopies.",
        discussion: "The gateway does so by itself every hour. Devices that were away for longer start over.")

    @OptionGroup var options: ConnectionOptions
    @Flag(help: "Only tell what would be removed.") var dryRun = false

    func run() async throws {
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

    func run() async throws {
        let value = try await options.withConnection { try await $0.post("/admin/v1/sync/sweep", [:]) }
        try Printer(style: options.output).show(value)
    }
}
