/// Names for integers (CSDL 4.01, section 10).
public struct EnumerationType: Sendable, Equatable {
    public struct Member: Sendable, Hashable {
        public let name: String
        public let value: Int64

        public init(_ name: String, _ value: Int64) {
            self.name = name
            self.value = value
        }
    }

    public let name: QualifiedName
    public let underlying: PrimitiveType
    /// Whether a value may be several members at once.
    public let isFlags: Bool
    public let members: [Member]
    public let annotations: Annotations

    public init(
        name: QualifiedName, underlying: PrimitiveType = .int32, isFlags: Bool = false, members: [Member],
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.underlying = underlying
        self.isFlags = isFlags
        self.members = members
        self.annotations = annotations
    }

    /// The number of a text: a member's name, a number, or for flags several of them joined by commas. Nil where a part
    /// is none of these.
    public func value(of text: some StringProtocol) -> Int64? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard isFlags || parts.count == 1 else { return nil }
        var sum: Int64 = 0
        for part in parts {
            let word = part.drop { $0 == " " }
            guard let value = members.first(where: { $0.name == word })?.value ?? Int64(word) else { return nil }
            sum |= value
        }
        return sum
    }

    /// The names of a number, as OData writes them: joined by commas for flags, the number itself where no names make it
    /// up.
    public func text(of value: Int64) -> String {
        if let member = members.first(where: { $0.value == value }) { return member.name }
        guard isFlags else { return String(value) }
        let parts = members.filter { $0.value != 0 && value & $0.value == $0.value }
        guard parts.reduce(0, { $0 | $1.value }) == value else { return String(value) }
        return parts.map(\.name).joined(separator: ",")
    }
}

/// A primitive type with facets of its own (CSDL 4.01, section 11).
public struct TypeDefinition: Sendable, Equatable {
    public let name: QualifiedName
    public let underlying: PrimitiveType
    public let facets: Facets
    public let annotations: Annotations

    public init(
        name: QualifiedName, underlying: PrimitiveType, facets: Facets = Facets(),
        annotations: Annotations = Annotations()
    ) {
        self.name = name
        self.underlying = underlying
        self.facets = facets
        self.annotations = annotations
    }
}

/// Whatever a schema gives a name to.
public enum SchemaType: Sendable, Equatable {
    case structured(StructuredType)
    case enumeration(EnumerationType)
    case definition(TypeDefinition)
}
