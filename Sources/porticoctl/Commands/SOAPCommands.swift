import ArgumentParser
import AsyncHTTPClient
import CommandLineSupport
import Foundation
import NIOCore
import NIOHTTP1
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

    private static let deadline = TimeAmount.seconds(30)

    @Argument(help: "Where the WSDL is: https://hr.example/service?wsdl") var url: String
    @Argument(help: "The file to write, such as hr.wsdl.") var file: String
    @Option(help: "Who asks, by Basic authentication.") var user: String?
    @Option(name: [.customShort("o"), .long], help: "text for people, json for programs.")
    var output: OutputStyle = .text

    func run() async throws {
        guard let origin = Self.origin(of: url) else {
            throw CommandError("\(url) is no address of HTTP.", exitStatus: 2)
        }
        let password = try user.map { _ in try PasswordPrompt.password() }
        let location = URL(fileURLWithPath: file)
        var download = DescriptionDownload(url, file: location.lastPathComponent)
        do {
            while let address = download.next {
                let credentials = Self.origin(of: address) == origin ? password : nil
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
        let description: ServiceDescription
        do { description = try ServiceDescription(contentsOf: location.path) } catch {
            throw CommandError("It is stored, but cannot be used: \(error)")
        }
        let problems = Set(description.problems + description.operations.flatMap { description.problems(of: $0) })
        try Printer(style: output).show([
            "files": .array(download.files.map { .string($0.name) }),
            "operations": .array(description.operations.map { .string($0.name) }),
            "notMapped": .array(problems.map { "\($0)" }.sorted().map { .string($0) }),
        ])
    }

    private static func origin(of address: String) -> String? {
        guard let url = URL(string: address), let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme),
            let host = url.host
        else { return nil }
        return "\(scheme)://\(host.lowercased()):\(url.port ?? (scheme == "https" ? 443 : 80))"
    }

    private func fetch(_ address: String, password: String?) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: address)
        request.headers.add(name: "Accept", value: "text/xml, application/xml, */*;q=0.1")
        if let user, let password { request.setBasicAuth(username: user, password: password) }
        do {
            let response = try await HTTPClient.documents.execute(request, timeout: Self.deadline)
            guard response.status != .unauthorized else {
                throw CommandError("\(address) is for those who sign in: name an account with --user.", exitStatus: 4)
            }
            guard response.status == .ok else { throw CommandError("\(address) answered \(response.status.code).") }
            let body = try await response.body.collect(upTo: ServiceDescriptionReader.maximumBytes)
            return Array(body.readableBytesView)
        } catch let failure as CommandError {
            throw failure
        } catch {
            throw CommandError("\(address) cannot be read: \(error)")
        }
    }
}
