import AdapterKit
import ValueTree

/// Where an entity's records are, and how one leads to another: what the pages of its records share.
struct RecordAddresses: Sendable {
    let declaration: AdapterDeclaration
    let entity: Entity

    var collection: String { Self.path(declaration, entity.name) }

    func record(_ id: String) -> String { "\(collection)/\(PercentEncoding.encode(id))" }

    /// The record that a field refers to; nil where it refers to none that is served.
    func reference(_ field: FieldName, _ value: WireValue) -> String? {
        guard let reference = entity.references.first(where: { $0.field == field }),
            declaration.entities.contains(where: { $0.name == reference.entity && $0.exposure == .resource })
        else { return nil }
        let id: String
        switch value {
        case .string(let text): id = text
        case .int64(let number): id = String(number)
        default: return nil
        }
        return "\(Self.path(declaration, reference.entity))/\(PercentEncoding.encode(id))"
    }

    private static func path(_ declaration: AdapterDeclaration, _ entity: EntityName) -> String {
        "/api/v1/\(declaration.name)/\(entity)"
    }
}
