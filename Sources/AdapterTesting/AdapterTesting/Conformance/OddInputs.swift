import AdapterKit

/// Inputs at the edges of a shape: as little as possible, and each member at its least and its most in turn.
struct OddInputs {
    let all: [WireDictionary]

    init(_ shape: ObjectShape) {
        let least = Self.object(shape, { $0.edges.first ?? .null })
        all =
            [least]
            + shape.members.flatMap { member in
                member.shape.edges.map { value in
                    var input = least
                    input[member.name.text] = value
                    return input
                }
            }
    }

    fileprivate static func object(_ shape: ObjectShape, _ value: (Shape) -> WireValue) -> WireDictionary {
        var object = WireDictionary()
        for member in shape.members where member.isRequired { object[member.name.text] = value(member.shape) }
        return object
    }
}

extension Shape {
    /// Values of the shape that code often forgets, the simplest first.
    fileprivate var edges: [WireValue] {
        switch self {
        case .any: [.null, ["a": [1, "two", ["three": 3.5]]], "text", 1]
        case .bool: [false, true]
        case .integer(let limits):
            [0, 1, limits.range.lowerBound, limits.range.upperBound].filter(limits.range.contains).map(WireValue.int64)
        case .double: [0, -0.0, .double(.greatestFiniteMagnitude)]
        case .decimal: [.decimal(WireDecimal(Int64(0))), .decimal(WireDecimal(Int64.min))]
        case .string(let limits): limits.edges.map(WireValue.string)
        case .choice(let texts): texts.map(WireValue.string)
        case .date: [0, -63_000_000_000, 250_000_000_000].map { .date(WireDate(secondsSinceReferenceDate: $0)) }
        case .data(let maximumBytes): [.data([]), .data(Array(repeating: 0xff, count: min(maximumBytes, 64)))]
        case .list(let item): [[]] + item.edges.prefix(1).map { .array([$0]) }
        case .object(let shape): [.dictionary(OddInputs.object(shape) { $0.edges.first ?? .null })]
        }
    }
}

extension TextLimits {
    fileprivate var edges: [String] {
        let least = String(repeating: "a", count: minimumLength)
        let odd = ["'\"%_*(", "A&B ‹é>", "\u{0}\n", "e\u{301}"].filter(allowed)
        return [least] + odd + [String(repeating: "x ", count: min(maximumLength, 512) / 2)].filter(allowed)
    }

    private func allowed(_ text: String) -> Bool {
        (minimumLength...maximumLength).contains(text.unicodeScalars.count)
    }
}
