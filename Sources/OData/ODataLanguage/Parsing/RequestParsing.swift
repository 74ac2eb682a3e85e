/// The whole of a request's URL below the service's root, as the gateway has it.
extension RequestTarget {
    /// Parses `path?query`, raw and still percent-encoded; an empty path is the service document.
    ///
    /// A plain `+` is a plus, as RFC 3986 has it. Where the text does not parse so, it is read once more as HTML forms
    /// encode, with `+` for a space: many clients' libraries write queries that way.
    public init(_ text: String, limits: LanguageLimits = LanguageLimits()) throws(SyntaxError) {
        do {
            self = try Self.parsed(text, limits)
        } catch {
            guard error.kind == .syntax, let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { throw error }
            let query = text[mark...]
            guard query.utf8.contains(UInt8(ascii: "+")) else { throw error }
            let spaced = text[..<mark] + String(query.map { $0 == "+" ? " " : $0 })
            guard let target = try? Self.parsed(String(spaced), limits) else { throw error }
            self = target
        }
    }

    private static func parsed(_ text: String, _ limits: LanguageLimits) throws(SyntaxError) -> RequestTarget {
        guard text.utf8.count <= limits.length else {
            throw SyntaxError(position: limits.length, expected: "at most \(limits.length) bytes", kind: .limit)
        }
        var parser = Parser(try SourceText(text), limits: limits)
        guard text.isEmpty || text.utf8.first == UInt8(ascii: "?") else {
            return try parser.whole { parser throws(Parser.Mismatch) in try parser.requestTarget() }
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
