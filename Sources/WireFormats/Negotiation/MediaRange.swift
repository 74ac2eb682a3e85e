/// One element of `Accept` (RFC 9110, section 12.5.1): a media type or a wildcard, with its weight.
public struct MediaRange: Sendable, Equatable {
    /// `*/*`, `text/*` or a type; parameters before `q` included.
    public let type: MediaType
    /// Thousandths, 0 to 1000.
    public let quality: Int

    /// How closely a range names a type; the closest one that matches decides.
    enum Specificity: Int, Comparable {
        case anything, anySubtype, type, typeWithParameters

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    var specificity: Specificity {
        if type.type == "*" { return .anything }
        if type.subtype == "*" { return .anySubtype }
        return type.parameters.isEmpty ? .type : .typeWithParameters
    }

    /// Parameters are not compared: what is sent as `application/json;odata=verbose` is JSON here, and the operation
    /// behind it may look at them.
    func matches(_ other: MediaType) -> Bool {
        (type.type == "*" || type.type == other.type) && (type.subtype == "*" || type.subtype == other.subtype)
    }

    /// Reads the value of an `Accept` field; nil where it breaks the grammar. Empty elements are skipped (section 5.6.1).
    public static func list(_ field: String) -> [MediaRange]? {
        var scanner = FieldScanner(field)
        var ranges: [MediaRange] = []
        while !scanner.isAtEnd {
            if scanner.takes(",") {
                scanner.skipSpace()
            } else {
                guard let type = scanner.takeMediaType(), let range = MediaRange(type),
                    scanner.isAtEnd || scanner.takes(",")
                else { return nil }
                scanner.skipSpace()
                ranges.append(range)
            }
        }
        return ranges
    }

    private init?(_ type: MediaType) {
        guard type.type != "*" || type.subtype == "*" else { return nil }
        let weight = type.parameters.firstIndex { $0.name == "q" }
        guard let quality = weight.map({ Self.thousandths(type.parameters[$0].value) }) ?? 1000 else { return nil }
        // What follows the weight are extensions of `Accept`, which RFC 9110 has given up.
        let own = type.parameters[..<(weight ?? type.parameters.count)]
        guard let bare = MediaType(type: type.type, subtype: type.subtype, parameters: Array(own)) else { return nil }
        self.type = bare
        self.quality = quality
    }

    /// `0`, `1`, or one of them with up to three decimals, not above 1.
    private static func thousandths(_ text: String) -> Int? {
        let digits = Array(text.utf8)
        guard let whole = digits.first, whole == 0x30 || whole == 0x31, digits.count <= 5,
            digits.count == 1 || digits[1] == UInt8(ascii: "."),
            digits.dropFirst(2).allSatisfy({ $0 &- 0x30 < 10 })
        else { return nil }
        let decimals = digits.dropFirst(2) + [0x30, 0x30, 0x30]
        let value = decimals.prefix(3).reduce(Int(whole - 0x30)) { $0 * 10 + Int($1 - 0x30) }
        return value <= 1000 ? value : nil
    }
}
