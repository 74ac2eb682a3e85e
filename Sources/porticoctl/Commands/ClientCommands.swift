import ArgumentParser
import ClientGeneration
import Foundation
import ODataModel
import ValueTree

struct ClientCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client", abstract: "Makes what app teams build on.", subcommands: [Generate.self])

    struct Generate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes a typed client of a service from its declarations.",
            discussion: """
                A service is an adapter by its name, a plugin too. `adapters list` shows which there are. Of an OData \
                service it is the name in the address, and --metadata gives the model.
                """)

        @Option(help: "The service's name, such as notes.") var service: String
        @Option(help: "swift or typescript.") var language: Language
        @Option(help: "The gateway that serves it.") var url = "http://127.0.0.1:8080"
        @Option(help: "A saved /openapi.json, instead of asking a gateway.") var description: String?
        @Option(help: "The $metadata of an OData service, of any version, as a file: XML or JSON.") var metadata:
            String?
        @Option(name: .customLong("into"), help: "The folder to write to; without it the text goes to standard output.")
        var folder: String?

        func run() async throws {
            if let metadata { return try odata(metadata).forEach(deliver) }
            let source = description.map(DescriptionSource.file) ?? .gateway(url)
            let document = try await source.document()
            let model: ServiceModel
            do {
                model = try ServiceReader.read(service, from: document)
            } catch {
                throw CommandError(
                    """
                    There is no service \(error.name); there are \(error.known.joined(separator: ", ")). An OData service is \
                    named with its $metadata in a file: --metadata FILE.
                    """)
            }
            try deliver(language.writer.write(model))
        }

        private func odata(_ path: String) throws -> [SourceFile] {
            guard language == .swift else {
                throw CommandError("Clients of OData services are written in Swift alone.")
            }
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw CommandError.unreadable(path)
            }
            do {
                return ODataServiceWriter(service, try EntityDataModel(csdl: [UInt8](bytes))).files
            } catch {
                throw CommandError("\(path) is no model of an OData service: \(error)")
            }
        }

        private func deliver(_ file: SourceFile) throws {
            guard let folder else { return print(file.text, terminator: "") }
            let location = URL(fileURLWithPath: folder).appendingPathComponent(file.name)
            do {
                try FileManager.default.createDirectory(
                    at: location.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: location, options: .atomic)
            } catch {
                throw CommandError("\(location.path) cannot be written: \(error.localizedDescription)")
            }
            print(location.path)
        }
    }

    enum Language: String, ExpressibleByArgument, CaseIterable {
        case swift
        case typescript

        var writer: any ClientWriter {
            switch self {
            case .swift: SwiftWriter()
            case .typescript: TypeScriptWriter()
            }
        }
    }
}
