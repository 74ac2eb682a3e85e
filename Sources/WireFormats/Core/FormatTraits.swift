/// What a format carries of the value tree. What it does not carry is an error when written
/// (``WireFormatError/Kind/notRepresentable``), except for null where ``WritingOptions/nulls`` omits it.
public struct FormatTraits: Sendable, Equatable {
    public var null: Bool
    /// Numbers beyond 64-bit integers and doubles.
    public var decimal: DecimalSupport
    /// NaN and infinities.
    public var nonFinite: Bool
    /// Byte strings as a type of their own; otherwise they are written as base64 text and read back as a string.
    public var data: Bool
    public var date: DateSupport
    public var uid: Bool
    /// Every Unicode scalar in strings and keys, U+0000 and other controls included.
    public var allScalars: Bool

    public enum DecimalSupport: Sendable, Equatable {
        /// As a type of its own.
        case exact
        /// As an integer or a real where one is the same number, otherwise as the string of its digits.
        case text
        case none
    }

    public enum DateSupport: Sendable, Equatable {
        /// A double's full precision, as a type of its own.
        case exact
        /// Whole seconds, as a type of its own.
        case wholeSeconds
        /// Written as RFC 3339 text and read back as a string.
        case text
    }

    public init(
        null: Bool, decimal: DecimalSupport, nonFinite: Bool, data: Bool, date: DateSupport, uid: Bool, allScalars: Bool
    ) {
        self.null = null
        self.decimal = decimal
        self.nonFinite = nonFinite
        self.data = data
        self.date = date
        self.uid = uid
        self.allScalars = allScalars
    }
}
