import ArgumentParser
import Foundation
import ODataEngine
import ODataLanguage
import ODataModel
import ValueTree

struct ODataCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "odata", abstract: "Administers OData services.", subcommands: [ODataImport.self, ODataParse.self])
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
