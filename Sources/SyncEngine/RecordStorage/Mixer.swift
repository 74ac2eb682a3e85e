import AdapterKit

/// A number for a sequence of texts that is the same in every run: FNV-1a, its bits mixed at the end.
package struct Mixer {
    private var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    package init() {}

    package mutating func add(_ text: String) {
        for byte in text.utf8 { add(byte) }
        add(0)
    }

    package var value: UInt64 {
        var mixed = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    private mutating func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
}

extension Mixer {
    /// The kinds of filter that row rules become; nil: every row.
    package mutating func add(_ filter: Filter?) {
        guard let filter else { return add("everything") }
        switch filter {
        case .compare(let field, let comparison, let value): add("compare", field, comparison.rawValue, value)
        case .listContains(let field, let value): add("contains", field, "", value)
        case .oneOf(let field, let values): add("oneOf", field, "", .array(values))
        case .related(let field, let entity, let inner):
            add("related", field, entity.text, .null)
            add(inner)
        case .all(let parts): add("all", parts)
        case .any(let parts): add("any", parts)
        case .not(let part): add("not", [part])
        case .isNull, .hasPrefix, .hasSuffix, .containsText, .search: add("\(filter)")
        }
    }

    private mutating func add(_ kind: String, _ field: FieldName, _ detail: String, _ value: WireValue) {
        add(kind)
        add(field.text)
        add(detail)
        add("\(value)")
    }

    private mutating func add(_ kind: String, _ parts: [Filter]) {
        add("\(kind) \(parts.count)")
        for part in parts { add(part) }
    }
}
