import AdapterKit
import ValueTree
import WireFormats

/// Brings a value that was read from a wire format into the types of its shape.
///
/// Formats differ in what they can say: JSON has no dates and no bytes, a query or a foreign XML document has nothing
/// but text. What spells a value of the declared type becomes that value; everything else stays as it is, for the shape's
/// own check to refuse. Members that were left out get their defaults.
struct Coercion: Sendable {
    /// Numbers and flags may come as text too.
    let textSpellsEverything: Bool
    /// White space around what is no text counts for nothing, as XML Schema says (part 2, section 4.3.6).
    var collapsesSpace = false

    /// For formats that have numbers and flags of their own.
    static let typed = Coercion(textSpellsEverything: false)
    /// For paths, queries, forms and CSV.
    static let textual = Coercion(textSpellsEverything: true)
    /// For XML without type attributes.
    static let xml = Coercion(textSpellsEverything: true, collapsesSpace: true)

    func coerce(_ value: WireValue, to shape: Shape) -> WireValue {
        switch (shape, value) {
        case (.object(let object), .dictionary(let members)): .dictionary(coerce(members, to: object))
        case (.list(let item), .array(let items)): .array(items.map { coerce($0, to: item) })
        case (.list(let item), _) where textSpellsEverything && !value.isNull:
            .array(Self.items(of: value, item).map { coerce($0, to: item) })
        case (.object, .string("")) where textSpellsEverything: .dictionary([:])
        case (.double, .int64(let number)): Double(exactly: number).map(WireValue.double) ?? value
        case (.double, .decimal(let number)): number.exactDouble.map(WireValue.double) ?? value
        case (.decimal, _): Self.decimal(collapsed(value)) ?? value
        case (_, .string(let text)): coerce(text, to: shape)
        default: value
        }
    }

    /// Without defaults where further members are still to come.
    func coerce(_ members: WireDictionary, to shape: ObjectShape, fillingDefaults: Bool = true) -> WireDictionary {
        var coerced = WireDictionary(
            uncheckedUniqueKeys: members.entries.map { entry in
                .init(key: entry.key, value: coerce(entry.value, toMember: shape.member(entry.key)))
            })
        guard fillingDefaults else { return coerced }
        for member in shape.members where coerced[member.name.text] == nil {
            if let defaultValue = member.defaultValue { coerced[member.name.text] = defaultValue }
        }
        return coerced
    }

    private func coerce(_ value: WireValue, toMember member: Member?) -> WireValue {
        guard let member else { return value }
        return (member.acceptsText && !textSpellsEverything ? .textual : self).coerce(value, to: member.shape)
    }

    private func collapsed(_ value: WireValue) -> WireValue {
        guard collapsesSpace, case .string(let text) = value else { return value }
        return .string(text.trimmingXMLSpace)
    }

    private func coerce(_ written: String, to shape: Shape) -> WireValue {
        switch shape {
        case .date, .integer, .double, .bool:
            scalar(collapsesSpace ? written.trimmingXMLSpace : written, shape, written)
        case .data:
            Base64.decode(collapsesSpace ? written.filter { !$0.isWhitespace } : written).map(WireValue.data)
                ?? .string(written)
        default: .string(written)
        }
    }

    private func scalar(_ text: String, _ shape: Shape, _ written: String) -> WireValue {
        switch shape {
        case .date: WireDate(rfc3339: text).map(WireValue.date) ?? .string(written)
        case .integer where textSpellsEverything: Int64(text).map(WireValue.int64) ?? .string(written)
        case .double where textSpellsEverything: Double(text).map(WireValue.double) ?? .string(written)
        case .bool where textSpellsEverything: Self.flag(text).map(WireValue.bool) ?? .string(written)
        default: .string(written)
        }
    }

    /// The items that XML without types holds instead of a list: nothing, the items in a dictionary of the only name `item`, as the
    /// typed form writes them, or the only item itself.
    private static func items(of value: WireValue, _ item: Shape) -> [WireValue] {
        if value == .string("") { return [] }
        guard let members = value.dictionaryValue, members.count == 1, let items = members["item"] else {
            return [value]
        }
        if case .object(let shape) = item, shape.member("item") != nil { return [value] }
        return items.arrayValue ?? [items]
    }

    private static func flag(_ text: String) -> Bool? {
        switch text {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    private static func decimal(_ value: WireValue) -> WireValue? {
        switch value {
        case .int64(let number): .decimal(WireDecimal(number))
        case .uint64(let number): .decimal(WireDecimal(number))
        case .double(let number): WireDecimal(number.description).map(WireValue.decimal)
        case .string(let text): WireDecimal(text).map(WireValue.decimal)
        default: nil
        }
    }
}
