/// Namespace names of version 2's documents ([MS-ODATA], section 2.2.6; SAP's annotations for OData 2.0).
public enum Version2Namespace {
    public static let edmx = "http://schemas.microsoft.com/ado/2007/06/edmx"
    public static let edm = "http://schemas.microsoft.com/ado/2008/09/edm"
    public static let metadata = CSDLNamespace.metadata2
    public static let data = "http://schemas.microsoft.com/ado/2007/08/dataservices"
    public static let sap = "http://www.sap.com/Protocols/SAPData"
}

extension EntityDataModel {
    /// The model as an EDMX document of version 1.0, which is what version 2's `$metadata` is: from a model of any
    /// version. What version 2 has no word for is written as the nearest it has (``Version2Shape``) or left out: singletons,
    /// operations bound to entities, overloads but the first, streams of a property.
    public var version2Document: [UInt8] { version2Document(closed: []) }

    /// `closed`: the sets that no caller may write, whatever the model says of them.
    public func version2Document(closed: Set<String>) -> [UInt8] {
        let associations = Version2Associations(self)
        var output = XMLOutput(capacity: 32_768)
        output.begin(
            "edmx:Edmx",
            [
                ("Version", "1.0"), ("xmlns:edmx", Version2Namespace.edmx), ("xmlns:m", Version2Namespace.metadata),
                ("xmlns:sap", Version2Namespace.sap),
            ])
        output.begin("edmx:DataServices", [("m:DataServiceVersion", "2.0")])
        for namespace in namespaces {
            Version2SchemaWriter(model: self, associations: associations, namespace: namespace, closed: closed)
                .write(to: &output)
        }
        output.end()
        output.end()
        return output.bytes
    }

    /// Entity types and complex types of a schema, in the order of the document.
    func structuredTypes(in namespace: String) -> [StructuredType] {
        let schemas = document.first("DataServices")?.all("Schema") ?? []
        return schemas.filter { $0["Namespace"] == namespace }.flatMap(\.children)
            .filter { $0.name == "EntityType" || $0.name == "ComplexType" }
            .compactMap { $0["Name"].flatMap { structured(QualifiedName(namespace, $0)) } }
    }
}

/// One schema: its types, associations, and the container where it is the container's.
struct Version2SchemaWriter {
    let model: EntityDataModel
    let associations: Version2Associations
    let namespace: String
    let closed: Set<String>

    func write(to output: inout XMLOutput) {
        output.begin(
            "Schema",
            [
                ("Namespace", namespace), ("xmlns", Version2Namespace.edm), ("xml:lang", "en"),
                ("sap:schema-version", "1"),
            ])
        let types = Version2TypeWriter(model: model, associations: associations)
        let structured = model.structuredTypes(in: namespace)
        for type in structured where type.isEntity { types.write(type, to: &output) }
        for type in structured where !type.isEntity { types.write(type, to: &output) }
        for association in associations.all where association.name.namespace == namespace {
            association.write(to: &output)
        }
        if model.container.name.namespace == namespace {
            Version2ContainerWriter(model: model, associations: associations, closed: closed).write(to: &output)
        }
        output.end()
    }
}

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

/// Facets that narrow a simple type.
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
    /// The label that people see beside a value.
    var label: String? {
        self[SAPTerm.label]?.stringValue ?? self[CoreTerm.description]?.stringValue
    }
}

/// Sets, association sets and function imports of an EDMX document.
struct Version2ContainerWriter {
    let model: EntityDataModel
    let associations: Version2Associations
    let closed: Set<String>
    private var container: EntityContainer { model.container }

    func write(to output: inout XMLOutput) {
        output.begin("EntityContainer", [("Name", container.name.name), ("m:IsDefaultEntityContainer", "true")])
        for set in container.entitySets { write(set, to: &output) }
        for pair in associations.sets { write(pair, to: &output) }
        for item in container.functionImports { write(item, method: "GET", to: &output) }
        for item in container.actionImports { write(item, method: "POST", to: &output) }
        output.end()
    }

    private func write(_ set: EntitySet, to output: inout XMLOutput) {
        output.begin("EntitySet", [("Name", set.name), ("EntityType", set.type.description)])
        for (attribute, term, property) in [
            ("sap:creatable", CoreTerm.insertRestrictions, "Insertable"),
            ("sap:updatable", CoreTerm.updateRestrictions, "Updatable"),
            ("sap:deletable", CoreTerm.deleteRestrictions, "Deletable"),
        ] where closed.contains(set.name) || set.annotations[term]?[property]?.boolValue == false {
            output.attribute(attribute, "false")
        }
        let restrictions = SetRestrictions(set.annotations)
        if !restrictions.isSearchable { output.attribute("sap:searchable", "false") }
        if !restrictions.isCountable { output.attribute("sap:countable", "false") }
        if restrictions.needsFilter { output.attribute("sap:requires-filter", "true") }
        output.attribute("sap:content-version", "1")
        if let label = set.annotations.label { output.attribute("sap:label", label) }
        output.end()
    }

    private func write(_ pair: Version2Associations.SetPair, to output: inout XMLOutput) {
        output.begin(
            "AssociationSet",
            [
                ("Name", pair.name), ("Association", pair.association.name.description),
                ("sap:content-version", "1"),
            ])
        output.element("End", [("EntitySet", pair.from), ("Role", pair.association.fromRole)])
        output.element("End", [("EntitySet", pair.to), ("Role", pair.association.toRole)])
        output.end()
    }

    /// With the parameters of all overloads of which version 2 can tell every parameter and the result. It has no overloads:
    /// a parameter that one of them does without may be left out.
    private func write(_ item: OperationImport, method: String, to output: inout XMLOutput) {
        let overloads = (model.operations[item.operation] ?? []).filter { !$0.isBound }
        let tellable = overloads.filter(isTellable)
        guard let operation = tellable.first else { return }
        let alike = tellable.filter { $0.result == operation.result }
        output.begin("FunctionImport", [("Name", item.name)])
        if let result = operation.result, let name = resultName(result) { output.attribute("ReturnType", name) }
        if let set = item.entitySet { output.attribute("EntitySet", set) }
        output.attribute("m:HttpMethod", method)
        var written: Set<String> = []
        for parameter in alike.flatMap(\.parameters) where written.insert(parameter.name).inserted {
            let isInAll = alike.allSatisfy { $0.parameters.contains { $0.name == parameter.name } }
            write(parameter, isOptional: parameter.isOptional || !isInAll, to: &output)
        }
        output.end()
    }

    private func write(
        _ parameter: SchemaOperation.Parameter, isOptional: Bool, to output: inout XMLOutput
    ) {
        guard case .simple(let type) = model.version2Shape(of: parameter.type) else { return }
        output.begin("Parameter", [("Name", parameter.name), ("Type", type.description), ("Mode", "In")])
        if isOptional || parameter.type.isNullable { output.attribute("Nullable", "true") }
        Version2Facets(parameter.type, model).write(as: type, to: &output)
        output.end()
    }

    private func isTellable(_ operation: SchemaOperation) -> Bool {
        let parameters = operation.parameters.allSatisfy { parameter in
            if case .simple = model.version2Shape(of: parameter.type) { true } else { false }
        }
        return parameters && (operation.result.map { resultName($0) != nil } ?? true)
    }

    private func resultName(_ type: TypeReference) -> String? {
        let single: String
        if case .entity(let name) = type.type {
            single = name.description
        } else {
            let shape = model.version2Shape(of: type.item)
            guard shape != .document else { return nil }
            single = shape.typeName
        }
        return type.isCollection ? "Collection(\(single))" : single
    }
}
