import AdapterKit

/// A syntax tree as plain data, for people and programs to look at.
///
/// By reflection, since the trees' types say it all: a structure becomes a dictionary of its members, a case with values
/// a dictionary with the case's name as its only key, a case without them its name, a range its two ends.
public enum TreeOutline {
    public static func outline(of tree: Any) -> WireValue {
        if let plain = plain(tree) { return plain }
        let mirror = Mirror(reflecting: tree)
        switch mirror.displayStyle {
        case .optional: return mirror.children.first.map { outline(of: $0.value) } ?? .null
        case .collection: return .array(mirror.children.map { outline(of: $0.value) })
        case .enum: return ofCase(tree, mirror)
        case .tuple where mirror.children.isEmpty: return .null
        default: return ofMembers(mirror)
        }
    }

    private static func plain(_ tree: Any) -> WireValue? {
        switch tree {
        case let text as String: .string(text)
        case let flag as Bool: .bool(flag)
        case let number as Int: .int64(Int64(number))
        case let number as Double: .double(number)
        case let byte as UInt8: .int64(Int64(byte))
        case let name as WrittenName: .string(name.description)
        case let range as SourceRange: [.int64(Int64(range.start)), .int64(Int64(range.end))]
        case let named as any RawRepresentable<String>: .string(named.rawValue)
        default: nil
        }
    }

    private static func ofCase(_ tree: Any, _ mirror: Mirror) -> WireValue {
        guard let payload = mirror.children.first, let name = payload.label else { return .string("\(tree)") }
        return .dictionary([name: outline(of: payload.value)])
    }

    /// Members of a structure, or values of a case that has several: by their labels, or in their order.
    private static func ofMembers(_ mirror: Mirror) -> WireValue {
        let members = mirror.children.map { (label: $0.label ?? "", value: outline(of: $0.value)) }
        if members.allSatisfy({ $0.label.hasPrefix(".") }) { return .array(members.map(\.value)) }
        var dictionary = WireDictionary()
        for member in members where member.value != .null {
            // A case's first value may have no label where its others do.
            dictionary[member.label == ".0" ? "value" : member.label] = member.value
        }
        return .dictionary(dictionary)
    }
}
