import AdapterKit
import ODataModel

/// Decides how each navigation property is followed: by a referential constraint, its own or its partner's, or by links.
struct RelationBuilder {
    private let builder: TableBuilder
    private var model: EntityDataModel { builder.model }

    init(builder: TableBuilder) {
        self.builder = builder
    }

    struct Relations {
        var bySource: [String: [String: RecordRelation]] = [:]
        var links: [LinkTable] = []
    }

    func relations() throws(CSDLProblem) -> Relations {
        var relations = Relations()
        for source in builder.tables.values.sorted(by: { $0.source < $1.source }) {
            for navigation in source.family.compactMap({ model.structured($0) }).flatMap(\.navigation) {
                guard relations.bySource[source.source]?[navigation.name] == nil,
                    let target = target(of: navigation, from: source.source), let far = builder.tables[target]
                else { continue }
                relations.bySource[source.source, default: [:]][navigation.name] = try relation(
                    navigation, source, far, &relations.links)
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
