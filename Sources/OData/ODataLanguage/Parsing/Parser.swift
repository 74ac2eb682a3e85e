/// The whole of a request's URL below the service's root, as the gateway has it.
extension RequestTarget {
    /// Parses `path?query`, raw and still percent-encoded; an empty path is the service document.
    ///
    /// A plain `+` is a plus, as RFC 3986 has it, unless the query is written as HTML forms write theirs, where it is a
    /// space: many clients' libraries do so. Those encode all punctuation, so a query with none left is read that way;
    /// one with some is, if it makes no sense otherwise (docs/decisions/0212).
    ///
    /// OData 4.0 and 4.01 are one language, whichever of them the client would like the answer in (Protocol 4.01, section
    /// 13.2.1). OData 2.0 has literals, functions and options of its own, and the case of names matters; they become the
    /// same trees: `$expand=A/B` is `$expand=A($expand=B)`, `$links/Items` is `Items/$ref`.
    public init(
        _ text: String, version: LanguageVersion = .v4, limits: LanguageLimits = LanguageLimits()
    ) throws(SyntaxError) {
        guard let spaced = Self.withSpaces(text) else {
            self = try Self.parsed(text, version, limits)
            return
        }
        let (first, second) = spaced.isForm ? (spaced.text, text) : (text, spaced.text)
        do {
            self = try Self.parsed(first, version, limits)
        } catch {
            guard error.kind == .syntax, let target = try? Self.parsed(second, version, limits) else { throw error }
            self = target
        }
    }

    /// The text with a space for each plain `+` of the query, and whether a form's encoder must have written it; nil
    /// where there is none.
    private static func withSpaces(_ text: String) -> (text: String, isForm: Bool)? {
        var bytes = Array(text.utf8)
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")), bytes[mark...].contains(UInt8(ascii: "+")) else {
            return nil
        }
        let isForm = !bytes[(mark + 1)...].contains { "$'(),:;@!/ ".utf8.contains($0) } && !text.contains("%20")
        for index in bytes.indices[mark...] where bytes[index] == UInt8(ascii: "+") { bytes[index] = 0x20 }
        return (String(decoding: bytes, as: UTF8.self), isForm)
    }

    private static func parsed(
        _ text: String, _ version: LanguageVersion, _ limits: LanguageLimits
    ) throws(SyntaxError) -> RequestTarget {
        guard text.utf8.count <= limits.length else {
            throw SyntaxError(position: limits.length, expected: "at most \(limits.length) bytes", kind: .limit)
        }
        var parser = Parser(try SourceText(text), limits: limits)
        parser.language = version
        parser.allowsQuotedTypes = true
        guard text.isEmpty || text.utf8.first == UInt8(ascii: "?") else {
            let target = try parser.whole { parser throws(Parser.Mismatch) in try parser.requestTarget() }
            try target.checkExpansions(limits)
            return target
        }
        return try parser.whole { parser throws(Parser.Mismatch) in try parser.serviceDocument() }
    }
}

extension Parser {
    /// The service document, which has `$format` and the application's own options.
    fileprivate mutating func serviceDocument() throws(Mismatch) -> RequestTarget {
        guard skipRaw("?"), !isAtEnd else { return RequestTarget(.service, options: []) }
        return RequestTarget(.service, options: try queryOptions(.metadata))
    }
}

/// In which OData an address is written.
public enum LanguageVersion: Sendable, Hashable {
    case v2, v4
}

/// A raw text as the characters that it means, each with its place.
///
/// The grammar treats a percent-encoded character mostly as the character itself, so decoding comes first, and the
/// few rules that tell them apart (`/`, `&`, `=`, `#`, `;` and `+`) ask ``Character/isEncoded``.
struct SourceText {
    /// One byte of UTF-8 after decoding.
    struct Character {
        let byte: UInt8
        let isEncoded: Bool
        let start: Int32
        let end: Int32

        /// Whether it is this byte, written as itself.
        func isRaw(_ other: UInt8) -> Bool { byte == other && !isEncoded }
    }

    enum Encoding {
        /// Part of a URL: `%41` is `A`.
        case url
        /// A payload or a header: `%` has no meaning.
        case plain
    }

    let characters: [Character]
    let encoding: Encoding
    /// Bytes of the raw text.
    let length: Int

