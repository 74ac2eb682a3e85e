/// The shape of a value: the one description from which validation, OpenAPI, XSD and table columns are made.
public indirect enum Shape: Sendable, Equatable {
    /// Every value that each wire format can carry.
    case any
    /// True or false.
    case bool
    /// A 64-bit integer within limits.
    case integer(IntegerRange)
    /// A finite IEEE 754 double.
    case double
    /// Exact, with at most that many digits after the point; nil leaves it open.
    case decimal(scale: Int?)
    /// A text within limits.
    case string(TextLimits)
    /// One of these texts, compared by bytes.
    case choice([String])
    /// An instant. In JSON and generic XML an RFC 3339 string.
    case date
    /// Bytes. In JSON and generic XML base64 (RFC 4648, section 4).
    case data(maximumBytes: Int)
    /// A list whose elements have one shape.
    case list(of: Shape)
    /// A dictionary with declared members.
    case object(ObjectShape)

    /// Every 64-bit integer.
    public static let integer = Shape.integer(IntegerRange(Int64.min...Int64.max))
    /// A text of the default maximum length.
    public static let string = Shape.string(TextLimits())
    /// A text of at most that many Unicode scalars.
    public static func string(maximumLength: Int) -> Shape { .string(TextLimits(maximumLength: maximumLength)) }
}

/// The integers that a member takes, both ends included.
public struct IntegerRange: Sendable, Equatable {
    /// The smallest and the largest integer.
    public let range: ClosedRange<Int64>
    /// Creates an integer range with these values.
    public init(_ range: ClosedRange<Int64>) { self.range = range }
}

/// Limits of a text's length, in Unicode scalars.
public struct TextLimits: Sendable, Equatable {
    /// The maximum length where none is given, in Unicode scalars.
    public static let defaultMaximum = 1 << 20

    /// The minimum length, in Unicode scalars.
    public let minimumLength: Int
    /// The maximum length, in Unicode scalars.
    public let maximumLength: Int

    /// Creates text limits with these values.
    public init(minimumLength: Int = 0, maximumLength: Int = Self.defaultMaximum) {
        self.minimumLength = minimumLength
        self.maximumLength = maximumLength
    }
}

/// A dictionary with declared members, in the order in which they are written.
public struct ObjectShape: Sendable, Equatable {
    /// The type's name in OpenAPI, XSD and generated code.
    public let name: String
    /// The members in the order in which they are written.
    public let members: [Member]
    /// Whether members that are not declared are let through; otherwise they are refused.
    public let isOpen: Bool

    /// Creates an object shape with these values.
    public init(_ name: String, isOpen: Bool = false, members: [Member]) {
        // Cannot trap: declarations in source code.
        precondition(Set(members.map(\.name)).count == members.count, "two members of \(name) have one name")
        self.name = name
        self.members = members
        self.isOpen = isOpen
    }

    /// The member of that name; nil where none is declared.
    public func member(_ name: String) -> Member? {
        members.first { $0.name.text == name }
    }
}

/// One member of an object.
public struct Member: Sendable, Equatable {
    /// The member's name.
    public let name: FieldName
    /// The values that the member takes.
    public let shape: Shape
    /// Whether the member must be there.
    public let isRequired: Bool
    /// Whether null may stand for the value.
    public let isNullable: Bool
    /// Used where the member is left out.
    public let defaultValue: WireValue?
    /// A text that spells the value is taken for it (`"10"` for `10`), as clients of some contracts send it.
    public let acceptsText: Bool
    /// One sentence for descriptions.
    public let summary: String

    /// Creates a member with these values.
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
