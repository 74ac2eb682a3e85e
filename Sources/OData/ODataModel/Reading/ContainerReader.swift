/// The entity container of a document.
struct ContainerReader {
    let types: TypeReader
    let operations: [QualifiedName: [SchemaOperation]]

    func container(_ element: CSDLElement, in namespace: String) throws(CSDLProblem) -> EntityContainer {
        let name = QualifiedName(namespace, try element.requiredName())
        var sets: [EntitySet] = []
        for set in element.all("EntitySet") { sets.append(try entitySet(set, of: name)) }
        var singletons: [Singleton] = []
        for singleton in element.all("Singleton") { singletons.append(try self.singleton(singleton, of: name)) }
        var functions: [OperationImport] = []
        for item in element.all("FunctionImport") { functions.append(try operationImport(item, "Function", of: name)) }
        var actions: [OperationImport] = []
        for item in element.all("ActionImport") { actions.append(try operationImport(item, "Action", of: name)) }
        let container = EntityContainer(
            name: name, entitySets: sets, singletons: singletons, functionImports: functions, actionImports: actions,
            annotations: try types.annotations.annotations(of: element, target: name.description))
        try check(container)
        return container
    }

    private func entitySet(_ element: CSDLElement, of container: QualifiedName) throws(CSDLProblem) -> EntitySet {
        let name = try element.requiredName()
        return EntitySet(
            name,
            type: try types.scope.structured(try element.required("EntityType"), .entity, line: element.line),
            includedInServiceDocument: try element.flag("IncludeInServiceDocument", true),
            bindings: try bindings(element),
            annotations: try types.annotations.annotations(of: element, target: "\(container)/\(name)"))
    }

    private func singleton(_ element: CSDLElement, of container: QualifiedName) throws(CSDLProblem) -> Singleton {
        let name = try element.requiredName()
        return Singleton(
            name, type: try types.scope.structured(try element.required("Type"), .entity, line: element.line),
            isNullable: try element.flag("Nullable"), bindings: try bindings(element),
            annotations: try types.annotations.annotations(of: element, target: "\(container)/\(name)"))
    }

    private func bindings(_ element: CSDLElement) throws(CSDLProblem) -> [NavigationBinding] {
        var bindings: [NavigationBinding] = []
        for binding in element.all("NavigationPropertyBinding") {
            let target = try binding.required("Target").split(separator: "/").last.map(String.init) ?? ""
            bindings.append(
                NavigationBinding(
                    path: try binding.required("Path").split(separator: "/").map(String.init), target: target))
        }
        return bindings
    }

    private func operationImport(
        _ element: CSDLElement, _ kind: String, of container: QualifiedName
    ) throws(CSDLProblem) -> OperationImport {
        let name = try element.requiredName()
        let operation = try types.scope.qualified(try element.required(kind), line: element.line)
        guard operations[operation]?.contains(where: { !$0.isBound }) == true else {
            throw CSDLProblem(
                "\(name) names \(operation), which is no unbound \(kind.lowercased()).", line: element.line)
        }
        return OperationImport(
            name, operation: operation, entitySet: element["EntitySet"],
            includedInServiceDocument: try element.flag("IncludeInServiceDocument"),
            annotations: try types.annotations.annotations(of: element, target: "\(container)/\(name)"))
    }

    private func check(_ container: EntityContainer) throws(CSDLProblem) {
        let names =
            container.entitySets.map(\.name) + container.singletons.map(\.name)
            + container.functionImports.map(\.name) + container.actionImports.map(\.name)
        guard Set(names).count == names.count else { throw CSDLProblem("Two children of the container have one name.") }
        let targets = Set(container.entitySets.map(\.name) + container.singletons.map(\.name))
        let bindings = container.entitySets.flatMap(\.bindings) + container.singletons.flatMap(\.bindings)
        if let stray = bindings.first(where: { !targets.contains($0.target) }) {
            throw CSDLProblem("A navigation property is bound to \(stray.target), which is not in the container.")
        }
    }
}