    init(_ text: String, as encoding: Encoding = .url) throws(SyntaxError) {
        let bytes = Array(text.utf8)
        var characters: [Character] = []
        characters.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            let isEncoded = encoding == .url && bytes[at] == UInt8(ascii: "%")
            let byte = isEncoded ? try Self.decoded(bytes, at) : bytes[at]
            let next = at + (isEncoded ? 3 : 1)
            // Cannot trap: the length was checked.
            characters.append(Character(byte: byte, isEncoded: isEncoded, start: Int32(at), end: Int32(next)))
            at = next
        }
        self.characters = characters
        self.encoding = encoding
        self.length = bytes.count
    }

    private static func decoded(_ bytes: [UInt8], _ at: Int) throws(SyntaxError) -> UInt8 {
        for position in [at + 1, at + 2] where position >= bytes.count || bytes[position].hexDigit == nil {
            throw SyntaxError(position: min(position, bytes.count), expected: "a hexadecimal digit")
        }
        return (bytes[at + 1].hexDigit ?? 0) << 4 | (bytes[at + 2].hexDigit ?? 0)
    }
}

extension UInt8 {
    var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    var isLetter: Bool { (self | 0x20) >= UInt8(ascii: "a") && (self | 0x20) <= UInt8(ascii: "z") }
    var isSpace: Bool { self == 0x20 || self == 0x09 }
    var lowercased: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }
}

/// Why a text is not what it should be, and where.
public struct SyntaxError: Error, Sendable, Hashable {
    /// UTF-8 bytes from the start of the raw text to the first that does not fit; its length where more was expected.
    public let position: Int
    /// What would have fitted there, in words for people.
    public let expected: String
    public let kind: Kind

    public init(position: Int, expected: String, kind: Kind = .syntax) {
        self.position = position
        self.expected = expected
        self.kind = kind
    }

    public enum Kind: Sendable, Hashable {
        case syntax
        /// It may be right, but is more than ``LanguageLimits`` allow.
        case limit
    }
}

/// What one request may ask to be parsed and bound.
public struct LanguageLimits: Sendable, Hashable {
    /// UTF-8 bytes of path and query together.
    public var length: Int
    /// Expressions, options and paths inside one another.
    public var depth: Int
    /// Operators, calls, literals and path segments of all options together.
    public var nodes: Int
    /// Members to the right of one `in`.
    public var listMembers: Int
    /// `$expand` inside `$expand`, `$levels` counted.
    public var expandDepth: Int

    public init(
        length: Int = 32_768, depth: Int = 100, nodes: Int = 4_000, listMembers: Int = 1_000, expandDepth: Int = 8
    ) {
        self.length = length
        self.depth = depth
        self.nodes = nodes
        self.listMembers = listMembers
        self.expandDepth = expandDepth
    }
}

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

/// Single characters, words and white space. The rules of section 9 of the ABNF.
extension Parser {
    mutating func skip(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        at += 1
        return true
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool { skip(UInt8(ascii: character)) }

    mutating func expect(_ character: Unicode.Scalar) throws(Mismatch) {
        guard skip(UInt8(ascii: character)) else { throw mismatch("`\(character)`") }
    }

    /// A character that only counts when it is not percent-encoded.
    mutating func skipRaw(_ character: Unicode.Scalar) -> Bool {
        guard current?.isRaw(UInt8(ascii: character)) == true else { return false }
        at += 1
        return true
    }

    mutating func expectRaw(_ character: Unicode.Scalar) throws(Mismatch) {
        guard skipRaw(character) else { throw mismatch("`\(character)`") }
    }

    /// `word`, letter by letter, so that the place of the first wrong letter is known.
    mutating func expect(word: StaticString, ignoringCase: Bool = true) throws(Mismatch) {
        let start = at
        for index in 0..<word.utf8CodeUnitCount {
            let wanted = word.utf8Start[index]
            guard let found = peek(), found == wanted || (ignoringCase && found.lowercased == wanted.lowercased) else {
                let failed = mismatch("`\(word)`")
                at = start
                throw failed
            }
            at += 1
        }
    }

    mutating func skip(word: StaticString, ignoringCase: Bool = true) -> Bool {
        let start = at
        for index in 0..<word.utf8CodeUnitCount {
            let wanted = word.utf8Start[index]
            guard let found = peek(), found == wanted || (ignoringCase && found.lowercased == wanted.lowercased) else {
                at = start
                return false
            }
            at += 1
        }
        return true
    }

    /// `BWS`
    mutating func skipSpace() {
        while let byte = peek(), byte.isSpace { at += 1 }
    }

    /// `RWS`
    mutating func expectSpace() throws(Mismatch) {
        guard let byte = peek(), byte.isSpace else { throw mismatch("a space") }
        skipSpace()
    }

    /// `BWS COMMA BWS`
    mutating func skipComma() -> Bool {
        let start = at
        skipSpace()
        guard skip(UInt8(ascii: ",")) else {
            note("`,`", at: at)
            at = start
            return false
        }
        skipSpace()
        return true
    }

    /// `BWS CLOSE`
    mutating func close() throws(Mismatch) {
        skipSpace()
        try expect(")")
    }

    mutating func commaSeparated<T>(_ rule: (inout Parser) throws(Mismatch) -> T) throws(Mismatch) -> [T] {
        var items = [try rule(&self)]
        while skipComma() { items.append(try rule(&self)) }
        return items
    }

    /// `1*DIGIT`, or as many digits as are asked for.
    @discardableResult
    mutating func digits(_ count: ClosedRange<Int> = 1...Int.max) throws(Mismatch) -> String {
        let start = at
        while let byte = peek(), byte.isDigit, at - start < count.upperBound { at += 1 }
        note("a digit", at: at)
        guard at - start >= count.lowerBound else { throw mismatch("a digit") }
        return text(start, at) ?? ""
    }
}

/// Names and identifiers, section 6 of the ABNF.
extension Parser {
    private static let longestIdentifier = 128

