import ArgumentParser
import Foundation
import ODataLanguage
import ValueTree

struct ODataCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "odata", abstract: "Administers OData services.", subcommands: [ODataParse.self])
}

/// Shows how a text is understood under a rule of the OASIS grammar; nothing is asked of a gateway.
struct ODataParse: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parse",
        abstract: "Shows the tree of a URL or a part of it as JSON, or where it goes wrong.",
        discussion: "RULE is a name of the OASIS ABNF, as odataRelativeUri, filter or commonExpr; case does not matter."
    )

    @Option(help: "The service that the text is meant for. The grammar is the same for all.") var service: String?
    @Option(help: "The rule of the OASIS ABNF.") var rule: String
    @OptionGroup var options: ConnectionOptions
    @Argument(help: "The text, percent-encoded as in a request; last, so that it may begin with a dash.") var text:
        String

    /// The command line with `--` before a text that would be taken for an option.
    static func separatingText(_ arguments: [String]) -> [String] {
        guard arguments.prefix(2) == ["odata", "parse"], let text = arguments.last, text.hasPrefix("-"),
            !["--help", "-h", "--version"].contains(text), !arguments.contains("--")
        else { return arguments }
        return arguments.dropLast() + ["--", text]
    }

    func run() throws {
        guard let known = GrammarRule(named: rule) else {
            throw Failure(
                "There is no rule \(rule). There are: \(GrammarRule.allNames.joined(separator: ", "))", exitStatus: 2)
        }
        let printer = Printer(style: .json)  // a tree is no table
        do {
            let tree = TreeOutline.outline(of: try known.tree(of: text))
            try printer.show(["rule": .string(known.name), "tree": tree])
        } catch let error as SyntaxError {
            try printer.show([
                "rule": .string(known.name),
                "error": ["position": .int64(Int64(error.position)), "expected": .string(error.expected)],
            ])
            throw Failure("\(known.name): at \(error.position): expected \(error.expected)")
        }
    }
}
