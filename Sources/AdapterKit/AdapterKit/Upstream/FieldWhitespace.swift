extension Character {
    /// Whether HTTP lets the character stand around the parts of a field's value: a space or a tab (RFC 9110, section 5.6.3).
    public var isFieldWhitespace: Bool { self == " " || self == "\t" }
}

extension StringProtocol {
    /// The text without the white space of HTTP at both ends.
    public var trimmingFieldWhitespace: String {
        String(drop(while: \.isFieldWhitespace).reversed().drop(while: \.isFieldWhitespace).reversed())
    }

    /// The media type of a `Content-Type` or of an element of `Accept`, without its parameters, in lower case (RFC 9110,
    /// section 8.3.1).
    public var mediaTypeName: String { prefix { $0 != ";" }.trimmingFieldWhitespace.lowercased() }
}
