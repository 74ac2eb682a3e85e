/// A member of a token whose kind the provider decides.
indirect enum ClaimValue: Sendable, Equatable, Codable {
    case text(String)
    case number(Double)
    case flag(Bool)
    case list([ClaimValue])
    case object([String: ClaimValue])
    case null

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([ClaimValue].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: ClaimValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .flag(let flag): try container.encode(flag)
        case .list(let list): try container.encode(list)
        case .object(let members): try container.encode(members)
        case .null: try container.encodeNil()
        }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    subscript(name: String) -> ClaimValue? { if case .object(let members) = self { members[name] } else { nil } }

    /// One text or a list of nothing but texts; nil for everything else.
    var texts: [String]? {
        switch self {
        case .text(let text): return [text]
        case .list(let items):
            let texts = items.compactMap(\.text)
            return texts.count == items.count ? texts : nil
        default: return nil
        }
    }

    /// What a dotted path leads to: `realm_access.roles`.
    func at(path: String) -> ClaimValue? {
        self[path] ?? path.split(separator: ".").reduce(Optional(self)) { $0?[String($1)] }
    }
}
