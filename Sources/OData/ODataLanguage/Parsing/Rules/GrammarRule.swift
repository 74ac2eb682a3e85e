/// A rule of the OASIS ABNF by its name, so that a text can be held against that rule alone.
///
/// Names are case-insensitive, as in ABNF. What a rule gives is the tree where there is one, and the text where the rule
/// only says how something is written.
public struct GrammarRule: Sendable {
    public let name: String
    let encoding: SourceText.Encoding
    let parse: @Sendable (inout Parser) throws(Parser.Mismatch) -> any Sendable

    typealias Mismatch = Parser.Mismatch

    init(
        _ name: String, _ encoding: SourceText.Encoding = .url,
        _ parse: @escaping @Sendable (inout Parser) throws(Parser.Mismatch) -> any Sendable
    ) {
        self.name = name
        self.encoding = encoding
        self.parse = parse
    }

    /// The rule of a name; nil where there is none.
    public init?(named name: String) {
        guard let rule = Self.table[name.lowercased()] else { return nil }
        self = rule
    }

    public static var allNames: [String] { table.values.map(\.name).sorted() }

    /// What the whole of a text is.
    public func tree(of text: String, limits: LanguageLimits = LanguageLimits()) throws(SyntaxError) -> any Sendable {
        guard text.utf8.count <= limits.length else {
            throw SyntaxError(position: limits.length, expected: "at most \(limits.length) bytes", kind: .limit)
        }
        var parser = Parser(try SourceText(text, as: encoding), limits: limits)
        return try parser.whole(parse)
    }

    private static let table = Dictionary(
        // Cannot trap: names in source code.
        uniqueKeysWithValues: (requests + options + expressions + names + literals + values + shapes + headers + steps)
            .map { ($0.name.lowercased(), $0) })
}
