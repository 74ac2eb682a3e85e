import ArgumentParser
import CSV
import ConnectedSystems
import Foundation
import ValueTree
import WireFormats

struct ConnectCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect", abstract: "Connects systems by files instead of code. Needs no running gateway.",
        subcommands: [OpenAPI.self, Try.self, CSV.self, JSON.self, Schema.self])

    /// Drafts a connection file from the description of a REST service.
    struct OpenAPI: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "openapi",
            abstract: "Writes a connection file from an OpenAPI 3 document (JSON or YAML); what it guesses says so.")

        @Argument(help: "The document: a file, or an address of http or https.") var source: String
        @Option(help: "The system's name below `upstreams`.") var upstream: String = "system"

        func run() async throws {
            let bytes: [UInt8]
            if source.lowercased().hasPrefix("http") {
                bytes = try await RemoteDocument(
                    address: source, maximumBytes: OpenAPIDraft.maximumBytes,
                    shownAddress: OpenAPIDraft.shown(source), accountMayHelp: false
                ).read()
            } else {
                bytes = try FileContents.read(source)
            }
            do throws(DraftProblem) {
                print(try OpenAPIDraft.text(bytes, source: source, upstream: upstream), terminator: "")
            } catch {
                throw CommandError(error.description)
            }
        }
    }

    /// `portico try`, which knows how systems are called.
    struct Try: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "try",
            abstract: "Fetches one page of what a connection file describes, shows it as stored, and stores nothing.",
            discussion: """
                The system is called as the configuration says, by `portico try`, which stands beside this program; \
                `portico try --help` has its options.
                """)

        @Argument(
            parsing: .captureForPassthrough, help: "FILE --config CONFIG [--entity NAME] [--rows N] [--output json]")
        var arguments: [String] = []

        func run() throws {
            let program = SiblingProgram.path
            var pointers = ([program, "try"] + arguments).map { strdup($0) } + [nil]
            execv(program, &pointers)
            throw CommandError("\(program) cannot be run: \(String(cString: strerror(errno)))")
        }
    }

    /// Drafts a connection file for rows in a file.
    struct CSV: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "csv",
            abstract: "Writes a connection file for a CSV file, which is read again when it changes.")

        @OptionGroup var file: DraftedFile
        @Option(help: "What separates the fields: comma, semicolon, tab or bar, or the character.")
        var separator: CSVSeparator = .comma

        func run() throws { try file.draft("csv", separator) }
    }

    /// The same of JSON.
    struct JSON: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "json",
            abstract: "Writes a connection file for a JSON file, which is read again when it changes.")

        @OptionGroup var file: DraftedFile

        func run() throws { try file.draft("json") }
    }

    struct DraftedFile: ParsableArguments {
        @Argument(help: "The file with a list of rows.") var file: String
        @Option(help: "The entity's name; that of the file where it is left out.") var entity: String?

        func draft(_ format: String, _ separator: CSVSeparator = .comma) throws {
            let name = URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent
            let bytes = try FileContents.read(file)
            do throws(DraftProblem) {
                print(
                    try FileDraft.text(
                        bytes, format: format, separator: separator, file: file, entity: entity ?? name, title: name),
                    terminator: "")
            } catch {
                throw CommandError(error.description)
            }
        }
    }

    /// The JSON Schema of connection files.
    struct Schema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "schema", abstract: "Writes the JSON Schema of connection files, for editors.")

        func run() throws {
            FileHandle.standardOutput.write(
                Data(
                    try JSONFormat().write(ConnectionFileSchema.value, options: WritingOptions(layout: .pretty)) + [
                        0x0A
                    ]))
        }
    }
}
