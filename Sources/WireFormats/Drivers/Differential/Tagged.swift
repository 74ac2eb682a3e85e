import AdapterKit

/// A value as nested arrays of a tag and ASCII text, so that a peer's script compares kinds and bits without trusting
/// the format under test.
func tagged(_ value: WireValue) -> String {
    switch value {
    case .null: "[\"n\"]"
    case .bool(let flag): "[\"b\",\(flag)]"
    case .int64(let number): "[\"i\",\"\(number)\"]"
    case .uint64(let number): "[\"i\",\"\(number)\"]"
    case .double(let number): "[\"r\",\"\(number.isNaN ? "nan" : hex(number.bitPattern))\"]"
    case .decimal(let number): "[\"e\",\"\(number)\"]"
    case .string(let text): "[\"s\",\"\(hex(text.utf8))\"]"
    case .data(let bytes): "[\"d\",\"\(hex(bytes))\"]"
    case .date(let instant): "[\"t\",\"\(instant.wholeSecondsSinceReferenceDate)\"]"
    case .uid(let number): "[\"u\",\"\(number)\"]"
    case .array(let items): "[\"a\",[\(items.map(tagged).joined(separator: ","))]]"
    case .dictionary(let members):
        "[\"m\",[\(members.map { "[\"\(hex($0.key.utf8))\",\(tagged($0.value))]" }.joined(separator: ","))]]"
    }
}

private func hex(_ bits: UInt64) -> String {
    let digits = String(bits, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}

private func hex(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
