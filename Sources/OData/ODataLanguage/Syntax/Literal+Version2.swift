import AdapterKit
import ODataModel

extension Literal {
    /// The literal of version 4 that is meant where a property has this type: version 2's midnight for a day, its text
    /// for a duration. Nil where the literal can be none of the type's; any other comes as it is.
    public func version2Meaning(for type: PrimitiveType) -> Literal? {
        switch (self, type) {
        case (.dateTimeOffset(let text), .date): Self.day(text).map(Literal.date)
        case (.string(let text), .duration): .duration(text)
        case (.number("0", nil), .boolean): .boolean(false)
        case (.number("1", nil), .boolean): .boolean(true)
        default: self
        }
    }

    /// Nil where the instant is not the beginning of a day in UTC: a day would say less than was sent.
    private static func day(_ text: String) -> String? {
        guard let instant = WireDate(rfc3339: text)?.rfc3339, instant.hasSuffix("T00:00:00Z") else { return nil }
        return String(instant.prefix(10))
    }
}
