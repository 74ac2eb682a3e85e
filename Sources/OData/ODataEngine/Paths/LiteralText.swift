import AdapterKit
import ODataLanguage
import ODataModel

/// Converts literals of URLs to stored values and stored values to literals.
public struct LiteralText: Sendable {
    let model: EntityDataModel
    private var form: StoredValueCodec { StoredValueCodec(model: model) }

    public init(model: EntityDataModel) {
        self.model = model
    }

    /// The stored value of a literal where one of this type is meant; nil where the literal is of another kind.
    public func value(_ literal: Literal, as type: TypeReference) -> WireValue? {
        if case .dateTimeOffset = literal, let primitive = model.primitive(behind: type.type), primitive == .date,
            let day = literal.version2Meaning(for: primitive)
        {
            return value(day, as: type)
        }
        switch literal {
        case .null: return type.isNullable ? .null : nil
        case .boolean(let flag): return model.primitive(behind: type.type) == .boolean ? .bool(flag) : nil
        case .number(let text, _):
            guard isNumeric(type) else { return nil }
            return form.value(text: text, type: type)
        case .notANumber: return form.value(text: "NaN", type: type)
        case .infinity(let isNegative): return form.value(text: isNegative ? "-INF" : "INF", type: type)
        case .string(let text):
            guard model.primitive(behind: type.type) == .string || isEnumeration(type) else { return nil }
            return form.value(text: text, type: type)
        case .guid(let text): return model.primitive(behind: type.type) == .guid ? .string(text) : nil
        case .date(let text), .timeOfDay(let text), .dateTimeOffset(let text), .duration(let text):
            guard model.primitive(behind: type.type) != .string else { return nil }
            return form.value(text: text, type: type)
        case .enumeration(_, let members):
            return isEnumeration(type) ? form.value(text: members.joined(separator: ","), type: type) : nil
        case .binary(let bytes): return model.primitive(behind: type.type) == .binary ? .data(bytes) : nil
        case .geography, .geometry: return nil
        }
    }

    /// A stored value as a key predicate has it, percent-encoded.
    public func text(_ value: WireValue, as type: TypeReference) -> String? {
        text(value, as: type, escaping: Self.escaped)
    }

    /// The same before it is percent-encoded, as in an option.
    public func plain(_ value: WireValue, as type: TypeReference) -> String? { text(value, as: type) { $0 } }

    private func text(_ value: WireValue, as type: TypeReference, escaping: (String) -> String) -> String? {
        guard let text = form.text(of: value, type: type) else { return nil }
        switch type.type {
        case .enumeration(let name): return "\(name)'\(text)'"
        default:
            switch model.primitive(behind: type.type) {
            case .string:
                return
                    "'\(escaping(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")))'"
            case .duration: return "duration'\(text)'"
            case .binary: return "binary'\(text)'"
            default: return escaping(text)
            }
        }
    }

    private func isNumeric(_ type: TypeReference) -> Bool {
        if isEnumeration(type) { return false }
        return model.primitive(behind: type.type)?.isNumeric == true
    }

    private func isEnumeration(_ type: TypeReference) -> Bool {
        if case .enumeration = type.type { true } else { false }
    }

    /// By byte: unreserved characters, and those that a path segment takes as they are in quotes.
    private static let plain: [Bool] = {
        let characters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~'!$*:@,;".utf8)
        return (UInt8.min...UInt8.max).map(characters.contains)
    }()

    /// With everything else percent-encoded.
    public static func escaped(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ plain[Int($0)] }) else { return text }
        let digits = Array("0123456789ABCDEF".utf8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            if plain[Int(byte)] {
                output.append(byte)
            } else {
                output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

extension RecordTable {
    /// `(1)` or `(A=1,B='x')`; empty for a singleton.
    public func keyPredicate(_ fields: WireDictionary, model: EntityDataModel) -> String {
        let literals = LiteralText(model: model)
        return keyPredicate(
            keyNames.map { name in
                guard let column = columns[name], let value = fields[column.field.text] else { return nil }
                return literals.text(value, as: column.type)
            })
    }

    /// The predicate of the key's literals, in its order; nil is null.
    public func keyPredicate(_ literals: [String?]) -> String {
        guard !isSingleton else { return "" }
        if literals.count == 1 { return "(\(literals[0] ?? "null"))" }
        return "(\(zip(keyNames, literals).map { "\($0)=\($1 ?? "null")" }.joined(separator: ",")))"
    }
}
