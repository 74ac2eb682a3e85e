import ArgumentParser
import CommandLineSupport
import Foundation
import ODataEngine
import ODataLanguage
import ODataModel
import ValueTree

struct ODataCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "odata", abstract: "Administers OData services.",
        subcommands: [ODataImport.self, ODataParse.self, ODataFetch.self])
}

/// Stores the metadata of another system's service, which `adapters.odata.services.*.model` names.
struct ODataFetch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Writes the metadata of an OData service into a file.",
        discussion: """
            The schemas of other documents that the metadata refers to are written into the same file, if they are on the same \
            server and can be read. Then it says which sets are served, and what is not. With --upstream the service is asked as the \
            configuration says, with the upstream's credentials, by the program `portico` that stands beside this one. The \
            password of --user comes from standard input.
            """)

    @Argument(help: "The service's root or its metadata: https://sap.example/sap/opu/odata/sap/NAME/") var url: String
    @Argument(help: "The file to write, such as admissions.edmx.") var file: String
    @Option(help: "The system's name below `upstreams`: URL may begin at its address.") var upstream: String?
    @Option(help: "The configuration with the upstream.") var config: String?
    @Option(help: "Who asks, by Basic authentication.") var user: String?
    @Option(name: [.customShort("o"), .long], help: "text for people, json for programs.")
    var output: OutputStyle = .text

    func run() async throws {
        guard (upstream == nil) == (config == nil) else {
            throw CommandError("--upstream and --config belong together.", exitStatus: 2)
        }
        guard upstream == nil || user == nil else {
            throw CommandError("An upstream has credentials of its own: --user has no effect.", exitStatus: 2)
        }
        let password = try user.map { _ in try PasswordPrompt.password() }
        let metadata = Self.metadata(of: url)
        let first = try await fetch(metadata, password)
        var leftOut: [LeftOut] = []
        let bytes: [UInt8]
        do {
            var schemas = try ReferencedSchemas(csdl: first, at: metadata, resolve: Self.resolved)
            while let place = schemas.next {
                guard Self.isSameServer(place, metadata) else {
                    leftOut.append(LeftOut(place, "the document is at another server and was not fetched"))
                    schemas.leaveOut()
                    continue
                }
                // What needs its schemas is left out of the service, and named; the rest is served.
                do { try schemas.receive(try await fetch(place, password)) } catch let problem as CSDLProblem {
                    leftOut.append(LeftOut(place, "the document cannot be read: \(problem)"))
                } catch let failure as CommandError {
                    leftOut.append(LeftOut(place, "the document could not be fetched: \(failure.message)"))
                    schemas.leaveOut()
                }
            }
            bytes = schemas.isWhole ? first : Array(schemas.document.xmlText.utf8)
        } catch {
            throw error is CommandError ? error : CommandError("\(metadata) is no metadata: \(error)")
        }
        do { try Data(bytes).write(to: URL(fileURLWithPath: file), options: .atomic) } catch {
            throw CommandError("\(file) cannot be written: \(error.localizedDescription)")
        }
        try show(bytes, leftOut)
    }

    private func show(_ bytes: [UInt8], _ leftOut: [LeftOut]) throws {
        let servable: ServableTables
        do { servable = try ServableTables(service: "service", csdl: bytes) } catch {
            throw CommandError("It is stored, but nothing of it can be served: \(error)")
        }
        try Printer(style: output).show([
            "file": .string(file), "version": .string(servable.version.rawValue),
            "sets": .array(servable.tables.sources.map { .string($0) }),
            "leftOut": .array((leftOut + servable.leftOut).map { .string("\($0)") }),
        ])
    }

    /// `$metadata` of a service's root; the query stays, which may name SAP's client.
    static func metadata(of url: String) -> String {
        let path = url.prefix { $0 != "?" }
        guard !path.hasSuffix("$metadata") else { return url }
        return "\(path)\(path.hasSuffix("/") ? "" : "/")$metadata\(url.dropFirst(path.count))"
    }

    /// What is no address stays as it is, and is at no server.
    @Sendable private static func resolved(_ reference: String, _ base: String) -> String {
        URL(string: reference, relativeTo: URL(string: base))?.absoluteString ?? reference
    }

    /// Below an upstream's address an address may be a path alone, and is of its server.
    private static func isSameServer(_ address: String, _ other: String) -> Bool {
        func isPath(_ address: String) -> Bool { URL(string: address).map { $0.scheme == nil } ?? false }
        if let origin = WebOrigin(address) { return origin == WebOrigin(other) }
        return isPath(address) && isPath(other)
    }

    private func fetch(_ address: String, _ password: String?) async throws -> [UInt8] {
        if let upstream, let config {
            return try SiblingProgram.output(["fetch", address, "--config", config, "--upstream", upstream])
        }
        guard WebOrigin(address) != nil else {
            throw CommandError("\(address) is no address of HTTP.", exitStatus: 2)
        }
        return try await RemoteDocument(
            address: address, maximumBytes: ModelSource.maximumBytes, accept: "application/xml, */*;q=0.1",
            credentials: user.flatMap { user in password.map { (user, $0) } }
        ).read()
    }
}

