import AdapterKit

/// Scalars as XML Schema writes them (part 2, section 3.2).
enum ShapedXMLText {
    /// Nil where the value is not of the shape.
    static func text(of value: WireValue, _ shape: Shape) -> String? {
        switch (shape, value) {
        case (.bool, .bool(let flag)), (.any, .bool(let flag)): flag ? "true" : "false"
        case (.integer, .int64), (.integer, .uint64), (.double, _), (.decimal, _): number(value, shape)
        case (.string, .string(let text)), (.choice, .string(let text)), (.any, .string(let text)): text
        case (.date, .date(let instant)), (.any, .date(let instant)): instant.rfc3339
        case (.data, .data(let bytes)), (.any, .data(let bytes)): String(decoding: Base64.encode(bytes), as: UTF8.self)
        case (.any, _): number(value, shape)
        default: nil
        }
    }

    private static func number(_ value: WireValue, _ shape: Shape) -> String? {
        switch value {
        case .int64(let number): String(number)
        case .uint64(let number): String(number)
        case .double(let number) where number.isFinite:
            // `xs:decimal` has no exponent, `xs:double` and a decimal of the same digits do.
            shape == .decimal(scale: nil) ? plain(WireDecimal(number.description)) : number.description
        case .double(let number): number.isNaN ? "NaN" : number < 0 ? "-INF" : "INF"
        case .decimal(let number): plain(number)
        default: nil
        }
    }

    /// Without an exponent.
    private static func plain(_ number: WireDecimal?) -> String? {
        guard let number, number.exponent.magnitude <= WireDecimal.maximumDigits else { return nil }
        guard number.exponent > 0 else {
            let digits = Array(number.digits)
            let padded = Array(repeating: "0", count: max(0, 1 - number.exponent - digits.count)) + digits
            let point = padded.count + number.exponent
            let fraction = point < padded.count ? "." + String(padded[point...]) : ""
            return (number.isNegative ? "-" : "") + String(padded[..<point]) + fraction
        }
        return (number.isNegative ? "-" : "") + number.digits + String(repeating: "0", count: number.exponent)
    }

    /// Nil where the text is not one of the shape's type. Objects and lists have no text.
    static func value(of text: [UInt8], _ shape: Shape) -> WireValue? {
        let word = String(decoding: text, as: UTF8.self)
        let trimmed = text.drop(while: XMLCharacters.isSpace).reversed().drop(while: XMLCharacters.isSpace).reversed()
        switch shape {
        case .any, .string, .choice: return .string(word)
        case .bool: return bool(Array(trimmed))
        case .integer: return integer(Array(trimmed))
        case .double: return double(Array(trimmed))
        case .decimal: return WireDecimal(String(decoding: Array(trimmed), as: UTF8.self)).map { .decimal($0) }
        case .date: return WireDate(rfc3339: String(decoding: Array(trimmed), as: UTF8.self)).map { .date($0) }
        case .data: return Base64.decode(text.filter { !XMLCharacters.isSpace($0) }).map { .data($0) }
        case .list, .object: return nil
        }
    }

    private static func bool(_ text: [UInt8]) -> WireValue? {
        switch String(decoding: text, as: UTF8.self) {
        case "true", "1": .bool(true)
        case "false", "0": .bool(false)
        default: nil
        }
    }

    private static func integer(_ text: [UInt8]) -> WireValue? {
        switch XMLNumbers.Integer(text) {
        case .int64(let number): .int64(number)
        case .uint64(let number): .uint64(number)
        case .larger, nil: nil
        }
    }

    private static func double(_ text: [UInt8]) -> WireValue? {
        if case .double(let number)? = XMLNumbers.Real(text) { .double(number) } else { nil }
    }
}
