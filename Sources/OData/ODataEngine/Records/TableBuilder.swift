import AdapterKit
import ODataModel

/// Makes the tables of sets, without their relations.
struct TableBuilder {
    let service: String
    let model: EntityDataModel
    private(set) var tables: [String: Draft] = [:]

    init(service: String, model: EntityDataModel) {
        self.service = service
        self.model = model
    }

    struct Draft {
        let source: String
        let isSingleton: Bool
        let entity: EntityName
        let type: StructuredType
        let family: [QualifiedName]
        let columns: [String: RecordColumn]
        let key: RecordKey
        let keyField: FieldName
        let hasIntegerKey: Bool
        let streams: [String: StreamFields]
        let isOpen: Bool

        func table(relations: [String: RecordRelation]) -> RecordTable {
            RecordTable(
                source: source, isSingleton: isSingleton, entity: entity, type: type, family: family,
                keyField: keyField, key: key, hasIntegerKey: hasIntegerKey,
                discriminator: family.count > 1 ? HiddenField.type : nil,
                columns: columns, relations: relations, streams: streams,
                dynamicField: isOpen ? HiddenField.dynamic : nil)
        }
    }

    mutating func add(_ source: String, type name: QualifiedName, isSingleton: Bool) throws(CSDLProblem) {
        guard let type = model.structured(name) else { return }
        let family = model.family(of: name)
        let types = family.compactMap { model.structured($0) }
        var columns: [String: RecordColumn] = [:]
        var streams: [String: StreamFields] = [:]
        for property in types.flatMap(\.properties) where columns[property.name] == nil {
            let field = try Self.fieldName(property.name)
            if property.type.type == .primitive(.stream) {
                streams[property.name] = Self.stream(field.text)
            } else {
                columns[property.name] = RecordColumn(property: property.name, field: field, type: property.type)
            }
        }
        if types.contains(where: \.hasStream) { streams["$value"] = Self.stream("media") }
        let key = isSingleton ? RecordKey.fixed(source) : self.key(of: type)
        var keyField = HiddenField.key
        var hasIntegerKey = false
        if case .property(let property) = key, let column = columns[property] {
            keyField = column.field
            hasIntegerKey = model.primitive(behind: column.type.type)?.isInteger == true
        }
        tables[source] = Draft(
            source: source, isSingleton: isSingleton, entity: try entityName(source), type: type, family: family,
            columns: columns, key: key, keyField: keyField, hasIntegerKey: hasIntegerKey, streams: streams,
            isOpen: types.contains(where: \.isOpen))
    }

    /// A set's entity, or that of a navigation property's links: `{service}-{set}`, `{service}-{set}-{property}`.
    func entityName(_ parts: String...) throws(CSDLProblem) -> EntityName {
        let text = ([service] + parts).map(Self.plain).joined(separator: "-")
        guard let name = EntityName(text) else { throw CSDLProblem("\(text) is too long for a name.") }
        return name
    }

    private func key(of type: StructuredType) -> RecordKey {
        let names = type.key.map { $0.path.joined(separator: "/") }
        guard names.count == 1, type.key[0].path.count == 1, let property = type.property(names[0]) else {
            return .joined(names)
        }
        switch model.primitive(behind: property.type.type) {
        case .string, .guid, .byte, .sByte, .int16, .int32, .int64: return .property(names[0])
        default: return .joined(names)
        }
    }

    private static func stream(_ name: String) -> StreamFields {
        StreamFields(
            content: FieldName(unchecked: "\(name)_content"), mediaType: FieldName(unchecked: "\(name)_mediaType"))
    }

    private static func fieldName(_ property: String) throws(CSDLProblem) -> FieldName {
        let text = plain(property)
        guard let name = FieldName(text) ?? FieldName("p\(text)") else {
            throw CSDLProblem("\(property) is too long for a name.")
        }
        return name
    }

    /// OData's names may have letters of every script; records' names are ASCII.
    private static func plain(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
        return text.unicodeScalars.map { $0.isASCII ? String($0) : "_u" + String($0.value, radix: 16) }.joined()
    }
}

