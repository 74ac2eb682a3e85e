import ArgumentParser
import ValueTree

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows what runs.")

    @OptionGroup var options: ConnectionOptions

    func run() async throws {
        let value = try await options.withConnection { try await $0.get("/admin/v1/status") }
        try Printer(style: options.output).show(value)
    }
}

struct Adapters: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the adapters.", subcommands: [List.self, Show.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the adapters.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let value = try await options.withConnection { try await $0.get("/admin/v1/adapters") }
            try Printer(style: options.output).show(
                value, columns: ["name", "title", "version", "state", "access", "entities"], list: "adapters")
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows an adapter's entities and operations.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The adapter's name.") var name: String

        func run() async throws {
            let value = try await options.withConnection {
                try await $0.get("/admin/v1/adapters/\(name.asPathSegment)")
            }
            try Printer(style: options.output).show(value)
        }
    }
}
