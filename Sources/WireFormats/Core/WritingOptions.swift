/// How a value is written. The defaults lose nothing: what cannot be carried is an error.
public struct WritingOptions: Sendable, Equatable {
    /// A null in a format without one.
    public enum NullPolicy: Sendable, Equatable {
        case error
        /// A dictionary's member is left out. A null in an array or at the top stays an error.
        case omitMember
    }

    /// A date with a fraction of a second in a format that carries whole seconds.
    public enum DateFractionPolicy: Sendable, Equatable {
        case error
        /// Rounded down to the second.
        case truncate
    }

    /// An integer beyond 64 bits in a format without decimals.
    public enum LargeIntegerPolicy: Sendable, Equatable {
        case error
        /// Its digits as a string, as other decimals are written that no double carries.
        case text
    }

    public enum Layout: Sendable, Equatable {
        case compact
        /// Lines and indentation, for people. Formats without white space ignore it.
        case pretty
    }

    public var nulls: NullPolicy
    public var dateFractions: DateFractionPolicy
    public var largeIntegers: LargeIntegerPolicy
    public var layout: Layout
    /// The deepest nesting that is written.
    public var depth: Int
    /// The most bytes that a writer which must hold the whole document (a binary property list) keeps of it.
    public var bufferedBytes: Int
    /// What only generic XML looks at.
    public var xml: XMLWritingOptions

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
