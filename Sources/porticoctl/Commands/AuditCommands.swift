import ArgumentParser
import ValueTree

struct Audit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The audit log.", subcommands: [List.self, Verify.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the latest entries, latest first.")

        @OptionGroup var options: ConnectionOptions
        @Option(help: "How many, at most 1000.") var limit: Int64 = 100
        @Option(help: "Only those before this number.") var before: Int64?

        func run() async throws {
            var page: WireDictionary = ["limit": .int64(limit)]
            if let before { page["before"] = .int64(before) }
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
                "Prints the log's head: kept elsewhere and given back, it proves that the log was not rewritten "
                + "Exit status 1 where something is wrong.")

        @OptionGroup var options: ConnectionOptions
        @Option(help: "A head that an earlier verification printed.") var head: String?

        func run() async throws {
            let input: WireDictionary = head.map { ["head": .string($0)] } ?? [:]
            let value = try await options.withConnection {
                try await $0.post("/admin/v1/audit/verify", .dictionary(input))
            }
            try Printer(style: options.output).show(value)
            if value["intact"]?.boolValue != true { throw Failure("The audit log is not intact.") }
        }
    }
}
