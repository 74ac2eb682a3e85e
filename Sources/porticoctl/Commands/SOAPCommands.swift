import ArgumentParser
import CommandLineSupport
import Foundation
import SOAP
import ValueTree

struct SOAPCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soap", abstract: "Prepares calls of SOAP services.", subcommands: [SOAPFetch.self])
}

/// Stores the description of a SOAP service, which `adapters.*.wsdl` names.
struct SOAPFetch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Writes a WSDL with everything that it imports into files.",
        discussion: """
            Imported documents are written beside FILE, named after it, and their imports lead to those files. The \
            password of --user comes from standard input, and is sent to the server of URL alone. Then it says which \
            operations can be called, and what is not mapped.
            """)

    @Argument(help: "Where the WSDL is: https://hr.example/service?wsdl") var url: String
    @Argument(help: "The file to write, such as hr.wsdl.") var file: String
    @Option(help: "Who asks, by Basic authentication.") var user: String?
    @Option(name: [.customShort("o"), .long], help: "text for people, json for programs.")
    var output: OutputStyle = .text

    func run() async throws {
        guard let origin = WebOrigin(url) else {
            throw CommandError("\(url) is no address of HTTP.", exitStatus: 2)
        }
        let password = try user.map { _ in try PasswordPrompt.password() }
        let location = URL(fileURLWithPath: file)
        var download = DescriptionDownload(url, file: location.lastPathComponent)
        do {
            while let address = download.next {
                let credentials = WebOrigin(address) == origin ? password : nil
                try download.receive(try await fetch(address, password: credentials))
            }
        } catch let problem as SchemaProblem {
            throw CommandError("\(problem)")
        }
        let folder = location.deletingLastPathComponent()
        for document in download.files {
            let target = folder.appendingPathComponent(document.name)
            do { try Data(document.bytes).write(to: target, options: .atomic) } catch {
                throw CommandError("\(target.path) cannot be written: \(error.localizedDescription)")
            }
        }
        let description: SOAPServiceDescription
        do { description = try SOAPServiceDescription(contentsOf: location.path) } catch {
            throw CommandError("It is stored, but cannot be used: \(error)")
        }
        let problems = Set(description.problems + description.operations.flatMap { description.problems(of: $0) })
        try Printer(style: output).show([
            "files": .array(download.files.map { .string($0.name) }),
            "operations": .array(description.operations.map { .string($0.name) }),
            "notMapped": .array(problems.map { "\($0)" }.sorted().map { .string($0) }),
        ])
    }

    private func fetch(_ address: String, password: String?) async throws -> [UInt8] {
        try await RemoteDocument(
            address: address, maximumBytes: ServiceDescriptionReader.maximumBytes,
            accept: "text/xml, application/xml, */*;q=0.1",
            credentials: user.flatMap { user in password.map { (user, $0) } }
        ).read()
    }
}