/// Fields that no property has: OData's names contain no double underscore at their end by convention of this mapping
/// alone, so a property of such a name is refused where the entity is declared twice.
enum HiddenField {
    static let key: FieldName = "key__"
    static let type: FieldName = "type__"
    static let dynamic: FieldName = "dynamic__"
}

/// Chooses how each navigation property is resolved: by its own or its partner's referential constraint, or by link
/// records.
struct RelationBuilder {
    private let builder: TableBuilder
    private var model: EntityDataModel { builder.model }

    init(builder: TableBuilder) {
        self.builder = builder
    }

    struct Relations {
        var bySource: [String: [String: RecordRelation]] = [:]
        var links: [LinkTable] = []
        var leftOut: [LeftOut] = []
    }

    func relations(leavesOut: Bool) throws(CSDLProblem) -> Relations {
        var relations = Relations()
        for source in builder.tables.values.sorted(by: { $0.source < $1.source }) {
            for navigation in source.family.compactMap({ model.structured($0) }).flatMap(\.navigation) {
                guard relations.bySource[source.source]?[navigation.name] == nil,
                    let target = target(of: navigation, from: source.source), let far = builder.tables[target]
                else { continue }
                do throws(CSDLProblem) {
                    relations.bySource[source.source, default: [:]][navigation.name] = try relation(
                        navigation, source, far, &relations.links)
                } catch {
                    guard leavesOut else { throw error }
                    relations.leftOut.append(LeftOut("\(source.source)/\(navigation.name)", error.message))
                }
            }
        }
        return relations
    }

    /// By the set's bindings, or else the only set of the target's type.
    private func target(of navigation: NavigationProperty, from source: String) -> String? {
        if let bound = model.target(of: navigation.name, from: source) { return bound }
        let candidates = model.container.entitySets.filter { $0.type == navigation.target }
        return candidates.count == 1 ? candidates[0].name : nil
    }

    private func relation(
        _ navigation: NavigationProperty, _ near: TableBuilder.Draft, _ far: TableBuilder.Draft,
        _ links: inout [LinkTable]
    ) throws(CSDLProblem) -> RecordRelation {
        if let pairs = pairs(navigation.constraints, near, far) {
            return .fields(target: far.source, pairs: pairs, isCollection: navigation.isCollection)
        }
        let partner = navigation.partner.flatMap { name in
            far.family.lazy.compactMap { self.model.structured($0)?.navigation(name) }.first
        }
        if let partner, let pairs = pairs(partner.constraints, far, near) {
            let turned = pairs.map { RecordRelation.Pair(near: $0.far, far: $0.near) }
            return .fields(target: far.source, pairs: turned, isCollection: navigation.isCollection)
        }
        // Partners without a constraint share the links of the one whose set and name come first.
        if let partner, (far.source, partner.name) < (near.source, navigation.name) {
            return .links(
                target: far.source, through: try builder.entityName(far.source, partner.name), near: LinkTable.far,
                far: LinkTable.near, isCollection: navigation.isCollection)
        }
        let through = try builder.entityName(near.source, navigation.name)
        links.append(LinkTable(entity: through, source: near.source, target: far.source))
        return .links(
            target: far.source, through: through, near: LinkTable.near, far: LinkTable.far,
            isCollection: navigation.isCollection)
    }

    /// Nil where there are no constraints, or one names what is no field.
    private func pairs(
        _ constraints: [ReferentialConstraint], _ near: TableBuilder.Draft, _ far: TableBuilder.Draft
    ) -> [RecordRelation.Pair]? {
        guard !constraints.isEmpty else { return nil }
        var pairs: [RecordRelation.Pair] = []
        for constraint in constraints {
            guard let own = near.columns[constraint.property], let other = far.columns[constraint.referenced] else {
                return nil
            }
            pairs.append(RecordRelation.Pair(near: own.field, far: other.field))
        }
        return pairs
    }
}
