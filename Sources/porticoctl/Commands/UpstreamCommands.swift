import ArgumentParser
import ValueTree

struct Upstreams: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The systems that the gateway calls.", subcommands: [List.self, Show.self, Test.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the upstreams with their states.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            try await options.show(
                "/admin/v1/upstreams",
                columns: ["name", "state", "active", "waiting", "calls", "credentials", "url"], list: "upstreams")
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows what an upstream's calls came to.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The upstream's name.") var name: String

        func run() async throws {
            try await options.show("/admin/v1/upstreams/\(name.asPathSegment)")
        }
    }

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Calls an upstream's address once, with the system's own credentials.",
            discussion: "Any answer counts, whatever its status. Exit status 1 where there is none.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The upstream's name.") var name: String

        func run() async throws {
            let value = try await options.withConnection {
                try await $0.post("/admin/v1/upstreams/\(name.asPathSegment)/test", [:])
            }
            try Printer(style: options.output).show(value)
            if value["answered"]?.boolValue != true { throw CommandError("The upstream \(name) does not answer.") }
        }
    }
}
