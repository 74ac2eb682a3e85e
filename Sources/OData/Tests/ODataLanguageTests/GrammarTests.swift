import Foundation
import ODataLanguage
import Testing

/// Every rule of the grammar, with what it takes and where it refuses the rest: `grammar.cases`.
@Suite struct GrammarTests {
    private struct Case {
        let rule: String
        let text: String
        /// Where it is refused; nil where it is taken.
        let position: Int?
    }

    private static let cases: [Case] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "grammar.cases")
        let lines = (try? String(contentsOf: file, encoding: .utf8))?.split(separator: "\n") ?? []
        var rules: [String] = []
        return lines.flatMap { line -> [Case] in
            if line.hasPrefix("#") { return [] }
            if line.hasPrefix("[") {
                rules = line.dropFirst().dropLast().split(separator: " ").map(String.init)
                return []
            }
            let (mark, text) = (line.prefix { $0 != " " }, line.drop { $0 != " " }.dropFirst())
            return rules.map { Case(rule: $0, text: String(text), position: Int(mark)) }
        }
    }()

    @Test func `every text is taken, or refused at its byte`() throws {
        for item in Self.cases {
            let found = try failure(item.rule, item.text)
            #expect(found == item.position, "\(item.rule): \(item.text)")
        }
    }

    @Test func `every rule has something that it takes and something that it refuses`() {
        let taken = Set(Self.cases.filter { $0.position == nil }.map { $0.rule.lowercased() })
        let refused = Set(Self.cases.filter { $0.position != nil }.map { $0.rule.lowercased() })
        let rules = Set(GrammarRule.allNames.map { $0.lowercased() })
        #expect(rules.subtracting(taken) == [] && rules.subtracting(refused) == [])
        #expect(taken.union(refused).subtracting(rules) == [])
    }
}
