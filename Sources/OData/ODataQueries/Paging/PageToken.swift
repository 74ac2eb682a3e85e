import AdapterKit

/// `$skiptoken`: where a page ended, and how many rows `$top` still allows. Base64url of JSON-like text, a letter for
/// each kind of value; whoever changes it gets another page of rows that they may see.
struct PageToken: Equatable {
    var values: [WireValue]
    /// Nil: no `$top`.
    var remaining: Int?

    init(values: [WireValue], remaining: Int?) {
        self.values = values
        self.remaining = remaining
    }

    init?(_ text: String) {
        guard let bytes = Base64URL.decode(lenient: text) else { return nil }
        var parts = String(decoding: bytes, as: UTF8.self).split(separator: "\u{1F}", omittingEmptySubsequences: false)
        guard !parts.isEmpty else { return nil }
        let first = parts.removeFirst()
        remaining = Int(first)
        guard first.isEmpty || (remaining ?? -1) >= 0 else { return nil }
        values = []
        for part in parts {
            guard let value = Self.value(part) else { return nil }
            values.append(value)
        }
    }

    /// Nil where a value has no order, so that no page can end at it.
    var text: String? {
        var parts = [remaining.map(String.init) ?? ""]
        for value in values {
            guard let part = Self.text(value) else { return nil }
            parts.append(part)
        }
        return Base64URL.encode(Array(parts.joined(separator: "\u{1F}").utf8))
    }

    private static func text(_ value: WireValue) -> String? {
        switch value {
        case .null: "n"
        case .bool(let flag): flag ? "t" : "f"
        case .int64(let number): "i\(number)"
        case .double(let number): "d\(number.bitPattern)"
        case .decimal(let number): "m\(number)"
        case .date(let instant): "z\(instant.secondsSinceReferenceDate.bitPattern)"
        case .string(let text): "s\(Base64URL.encode(Array(text.utf8)))"
        case .data(let bytes): "x\(Base64URL.encode(bytes))"
        default: nil
        }
    }

    private static func value(_ part: Substring) -> WireValue? {
        let rest = String(part.dropFirst())
        switch part.first {
        case "n": return .null
        case "t": return true
        case "f": return false
        case "i": return Int64(rest).map { .int64($0) }
        case "d": return UInt64(rest).map { .double(Double(bitPattern: $0)) }
        case "m": return WireDecimal(rest).map { .decimal($0) }
        case "z": return UInt64(rest).map { .date(WireDate(secondsSinceReferenceDate: Double(bitPattern: $0))) }
        case "s":
            return Base64URL.decode(lenient: rest).flatMap { String(validating: $0, as: UTF8.self) }.map { .string($0) }
        case "x": return Base64URL.decode(lenient: rest).map { .data($0) }
        default: return nil
        }
    }
}
