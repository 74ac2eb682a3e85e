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
