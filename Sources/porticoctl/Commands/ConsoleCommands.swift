import ArgumentParser
import ValueTree

struct ConsoleCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console", abstract: "The operators' console, a page of the admin listener.",
        subcommands: [Link.self])

    struct Link: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a link that signs in at the console once, as operator, within ten minutes.")

        @OptionGroup var options: ConnectionOptions

        func run() async throws {
            let value = try await options.withConnection { try await $0.post("/admin/v1/console/links", [:]) }
            try Printer(style: options.output).show(value) { value["url"]?.stringValue ?? "" }
        }
    }
}