/// The gateway's program, which stands beside this one and knows how systems are called.
enum SiblingProgram {
    static var path: String {
        URL(fileURLWithPath: Bundle.main.executablePath ?? CommandLine.arguments[0])
            .resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent("portico").path
    }

    /// What it writes to standard output; what it says of a failure is shown as it is. Throws ``CommandError`` where it fails.
    static func output(_ arguments: [String]) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        do { try process.run() } catch { throw CommandError("\(path) cannot be run: \(error.localizedDescription)") }
        let bytes = [UInt8](pipe.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CommandError("The document could not be fetched.") }
        return bytes
    }
}

/// Shows how a text is understood under a rule of the OASIS grammar, and against a model what its names mean.
struct ODataParse: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parse",
        abstract: "Shows the tree of a URL or a part of it as JSON, or where it goes wrong.",
        discussion: """
            RULE is a name of the OASIS ABNF, as odataRelativeUri, filter or commonExpr; case does not matter. With a CSDL \
            document as the service, or with --url, names and types are held against the model as well; otherwise the \
            grammar alone decides, which is the same for all services.
            """
    )

    @Option(help: "The service that the text is meant for: its name, or a CSDL document (`./model.xml`).") var service:
        String?
    @Option(help: "The gateway that serves the service: its model is read there.") var url: String?
    @Option(help: "Who signs in to read the model; the password comes from standard input.") var user: String?
    @Option(help: "The rule of the OASIS ABNF.") var rule: String
    @OptionGroup var shown: OutputOptions
    @Argument(help: "The text, percent-encoded as in a request; last, so that it may begin with a dash.") var text:
        String

    /// The command line with `--` before a text that would be taken for an option.
    static func separatingText(_ arguments: [String]) -> [String] {
        guard arguments.prefix(2) == ["odata", "parse"], let text = arguments.last, text.hasPrefix("-"),
            !["--help", "-h", "--version"].contains(text), !arguments.contains("--")
        else { return arguments }
        return arguments.dropLast() + ["--", text]
    }

    func run() async throws {
        guard let known = GrammarRule(named: rule) else {
            throw CommandError(
                "There is no rule \(rule). There are: \(GrammarRule.allNames.joined(separator: ", "))", exitStatus: 2)
        }
        guard service != nil || url == nil else { throw CommandError("--url needs --service.", exitStatus: 2) }
        let names = try await check()
        let printer = Printer(style: .json)  // a tree is no table
        do {
            let tree = try known.tree(of: text)
            try names?.check(tree, isAbsolute: known.name == "odataUri")
            try printer.show(["rule": .string(known.name), "tree": TreeOutline.outline(of: tree)])
        } catch let error as SyntaxError {
            try show(["position": .int64(Int64(error.position)), "expected": .string(error.expected)], known, printer)
            throw CommandError("\(known.name): at \(error.position): expected \(error.expected)")
        } catch let problem as NameProblem {
            try show(
                ["position": .int64(Int64(problem.position)), "message": .string(problem.message)], known, printer)
            throw CommandError("\(known.name): at \(problem.position): \(problem.message)")
        }
    }

    private func show(_ error: WireValue, _ rule: GrammarRule, _ printer: Printer) throws {
        try printer.show(["rule": .string(rule.name), "error": error])
    }

    /// Nil where no model is named.
    private func check() async throws -> NameCheck? {
        guard let service, let source = ModelSource(service: service, gateway: url, user: user) else { return nil }
        do {
            return try NameCheck(model: try await source.model())
        } catch let problem as CSDLProblem {
            throw CommandError("\(service) cannot be served: \(problem)")
        }
    }
}

/// Loads a set's rows.
struct ODataImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Loads rows of a service's set from a file (CSV, JSON, plist, XML).",
        discussion: """
            CSV and lists in JSON are read and sent in parts, so a file may be of any length. What has more than one part is checked as a whole before anything is written; then each part is one transaction. Where one is refused, or Ctrl-C ends the import between two of them, what was loaded before stays and is reported.
            """)

    @OptionGroup var options: ConnectionOptions
    @Argument(help: "The service's name.") var service: String
    @Argument(help: "The set's name.") var set: String
    @OptionGroup var file: ImportedFile
    @Option(help: "Goes on at this line of a CSV file, or this row of another one.") var from: Int = 1

    func validate() throws {
        guard from >= 1, from == 1 || file.mode == .append else {
            throw ValidationError("--from is a line or row from 1 on, and goes on with what was appended.")
        }
    }

    func run() async throws {
        try file.confirm("\(service)/\(set)")
        let upload = ImportUpload(
            file: file, adapter: "odata", beside: ["service": service, "set": set], from: from, options: options)
        try await upload.run()
    }
}
