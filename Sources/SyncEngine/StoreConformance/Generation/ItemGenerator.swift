import AdapterKit

/// Makes records and conditions whose values often meet: few different ones, nulls among them.
struct ItemGenerator {
    var random: SeededRandom

    private static let texts = ["", "a", "ab", "abc", "b", "é", "Ann Bee", "ann", "bee cee", "Cee"]
    private static let words = ["a", "ann", "be", "CEE", "bee", "x"]

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &random)! }
    mutating func number(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &random) }
    mutating func chance(_ percent: Int64) -> Bool { number(1...100) <= percent }
    mutating func text() -> String { pick(Self.texts) }
    mutating func word() -> String { pick(Self.words) }

    mutating func fields(id: String) -> WireDictionary {
        var fields: WireDictionary = ["id": .string(id), "name": .string(text())]
        for name: FieldName in ["note", "rank", "ratio", "price", "active", "at", "bytes", "tags", "marks", "group"] {
            fields[name.text] = chance(25) ? .null : value(of: name)
        }
        if fields["active"] == .null { fields["active"] = nil }
        return fields
    }

    mutating func value(of field: FieldName) -> WireValue {
        switch field {
        case "rank": .int64(number(-2...2))
        case "ratio": .double(Double(number(-4...4)) / 2)
        case "price": .decimal(WireDecimal(pick(["-1.5", "0", "0.00", "1", "1.0", "2.25", "10", "100"]))!)
        case "active": .bool(chance(50))
        case "at": .date(WireDate(secondsSinceReferenceDate: Double(number(0...3)) / 4))
        case "bytes": .data(pick([[], [0], [0, 1], [255]]))
        case "tags": .array((0..<number(0...3)).map { _ in .string(text()) })
        case "marks": .array((0..<number(0...3)).map { _ in .int64(number(0...2)) })
        case "group": .string(pick(["g1", "g2", "g3"]))
        case "id": .string("r\(number(0...60))")
        default: .string(text())
        }
    }
}
