/// Entity types and complex types of an EDMX document.
struct Version2TypeWriter {
    let model: EntityDataModel
    let associations: Version2Associations

    func write(_ type: StructuredType, to output: inout XMLOutput) {
        output.begin(type.isEntity ? "EntityType" : "ComplexType", [("Name", type.name.name)])
        if let base = type.baseType { output.attribute("BaseType", base.description) }
        if type.isAbstract { output.attribute("Abstract", "true") }
        if type.isOpen { output.attribute("OpenType", "true") }
        if type.isEntity {
            let inherits = type.baseType.flatMap { model.structured($0) }?.hasStream ?? false
            if type.hasStream && !inherits { output.attribute("m:HasStream", "true") }
            output.attribute("sap:content-version", "1")
        }
        label(type.annotations, to: &output)
        key(type, to: &output)
        for property in type.properties where property.declaredBy == type.name {
            write(property, of: type, to: &output)
        }
        for navigation in type.navigation where navigation.declaredBy == type.name { write(navigation, to: &output) }
        output.end()
    }

    /// The type that declares it says it; those derived have it from there.
    private func key(_ type: StructuredType, to output: inout XMLOutput) {
        let inherited = type.baseType.flatMap { model.structured($0) }?.key ?? []
        guard !type.key.isEmpty, inherited.isEmpty else { return }
        output.begin("Key")
        for part in type.key { output.element("PropertyRef", [("Name", part.path.joined(separator: "/"))]) }
        output.end()
    }

    private func write(_ property: StructuralProperty, of type: StructuredType, to output: inout XMLOutput) {
        guard property.type.type != .primitive(.stream) else { return }
        let shape = model.version2Shape(of: property.type)
        output.begin("Property", [("Name", property.name), ("Type", shape.typeName)])
        let mustBe = !property.type.isNullable && !property.type.isCollection || type.isKey(property.name)
        if mustBe { output.attribute("Nullable", "false") }
        if case .simple(let simple) = shape {
            Version2Facets(property.type, model).write(as: simple, to: &output)
            if let text = property.defaultValue, !simple.isTemporal { output.attribute("DefaultValue", text) }
        }
        SAPAttributesWriter(model: model, type: type).write(property, shape, to: &output)
        output.end()
    }

    private func write(_ navigation: NavigationProperty, to output: inout XMLOutput) {
        guard let direction = associations.direction(navigation) else { return }
        output.element(
            "NavigationProperty",
            [
                ("Name", navigation.name), ("Relationship", direction.association.name.description),
                ("FromRole", direction.from), ("ToRole", direction.to),
            ])
    }

    private func label(_ annotations: Annotations, to output: inout XMLOutput) {
        if let label = annotations.label { output.attribute("sap:label", label) }
    }
}

/// What narrows a simple type.
struct Version2Facets {
    private let facets: Facets

    init(_ type: TypeReference, _ model: EntityDataModel) {
        switch type.type {
        case .enumeration: facets = Facets()
        case .definition(let name):
            var facets = type.facets
            let outer = model.definition(name)?.facets
            facets.maximumLength = facets.maximumLength ?? outer?.maximumLength
            facets.precision = facets.precision ?? outer?.precision
            facets.scale = facets.scale ?? outer?.scale
            self.facets = facets
        default: facets = type.facets
        }
    }

    func write(as type: Version2Type, to output: inout XMLOutput) {
        if type == .string || type == .binary, let length = facets.maximumLength {
            output.attribute("MaxLength", String(length))
        }
        guard type == .decimal || type.isTemporal else { return }
        if let precision = facets.precision { output.attribute("Precision", String(precision)) }
        if type == .decimal, case .digits(let scale)? = facets.scale { output.attribute("Scale", String(scale)) }
    }
}

extension Version2Type {
    var isTemporal: Bool { self == .dateTime || self == .dateTimeOffset || self == .time }
}

extension Annotations {
    /// What people see beside a value.
    var label: String? {
        self[SAPTerm.label]?.stringValue ?? self[CoreTerm.description]?.stringValue
    }
}
