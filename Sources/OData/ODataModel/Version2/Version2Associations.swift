/// The associations that version 2 wants for navigation properties: one for each pair of partners, and one for each
/// property that has none.
struct Version2Associations {
    struct Association {
        let name: QualifiedName
        /// The type that declares the navigation property that the association is named after.
        let source: QualifiedName
        let navigation: NavigationProperty
        let partner: NavigationProperty?

        var fromRole: String { "FromRole_\(name.name)" }
        var toRole: String { "ToRole_\(name.name)" }
    }

    /// A navigation property's association, and whether it leads along it or back.
    struct Direction {
        let association: Association
        let isForward: Bool

        var from: String { isForward ? association.fromRole : association.toRole }
        var to: String { isForward ? association.toRole : association.fromRole }
    }

    /// A set of the container whose entities the association joins with another's.
    struct SetPair {
        let name: String
        let association: Association
        let from: String
        let to: String
    }

    private(set) var all: [Association] = []
    private(set) var sets: [SetPair] = []
    /// By declaring type and property: `N.School/Students`.
    private var directions: [String: Direction] = [:]

    init(_ model: EntityDataModel) {
        let types = model.namespaces.flatMap { model.structuredTypes(in: $0) }.filter(\.isEntity)
        for type in types {
            for navigation in type.navigation where navigation.declaredBy == type.name {
                add(navigation, of: type, model)
            }
        }
        for set in model.container.entitySets { addSets(of: set, model) }
    }

    func direction(_ navigation: NavigationProperty) -> Direction? {
        directions[Self.key(navigation.declaredBy, navigation.name)]
    }

    private mutating func add(_ navigation: NavigationProperty, of type: StructuredType, _ model: EntityDataModel) {
        guard directions[Self.key(type.name, navigation.name)] == nil else { return }
        let partner = navigation.partner.flatMap { model.structured(navigation.target)?.navigation($0) }
        let isOwn = partner.map { $0.declaredBy == type.name && $0.name == navigation.name } ?? false
        let association = Association(
            name: QualifiedName(type.name.namespace, "\(type.name.name)_\(navigation.name)"), source: type.name,
            navigation: navigation, partner: isOwn ? nil : partner)
        all.append(association)
        directions[Self.key(type.name, navigation.name)] = Direction(association: association, isForward: true)
        if let partner = association.partner {
            directions[Self.key(partner.declaredBy, partner.name)] = Direction(
                association: association, isForward: false)
        }
    }

    private mutating func addSets(of set: EntitySet, _ model: EntityDataModel) {
        for navigation in model.structured(set.type)?.navigation ?? [] {
            guard let direction = direction(navigation),
                let target = model.target(of: navigation.name, from: set.name), model.container.entitySet(target) != nil
            else { continue }
            let (from, to) = direction.isForward ? (set.name, target) : (target, set.name)
            let association = direction.association
            let isKnown = sets.contains { $0.association.name == association.name && $0.from == from && $0.to == to }
            guard !isKnown else { continue }
            sets.append(
                SetPair(name: "\(set.name)_\(navigation.name)", association: association, from: from, to: to))
        }
    }

    private static func key(_ type: QualifiedName, _ navigation: String) -> String { "\(type)/\(navigation)" }
}

extension Version2Associations.Association {
    func write(to output: inout XMLOutput) {
        output.begin("Association", [("Name", name.name), ("sap:content-version", "1")])
        end(source, Self.multiplicity(partner), fromRole, partner: navigation, to: &output)
        end(navigation.target, Self.multiplicity(navigation), toRole, partner: partner, to: &output)
        if !navigation.constraints.isEmpty {
            constraint(navigation.constraints, principal: toRole, dependent: fromRole, to: &output)
        } else if let partner, !partner.constraints.isEmpty {
            constraint(partner.constraints, principal: fromRole, dependent: toRole, to: &output)
        }
        output.end()
    }

    /// The multiplicity of the end that the property leads to; without a property nothing is known of it, so it may be many.
    private static func multiplicity(_ navigation: NavigationProperty?) -> String {
        guard let navigation, !navigation.isCollection else { return "*" }
        return navigation.isNullable ? "0..1" : "1"
    }

    /// `partner` is the property that leads away from this end.
    private func end(
        _ type: QualifiedName, _ multiplicity: String, _ role: String, partner: NavigationProperty?,
        to output: inout XMLOutput
    ) {
        output.begin("End", [("Type", type.description), ("Multiplicity", multiplicity), ("Role", role)])
        if partner?.onDelete == .cascade { output.element("OnDelete", [("Action", "Cascade")]) }
        output.end()
    }

    private func constraint(
        _ constraints: [ReferentialConstraint], principal: String, dependent: String, to output: inout XMLOutput
    ) {
        output.begin("ReferentialConstraint")
        for (side, role, names) in [
            ("Principal", principal, constraints.map(\.referenced)),
            ("Dependent", dependent, constraints.map(\.property)),
        ] {
            output.begin(side, [("Role", role)])
            for name in names { output.element("PropertyRef", [("Name", name)]) }
            output.end()
        }
        output.end()
    }
}
