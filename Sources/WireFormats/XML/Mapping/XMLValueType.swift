/// The values of the `type` attribute.
enum XMLValueType: CaseIterable {
    case dictionary, array, string, int, real, decimal, bool, date, data, uid, null

    var word: StaticString {
        switch self {
        case .dictionary: "dictionary"
        case .array: "array"
        case .string: "string"
        case .int: "int"
        case .real: "real"
        case .decimal: "decimal"
        case .bool: "bool"
        case .date: "date"
        case .data: "data"
        case .uid: "uid"
        case .null: "null"
        }
    }

    init?(_ text: Span<UInt8>, _ range: Range<Int>) {
        for type in Self.allCases where XMLValueType.matches(text, range, type.word) {
            self = type
            return
        }
        return nil
    }

    @inline(__always)
    static func matches(_ text: Span<UInt8>, _ range: Range<Int>, _ word: StaticString) -> Bool {
        guard range.count == word.utf8CodeUnitCount else { return false }
        for index in 0..<range.count where text[range.lowerBound + index] != word.utf8Start[index] { return false }
        return true
    }
}

extension XMLScanner {
    /// The namespace of the `type` attribute, where the current element has one of ours.
    func valueNamespace(_ text: Span<UInt8>) -> Int32? {
        for attribute in attributes where attribute.name.namespace != XMLNamespaces.none {
            let namespace = attribute.name.namespace
            if XMLValueType.matches(text, attribute.name.localRange, "type"),
                namespaces.name(namespace).elementsEqual(XMLFormat.valueNamespace.utf8)
            {
                return namespace
            }
        }
        return nil
    }
}
