/// What a value may look like: the one description from which validation, OpenAPI, XSD and table columns are made.
public indirect enum Shape: Sendable, Equatable {
    case any
    case bool
    case integer(IntegerRange)
    case double
    /// Exact, with at most that many digits after the point; nil leaves it open.
    case decimal(scale: Int?)
    case string(TextLimits)
    /// One of these texts, compared by bytes.
    case choice([String])
    /// An instant. In JSON and generic XML an RFC 3339 string.
    case date
    /// Bytes. In JSON and generic XML base64 (RFC 4648, section 4).
    case data(maximumBytes: Int)
    case list(of: Shape)
    case object(ObjectShape)

    public static let integer = Shape.integer(IntegerRange(Int64.min...Int64.max))
    public static let string = Shape.string(TextLimits())
    public static func string(maximumLength: Int) -> Shape { .string(TextLimits(maximumLength: maximumLength)) }
}

/// The integers that a member takes, both ends included.
public struct IntegerRange: Sendable, Equatable {
    public let range: ClosedRange<Int64>
    public init(_ range: ClosedRange<Int64>) { self.range = range }
}

/// How long a text may be, in Unicode scalars.
public struct TextLimits: Sendable, Equatable {
    public static let defaultMaximum = 1 << 20

    public let minimumLength: Int
    public let maximumLength: Int

    public init(minimumLength: Int = 0, maximumLength: Int = Self.defaultMaximum) {
        self.minimumLength = minimumLength
        self.maximumLength = maximumLength
    }
}

/// A dictionary with declared members, in the order in which they are written.
public struct ObjectShape: Sendable, Equatable {
    /// The type's name in OpenAPI, XSD and generated code.
    public let name: String
    public let members: [Member]
    /// Whether members that are not declared are let through; otherwise they are refused.
    public let isOpen: Bool

    public init(_ name: String, isOpen: Bool = false, members: [Member]) {
        // Cannot trap: declarations in source code.
        precondition(Set(members.map(\.name)).count == members.count, "two members of \(name) have one name")
        self.name = name
        self.members = members
        self.isOpen = isOpen
    }

    public func member(_ name: String) -> Member? {
        members.first { $0.name.text == name }
    }
}

public struct Member: Sendable, Equatable {
    public let name: FieldName
    public let shape: Shape
    public let isRequired: Bool
    /// Whether null may stand for the value.
    public let isNullable: Bool
    /// Used where the member is left out.
    public let defaultValue: WireValue?
    /// A text that spells the value is taken for it (`"10"` for `10`), as clients of some contracts send it.
    public let acceptsText: Bool
    public let summary: String

    public init(
        _ name: FieldName, _ shape: Shape, isRequired: Bool = false, isNullable: Bool = false,
        defaultValue: WireValue? = nil, acceptsText: Bool = false, summary: String = ""
    ) {
        self.name = name
        self.shape = shape
        self.isRequired = isRequired
        self.isNullable = isNullable
        self.defaultValue = defaultValue
        self.acceptsText = acceptsText
        self.summary = summary
    }
}
