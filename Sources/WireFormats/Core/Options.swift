/// What a reader may spend on one document. Every limit is checked before the memory it guards is taken.
public struct ReadingLimits: Sendable, Equatable {
    /// The deepest nesting of containers, at most ``maximumDepth``.
    public var depth: Int {
        didSet { depth = min(depth, Self.maximumDepth) }
    }
    /// How many tokens a tape has at most: a value is one, a key one, a container one more for its end. A value that a
    /// binary property list shares counts each time it is reached.
    public var values: Int
    /// The bytes of all strings, keys and data together, shared ones counted each time.
    public var expandedBytes: Int
    /// What becomes of a dictionary that has one key twice.
    public var duplicateKeys: DuplicateKeyPolicy

    /// Trees are walked by recursion, which needs the stack: no limit may be set above this one.
    public static let maximumDepth = 4096

    /// Creates reading limits with these values.
    public init(
        depth: Int = 512, values: Int = 4_000_000, expandedBytes: Int = 64 << 20,
        duplicateKeys: DuplicateKeyPolicy = .refuse
    ) {
        self.depth = min(depth, Self.maximumDepth)
        self.values = values
        self.expandedBytes = expandedBytes
        self.duplicateKeys = duplicateKeys
    }
}

/// What a reader does when a dictionary names a key twice.
public enum DuplicateKeyPolicy: Sendable, Equatable {
    /// The document is refused.
    case refuse
    /// The last value wins, at the first one's place; the reader counts what it dropped.
    case keepLast
}

/// How a value is written. The defaults lose nothing: what cannot be carried is an error.
public struct WritingOptions: Sendable, Equatable {
    /// A null in a format without one.
    public enum NullPolicy: Sendable, Equatable {
        /// It is an error.
        case error
        /// A dictionary's member is left out. A null in an array or at the top stays an error.
        case omitMember
    }

    /// A date with more digits than the format carries.
    public enum DateFractionPolicy: Sendable, Equatable {
        /// It is an error.
        case error
        /// Rounded down: to the second in an XML property list, to a double in a binary one.
        case truncate
    }

    /// An integer beyond 64 bits in a format without decimals.
    public enum LargeIntegerPolicy: Sendable, Equatable {
        /// It is an error.
        case error
        /// Its digits as a string, as other decimals are written that no double carries.
        case text
    }

    /// Whether the text is laid out for people.
    public enum Layout: Sendable, Equatable {
        /// Without white space between tokens.
        case compact
        /// Lines and indentation, for people. Formats without white space ignore it.
        case pretty
    }

    /// What becomes of null where the format has none.
    public var nulls: NullPolicy
    /// What becomes of a date's digits that the format does not carry.
    public var dateFractions: DateFractionPolicy
    /// What becomes of integers that the format's readers do not hold.
    public var largeIntegers: LargeIntegerPolicy
    /// Whether the text is laid out for people.
    public var layout: Layout
    /// The deepest nesting that is written.
    public var depth: Int
    /// The most bytes that a writer which must hold the whole document (a binary property list) keeps of it.
    public var bufferedBytes: Int
    /// What only generic XML looks at.
    public var xml: XMLWritingOptions

    /// Creates writing options with these values.
    public init(
        nulls: NullPolicy = .error, dateFractions: DateFractionPolicy = .error,
        largeIntegers: LargeIntegerPolicy = .error, layout: Layout = .compact, depth: Int = 512,
        bufferedBytes: Int = 256 << 20, xml: XMLWritingOptions = XMLWritingOptions()
    ) {
        self.nulls = nulls
        self.dateFractions = dateFractions
        self.largeIntegers = largeIntegers
        self.layout = layout
        self.depth = depth
        self.bufferedBytes = bufferedBytes
        self.xml = xml
    }
}

/// How generic XML is written.
public struct XMLWritingOptions: Sendable, Equatable {
    /// Text that XML cannot carry, such as one with U+0000.
    public enum UnrepresentableText: Sendable, Equatable {
        /// It is an error.
        case error
        /// Its UTF-8 is written as data, and reads back as data. Keys stay an error.
        case data
    }

    /// The name of the root element.
    public var rootName: XMLElementName
    /// What becomes of a text with characters that XML cannot carry.
    public var unrepresentableText: UnrepresentableText
    /// Canonical XML 1.1, comments left out: no XML declaration, no empty-element tags, no indentation.
    public var isCanonical: Bool

    /// Creates XML writing options with these values.
    public init(
        rootName: XMLElementName = .value, unrepresentableText: UnrepresentableText = .error, isCanonical: Bool = false
    ) {
        self.rootName = rootName
        self.unrepresentableText = unrepresentableText
        self.isCanonical = isCanonical
    }
}

/// A name that an element can have: an `NCName`.
public struct XMLElementName: Sendable, Hashable {
    public let text: String

    private init(known text: StaticString) {
        self.text = "\(text)"
    }

    /// `value`
    public static let value = XMLElementName(known: "value")
    /// `item`
    public static let item = XMLElementName(known: "item")
}
