import AdapterKit
import ArgumentParser
import Gateway

/// `portico explain`: what an error code means and what to do.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says what an error code means and what to do.",
        discussion: "Without a code it lists all of them. The same as a page: docs/errors.md.")

    @Argument(help: "A code, such as record.notFound.")
    var code: String?

    func run() throws {
        guard let code else {
            for explanation in ErrorExplanation.all {
                let name = explanation.code.rawValue
                print(name + String(repeating: " ", count: max(1, 28 - name.count)) + explanation.meaning)
            }
            return
        }
        guard let known = ErrorCode(rawValue: code) else {
            let similar = ErrorExplanation.suggestions(for: code)
            throw HostCommandError(
                "There is no code \(code)."
                    + (similar.isEmpty ? " `portico explain` lists all." : " Is it \(similar.joined(separator: ", "))?")
            )
        }
        let explanation = ErrorExplanation(known)
        print(
            """
            \(known.rawValue) (HTTP status \(explanation.status))
            \(explanation.meaning)
            Caller: \(explanation.caller)
            Operator: \(explanation.operation)
            """)
    }
}

/// docs/errors.md: every error code, in groups by what it is about.
enum ErrorReference {
    static var text: String {
        var lines = [heading]
        var group = ""
        for each in ErrorExplanation.all {
            let code = each.code.rawValue
            let prefix = String(code.prefix { $0 != "." })
            if prefix != group { lines += ["", "## \(titles[prefix] ?? prefix)"] }
            group = prefix
            lines += [
                "", "### `\(code)`", "", "HTTP status \(each.status). \(each.meaning)", "",
                "- The caller can: \(each.caller)", "- The operator can: \(each.operation)",
            ]
        }
        return lines.joined(separator: "\n")
    }

    /// By the codes' first words.
    private static let titles = [
        "request": "What is wrong with a request", "route": "Paths", "auth": "Sign-in", "access": "Rights",
        "record": "Records", "sync": "Sync", "format": "Formats", "server": "The gateway", "store": "The store",
        "adapter": "Adapters", "upstream": "Other systems",
    ]

    private static let heading = """
        # Error codes

        Printed by `portico reference errors`; `make check` compares. Every error of every interface has one of these codes,
        in the shape of the path's contract: `{"error": {"code", "message", "requestId"}}` where it has none of its own. A
        code never changes its meaning.

        An error response names the page of its code: `Link: </errors/record.notFound>; rel="help"`. The gateway serves these
        pages at `/errors`, with the texts below. `portico explain CODE` prints one. `porticoctl logs --request TEXT` finds
        the log lines of a request by the id that its error names.
        """
}
