import AdapterKit
import ValueTree

/// The adapters with their entities, and who may read and write those, for people: OpenAPI has no words for them. The description
/// has it as `x-portico-adapters`; the explorer shows it.
struct DescribedAdapters {
    let adapters: [ServedAdapter]

    var value: WireValue {
        var described = WireDictionary()
        for served in adapters {
            let declaration = served.declaration
            var value: WireDictionary = ["title": .string(declaration.title), "summary": .string(declaration.summary)]
            let entities = declaration.entities.filter { $0.exposure == .resource }
            if !entities.isEmpty {
                var members = WireDictionary()
                for entity in entities { members[entity.name.text] = Self.value(of: entity, served) }
                value["entities"] = .dictionary(members)
            }
            described[declaration.name.text] = .dictionary(value)
        }
        return .dictionary(described)
    }

    private static func value(of entity: Entity, _ served: ServedAdapter) -> WireValue {
        var value: WireDictionary = [
            "summary": .string(entity.summary), "key": .string(entity.key.field.text),
            "read": .string(AccessWords.sentence(.reads, entity, served)),
            "write": .string(AccessWords.sentence(.writes, entity, served)),
        ]
        var sources = WireDictionary()
        for field in entity.fields {
            if let words = words(field, entity) { sources[field.name.text] = .string(words) }
        }
        if !sources.isEmpty { value["sources"] = .dictionary(sources) }
        let filters = FilterExamples(entity).all
        if !filters.isEmpty { value["filters"] = .array(filters.map { .string($0) }) }
        return .dictionary(value)
    }

    /// The origin of the field's value, where that is not the caller at any time.
    private static func words(_ field: Field, _ entity: Entity) -> String? {
        if field.name == entity.key.field {
            switch entity.key.chooser {
            case .caller: return "the caller, when it is created"
            case .server: return "the server"
            case .either: return "the caller, otherwise the server"
            }
        }
        switch field.source {
        case .caller: return nil
        case .callerOnCreate: return "the caller, when it is created"
        case .creator: return "the server: who created it"
        case .createdAt: return "the server: when it was created"
        case .createdPosition: return "the server: its place among all"
        case .modifiedAt: return "the server: when it was last changed"
        case .rules: return "the adapter's rules"
        }
    }
}

/// The rights to read and write an entity's records, in words for people.
enum AccessWords {
    static func sentence(_ effect: Effect, _ entity: Entity, _ served: ServedAdapter) -> String {
        let declaration = served.declaration
        let access = effect == .writes ? declaration.writers(of: entity) : declaration.readers(of: entity)
        let rule = effect == .writes ? declaration.writeRule(of: entity) : entity.rows.read
        if access.isNobody || rule == .nobody { return "Nobody." }
        // One that looks at no row narrows who is let in.
        if rule == .signedIn, access == .public { return "\(callers(.login))." }
        guard let rows = rows(rule) else { return "\(callers(access))." }
        return "\(callers(access)), of the records \(rows)."
    }

    /// The same within a sentence that it ends, without marks.
    static func phrase(_ effect: Effect, _ entity: Entity, _ served: ServedAdapter) -> String {
        let words = sentence(effect, entity, served).replacing("`", with: "")
        return words.prefix(1).lowercased() + words.dropFirst()
    }

    private static func callers(_ access: Access) -> String {
        switch access {
        case .public: "Everyone"
        case .login: "Everyone who is signed in"
        case .nobody: "Nobody"
        case .roles(let roles): "Accounts with the role " + list(roles.sorted().map { "`\($0.text)`" }, "or")
        }
    }

    /// Which records, as a relative clause; nil: all of them.
    private static func rows(_ rule: RowRule) -> String? {
        switch rule {
        case .everyone, .signedIn: nil
        case .nobody: "that nobody has"
        case .owner(let field): "whose `\(field)` they are"
        case .sharedWith(let field): "whose `\(field)` names them"
        case .attributeEquals(let field, let attribute): "whose `\(field)` is their account's `\(attribute)`"
        case .hasRole(let role): "that are shown to the role `\(role.text)`"
        case .fieldIsOneOf(let field, let values):
            "whose `\(field)` is " + list(values.map { "`\($0.stringValue ?? String(describing: $0))`" }, "or")
        case .memberOf(let entity, let field, let members):
            "whose `\(field)` is one of the `\(entity)` that have them among `\(members)`"
        case .not(let rule): rows(rule).map { "other than those \($0)" } ?? "that nobody has"
        case .any(let rules): rules.contains { rows($0) == nil } ? nil : list(rules.compactMap { rows($0) }, "or")
        case .all(let rules): rules.allSatisfy { rows($0) == nil } ? nil : list(rules.compactMap { rows($0) }, "and")
        }
    }

    private static func list(_ texts: [String], _ conjunction: String) -> String {
        guard texts.count > 1, let last = texts.last else { return texts.first ?? "" }
        return texts.dropLast().joined(separator: ", ") + " \(conjunction) " + last
    }
}
