/// A recursive-descent parser over one raw text: a place in it, and the furthest place where something did not fit.
///
/// Alternatives are tried in order. When none fits, the error is what was expected at the furthest place that any of
/// them reached, which is where a person would say that the text goes wrong.
struct Parser {
    /// An alternative does not fit. Only a final one must not be followed by the next alternative.
    struct Mismatch: Error {
        let isFinal: Bool
    }

    let source: SourceText
    let limits: LanguageLimits
    /// Index into the characters; what is at or beyond `end` is not looked at.
    var at = 0
    var end: Int
    /// In a path a `/` ends the segment, even inside quotes.
    var isInPath = false
    /// Which OData the text is written in.
    var language = LanguageVersion.v4
    /// In OData 2.0 the case of options, operators and functions matters, and options need their `$`.
    var isVersion2: Bool { language == .v2 }
    /// Whether `cast` and `isof` take their type in quotes as well, as OData 3 had it and clients still write it.
    var allowsQuotedTypes = false
    /// In `aggregate` a path may be a type's name alone.
    var allowsBareType = false
    private(set) var failure = (at: 0, expected: "", kind: SyntaxError.Kind.syntax)
    private var depth = 0
    /// The deepest level of the tree that is being made. Operators in a row make it deeper without nesting the rules.
    private var deepest = 0
    private var nodes = 0
    private var aliases = 0
    static let maximumAliases = 100

    init(_ source: SourceText, limits: LanguageLimits = LanguageLimits()) {
        self.source = source
        self.limits = limits
        end = source.characters.count
    }

    // MARK: Looking

    var current: SourceText.Character? { at < end ? source.characters[at] : nil }
    var isAtEnd: Bool { at >= end }

    func peek(_ offset: Int = 0) -> UInt8? {
        at + offset < end ? source.characters[at + offset].byte : nil
    }

    /// Where the character at an index starts in the raw text.
    func offset(_ index: Int) -> Int {
        index < source.characters.count ? Int(source.characters[index].start) : source.length
    }

    /// The raw text from an index to here.
    func range(from start: Int) -> SourceRange {
        SourceRange(offset(start), at > start ? Int(source.characters[at - 1].end) : offset(start))
    }

    /// What the characters between two indices mean; nil where they are no UTF-8.
    func text(_ from: Int, _ to: Int) -> String? {
        String(validating: source.characters[from..<to].lazy.map(\.byte), as: UTF8.self)
    }

    // MARK: Failing

    mutating func mismatch(_ expected: String) -> Mismatch {
        note(expected, at: at)
        return Mismatch(isFinal: false)
    }

    mutating func note(_ expected: String, at index: Int) {
        guard failure.kind == .syntax else { return }
        if index > failure.at || failure.expected.isEmpty {
            failure = (index, expected, .syntax)
        }
    }

    mutating func exceeded(_ limit: String) -> Mismatch {
        failure = (at, limit, .limit)
        return Mismatch(isFinal: true)
    }

    /// What stands from an index on is well-formed and yet no value, whichever alternative reads it.
    mutating func noValue(_ expected: String, from index: Int) -> Mismatch {
        failure = (index, expected, .syntax)
        return Mismatch(isFinal: true)
    }

    var error: SyntaxError {
        SyntaxError(position: offset(failure.at), expected: failure.expected, kind: failure.kind)
    }

    // MARK: Trying

    /// What the rule gives; nil, and nothing consumed, where it does not fit.
    mutating func attempt<T>(_ rule: (inout Parser) throws(Mismatch) -> T) throws(Mismatch) -> T? {
        let start = at
        do {
            return try rule(&self)
        } catch {
            if error.isFinal { throw error }
            at = start
            return nil
        }
    }

    /// Runs a rule one level deeper.
    mutating func nested<T>(_ rule: (inout Parser) throws(Mismatch) -> T) throws(Mismatch) -> T {
        depth += 1
        defer { depth -= 1 }
        deepest = max(deepest, depth)
        guard depth <= limits.depth else { throw exceeded("at most \(limits.depth) levels") }
        return try rule(&self)
    }

    /// Runs a rule that makes a row of operands into a tree which leans to the left: ``lean()`` with each operand.
    ///
    /// Such a tree is as deep as the row is long, and whatever reads or destroys it does so by recursion.
    mutating func row<T>(_ rule: (inout Parser) throws(Mismatch) -> T) throws(Mismatch) -> T {
        let around = deepest
        deepest = depth
        defer { deepest = max(around, deepest) }
        return try rule(&self)
    }

    /// What was made so far in this ``row(_:)`` is one level deeper now.
    mutating func lean() throws(Mismatch) {
        deepest += 1
        guard deepest <= limits.depth else { throw exceeded("at most \(limits.depth) levels") }
    }

    mutating func countAlias() throws(Mismatch) {
        aliases += 1
        guard aliases <= Self.maximumAliases else { throw exceeded("at most \(Self.maximumAliases) aliases") }
    }

    mutating func countNode() throws(Mismatch) {
        nodes += 1
        // Alternatives that were tried and dropped count too: they cost the same.
        guard nodes <= limits.nodes * 4 else { throw exceeded("at most \(limits.nodes) parts") }
    }

    /// The rule, and nothing behind it.
    mutating func whole<T>(_ rule: (inout Parser) throws(Mismatch) -> T) throws(SyntaxError) -> T {
        do {
            let result = try rule(&self)
            guard isAtEnd else { throw mismatch("the end") }
            return result
        } catch {
            throw self.error
        }
    }
}
