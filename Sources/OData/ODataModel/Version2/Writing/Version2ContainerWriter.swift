/// Sets, association sets and function imports of an EDMX document.
struct Version2ContainerWriter {
    let model: EntityDataModel
    let associations: Version2Associations
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
        ] where set.annotations[term]?[property]?.boolValue == false {
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
