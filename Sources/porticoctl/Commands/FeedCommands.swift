import ArgumentParser
import ValueTree

struct FeedCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feeds", abstract: "Administers property list feeds.",
        subcommands: [List.self, Publish.self, Versions.self, Rollback.self])

    static let operations = "/admin/v1/adapters/feeds/operations"

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the feeds.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let value = try await options.withConnection { try await $0.post("\(FeedCommands.operations)/list", [:]) }
            try Printer(style: options.output).show(
                value, columns: ["name", "title", "version", "published"], list: "feeds")
        }
    }

    struct Publish: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Publishes a file as a feed's next version.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The feed's name.") var name: String
        @Argument(help: "The file: plist, bplist, json, xml.") var file: String

        func run() async throws {
            let content = try DocumentFile.read(file)
            let value = try await options.withConnection {
                try await $0.post("\(FeedCommands.operations)/publish", ["name": .string(name), "content": content])
            }
            try Printer(style: options.output).show(value)
        }
    }

    struct Versions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists a feed's versions.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The feed's name.") var name: String

        func run() async throws {
            let value = try await options.withConnection {
                try await $0.post("\(FeedCommands.operations)/versions", ["name": .string(name)])
            }
            try Printer(style: options.output).show(
                value, columns: ["version", "published", "publishedBy", "current"], list: "versions")
        }
    }

    struct Rollback: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Makes an earlier version the current one.")

        @OptionGroup var options: ConnectionOptions
        @Argument(help: "The feed's name.") var name: String
        @Argument(help: "The version.") var version: Int64

        func run() async throws {
            let value = try await options.withConnection {
                try await $0.post(
                    "\(FeedCommands.operations)/rollback", ["name": .string(name), "version": .int64(version)])
            }
            try Printer(style: options.output).show(value)
        }
    }
}
