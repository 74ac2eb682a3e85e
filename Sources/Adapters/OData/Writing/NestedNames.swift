import AdapterKit
import ODataLanguage
import ODataModel

/// What a deep insert has in it, as the `$expand` that its answer is told with: to the depth of the request at least
/// (Protocol 4.01, section 11.4.2.2).
struct NestedNames {
    private let text: String

    init(_ payload: EntityPayload, model: EntityDataModel) {
        text = Self.text(payload.nested, payload.type, model)
    }

    /// Nil where nothing is nested.
    var option: QueryOption? {
        text.isEmpty
            ? nil : (try? TargetReader.target("Entities?$expand=\(text)", limits: LanguageLimits()))?.options.first
    }

    private static func text(
        _ nested: [String: [WireValue]], _ type: StructuredType, _ model: EntityDataModel
    ) -> String {
        nested.keys.sorted().map { name in
            guard let target = type.navigation(name).flatMap({ model.structured($0.target) }) else { return name }
            let inner = text(members(of: nested[name] ?? [], target), target, model)
            return inner.isEmpty ? name : "\(name)($expand=\(inner))"
        }.joined(separator: ",")
    }

    private static func members(of items: [WireValue], _ type: StructuredType) -> [String: [WireValue]] {
        var members: [String: [WireValue]] = [:]
        for item in items {
            for member in item.dictionaryValue ?? [:] where type.navigation(member.key) != nil && !member.value.isNull {
                members[member.key, default: []] += member.value.arrayValue ?? [member.value]
            }
        }
        return members
    }
}
