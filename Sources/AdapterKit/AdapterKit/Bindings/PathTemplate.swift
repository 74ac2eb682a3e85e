/// A path with named parts: `/v2/user/{userId}`; a last part `{rest*}` takes all that follows, slashes included.
public struct PathTemplate: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    public enum Part: Sendable, Hashable {
        case literal(String)
        case parameter(FieldName)
        case remainder(FieldName)
    }

    public let parts: [Part]

    /// Nil where the text is no template: it begins with `/`, has no empty part but a single trailing one, and names no
    /// parameter twice.
    public init?(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var parts: [Part] = []
        let pieces = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (position, piece) in pieces.enumerated() {
            let isLast = position == pieces.count - 1
            guard let part = Self.part(piece, isLast: isLast) else { return nil }
            parts.append(part)
        }
        guard Self.namesAreDistinct(parts) else { return nil }
        self.parts = parts
    }

    public init(stringLiteral value: String) {
        // Cannot trap: literals in source code.
        guard let template = PathTemplate(value) else { preconditionFailure("not a path template: \(value)") }
        self = template
    }

    public var parameters: [FieldName] {
        parts.compactMap { part in
            switch part {
            case .literal: nil
            case .parameter(let name), .remainder(let name): name
            }
        }
    }

    public var description: String {
        "/"
            + parts.map { part in
                switch part {
                case .literal(let text): text
                case .parameter(let name): "{\(name)}"
                case .remainder(let name): "{\(name)*}"
                }
            }.joined(separator: "/")
    }

    private static func part(_ piece: Substring, isLast: Bool) -> Part? {
        guard piece.first == "{", piece.last == "}" else {
            let isPlain = !piece.contains { "{}?#% ".contains($0) }
            return isPlain && (isLast || !piece.isEmpty) ? .literal(String(piece)) : nil
        }
        let inner = piece.dropFirst().dropLast()
        if inner.last == "*" {
            return isLast ? FieldName(String(inner.dropLast())).map(Part.remainder) : nil
        }
        return FieldName(String(inner)).map(Part.parameter)
    }

    private static func namesAreDistinct(_ parts: [Part]) -> Bool {
        var seen: Set<FieldName> = []
        for case .parameter(let name) in parts where !seen.insert(name).inserted { return false }
        if case .remainder(let name)? = parts.last { return !seen.contains(name) }
        return true
    }
}
