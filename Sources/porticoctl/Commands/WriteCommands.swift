import ArgumentParser
import ValueTree

struct Writes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Callers' changes that other systems have not taken yet, or have refused.",
        subcommands: [List.self, Show.self, Retry.self, Drop.self])

    struct ID: ParsableArguments {
        @Argument(help: "The write's id.") var id: String

        func path(_ action: String = "") -> String { "/admin/v1/writes/" + id.asPathSegment + action }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the writes, the oldest first.")

        @OptionGroup var options: ConnectionOptions
        @Option(help: "Only those of this account.") var author: String?
        @Option(help: "Only those of the record with this id.") var record: String?
        @Option(help: "Only those of this mirror, ADAPTER/ENTITY.") var mirror: String?

        func run() async throws {
            let asked = [("author", author), ("record", record), ("mirror", mirror)]
                .compactMap { name, value in value.map { "\(name)=\($0.asPathSegment)" } }
            let path = "/admin/v1/writes" + (asked.isEmpty ? "" : "?" + asked.joined(separator: "&"))
            try await options.show(
                path,
                columns: ["id", "collection", "record", "state", "reason", "tries", "answer", "author", "created"],
                list: "writes")
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows a write: what it changes, whether it was sent, why it was refused.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var write: ID

        func run() async throws {
            try await options.show(write.path())
        }
    }

    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sends a write again, also one that was refused or whose outcome is unknown.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var write: ID

        func run() async throws {
            let value = try await options.withConnection { try await $0.post(write.path("/retry"), [:]) }
            try Printer(style: options.output).show(value)
        }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes a write. Its record becomes what the other system has.")

        @OptionGroup var options: ConnectionOptions
        @OptionGroup var write: ID
        @OptionGroup var confirmation: Confirmation
        @Flag(help: "Only show the write.") var dryRun = false

        func run() async throws {
            guard !dryRun else {
                let value = try await options.withConnection { try await $0.get(write.path()) }
                return try Printer(style: options.output).show(value)
            }
            try confirmation.ask("Drop the write \(write.id)? The caller's change is lost.")
            _ = try await options.withConnection { try await $0.post(write.path("/drop"), [:]) }
        }
    }
}
