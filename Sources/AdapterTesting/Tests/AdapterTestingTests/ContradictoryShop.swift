import AdapterKit

/// What is wrong with a shop's declaration.
enum Contradiction: Sendable {
    case none, otherName, keyless, badDefault, unknownIndex, searchesNumbers, ruleWithoutField, datedText
    case strangeMembers, requiredNowhere, writesByGet, keepsWrites, operatorsByPath, sameRoute, sameTypeName
    case unsummarized, manyRoles

    @TaskLocal static var current = Contradiction.none
}

enum ContradictoryShop: AdapterModule {
    static let name = Shop.name

    static func make(_ configuration: AdapterConfiguration) -> any Adapter { ShopAdapter() }

    static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
        AdapterDeclaration(
            name: Contradiction.current == .otherName ? "other" : name, title: "Shop", summary: "Sells.", version: "1",
            access: Contradiction.current == .manyRoles ? AccessRights(write: .roles(manyRoles)) : AccessRights(),
            entities: [goods], operations: Contradiction.current == .sameRoute ? [price, again] : [price])
    }

    private static let manyRoles = Set((1...17).map { RoleName(unchecked: "r\($0)") })

    private static var goods: Entity {
        let now = Contradiction.current
        return Entity(
            "goods", summary: now == .unsummarized ? "" : "What is for sale.",
            key: EntityKey(now == .keyless ? "code" : "id"),
            fields: [
                Field("id", .string, isRequired: true),
                Field("title", .string, isRequired: true, source: now == .datedText ? .createdAt : .caller),
                Field("price", .integer, defaultValue: now == .badDefault ? "ten" : 10),
            ],
            indexes: [Index([now == .unknownIndex ? "colour" : "price"])],
            searchFields: [now == .searchesNumbers ? "price" : "title"],
            rows: RowRules(read: rule, write: .everyone))
    }

    private static var rule: RowRule {
        switch Contradiction.current {
        case .ruleWithoutField: .owner("owner")
        case .strangeMembers: .any([.not(.memberOf("goods", through: "id", members: "title"))])
        default: .everyone
        }
    }

    private static var price: Operation {
        let now = Contradiction.current
        let path: PathTemplate =
            switch now {
            case .requiredNowhere: "/prices"
            default: "/prices/{id}"
            }
        return Operation(
            "price", summary: "What something costs.",
            effect: now == .writesByGet || now == .keepsWrites ? .writes : .reads, input: Shop.price.input,
            output: now == .sameTypeName
                ? .list(
                    of: .object(
                        ObjectShape("Price", members: [Member("p", .object(ObjectShape("Price", members: [])))])))
                : Shop.price.output,
            caching: now == .keepsWrites ? .untilRecordsChange : .noStore,
            audience: now == .operatorsByPath ? .operators : .callers, bindings: [HTTPBinding(.get, path)])
    }

    private static var again: Operation {
        Operation(
            "again", summary: "The same.", effect: .reads, input: Shop.price.input, output: Shop.price.output,
            bindings: Shop.price.bindings)
    }
}
