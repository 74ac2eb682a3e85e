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
            throw CommandError(
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

/// docs/errors.md: every error code.
enum ErrorReference {
    static var text: String {
        let rows = ErrorExplanation.all.map { each in
            "| `\(each.code.rawValue)` | \(each.status) | \(each.meaning) | \(each.caller) | \(each.operation) |"
        }
        return ([heading] + rows).joined(separator: "\n")
    }

    private static let heading = """
        # Error codes

        Printed by `portico reference errors`; `make check` compares. Every error of every interface has one of these codes, in the shape
        of the path's contract (`{"error": {"code", "message", "requestId"}}` where it has none of its own). A code never
        changes its meaning. `portico explain CODE` prints one; `porticoctl logs --request TEXT` finds the log lines of a
        request by the id that its error names, with these explanations.

        | code | status | meaning | the caller can | the operator can |
        |---|---|---|---|---|
        """
}
