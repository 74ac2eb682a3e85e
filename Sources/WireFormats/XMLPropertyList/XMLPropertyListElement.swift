/// The elements of a property list.
enum XMLPropertyListElement {
    case plist, dict, key, array, string, integer, real, date, data, `true`, `false`

    /// Nil for any other name, and for one in a namespace.
    @inline(__always)
    init?(_ name: XMLName, _ text: Span<UInt8>) {
        guard name.namespace == XMLNamespaces.none, name.prefixLength == 0 else { return nil }
        let at = name.offset
        switch name.length {
        case 3 where Self.matches(text, at, "key"): self = .key
        case 4 where Self.matches(text, at, "dict"): self = .dict
        case 4 where Self.matches(text, at, "real"): self = .real
        case 4 where Self.matches(text, at, "true"): self = .true
        case 4 where Self.matches(text, at, "date"): self = .date
        case 4 where Self.matches(text, at, "data"): self = .data
        case 5 where Self.matches(text, at, "array"): self = .array
        case 5 where Self.matches(text, at, "false"): self = .false
        case 5 where Self.matches(text, at, "plist"): self = .plist
        case 6 where Self.matches(text, at, "string"): self = .string
        case 7 where Self.matches(text, at, "integer"): self = .integer
        default: return nil
        }
    }

    @inline(__always)
    private static func matches(_ text: Span<UInt8>, _ offset: Int, _ word: StaticString) -> Bool {
        for index in 0..<word.utf8CodeUnitCount where text[offset + index] != word.utf8Start[index] { return false }
        return true
    }
}