    /// `odataIdentifier`: a letter or `_`, then those, digits and, as they may be encoded, letters of any script.
    mutating func identifier() throws(Mismatch) -> String {
        let start = at
        guard let first = peek(), first.isLetter || first == UInt8(ascii: "_") || first >= 0x80 else {
            throw mismatch("a name")
        }
        while let byte = peek(), byte.isIdentifier { at += 1 }
        guard let name = text(start, at), name.unicodeScalars.count <= Self.longestIdentifier,
            name.unicodeScalars.allSatisfy(\.fitsIdentifier)
        else {
            at = start
            throw mismatch("a name of at most \(Self.longestIdentifier) letters")
        }
        note("a letter", at: at)
        return name
    }

    /// `[ namespace "." ] name`
    mutating func optionallyQualifiedName() throws(Mismatch) -> WrittenName {
        var parts = [try identifier()]
        while peek() == UInt8(ascii: "."), peek(1) != UInt8(ascii: "*") {
            at += 1
            parts.append(try identifier())
        }
        let name = parts.removeLast()
        return WrittenName(parts.isEmpty ? nil : parts.joined(separator: "."), name)
    }

    /// `namespace "." name`
    mutating func qualifiedName() throws(Mismatch) -> WrittenName {
        let name = try optionallyQualifiedName()
        guard name.namespace != nil else { throw mismatch("`.`") }
        return name
    }

    /// `optionallyQualifiedTypeName`
    mutating func typeName(qualified: Bool = false) throws(Mismatch) -> WrittenType {
        let start = at
        if let inside = try attempt({ parser throws(Mismatch) in
            try parser.expect(word: "Collection", ignoringCase: false)
            try parser.expect("(")
            let name = try qualified ? parser.qualifiedName() : parser.optionallyQualifiedName()
            try parser.expect(")")
            return name
        }) {
            return WrittenType(inside, isCollection: true, range: range(from: start))
        }
        let name = try qualified ? qualifiedName() : optionallyQualifiedName()
        return WrittenType(name, isCollection: false, range: range(from: start))
    }

    /// `@Namespace.Term#Qualifier`; inside a URL's query the `#` is encoded.
    mutating func annotationName() throws(Mismatch) -> AnnotationName {
        try expect("@")
        let term = try optionallyQualifiedName()
        let isEncoded = current?.isEncoded == true
        guard peek() == UInt8(ascii: "#"), isEncoded == (source.encoding == .url) else {
            return AnnotationName(term: term, qualifier: nil)
        }
        at += 1
        return AnnotationName(term: term, qualifier: try identifier())
    }
}

extension UInt8 {
    /// Whether it may be inside an identifier; which letters beyond ASCII do is decided on the whole.
    var isIdentifier: Bool { isLetter || isDigit || self == UInt8(ascii: "_") || self >= 0x80 }
}

extension Unicode.Scalar {
    /// CSDL 4.01, section 15.2: categories L, Nl, Nd, Mn, Mc, Pc and Cf.
    fileprivate var fitsIdentifier: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber,
            .decimalNumber, .nonspacingMark, .spacingMark, .connectorPunctuation, .format:
            true
        default: false
        }
    }
}
