/// Functions and actions of a document.
struct OperationReader {
    let types: TypeReader

    func operation(_ element: CSDLElement, in namespace: String) throws(CSDLProblem) -> SchemaOperation {
        let name = QualifiedName(namespace, try element.requiredName())
        let isBound = try element.flag("IsBound")
        var parameters: [SchemaOperation.Parameter] = []
        for parameter in element.all("Parameter") { parameters.append(try self.parameter(parameter, of: name)) }
        guard !isBound || !parameters.isEmpty else {
            throw CSDLProblem("The bound operation \(name) has no parameter.", line: element.line)
        }
        return SchemaOperation(
            name: name, kind: element.name == "Function" ? .function : .action, isBound: isBound,
            isComposable: try element.flag("IsComposable"), parameters: parameters, result: try result(element),
            entitySetPath: (element["EntitySetPath"] ?? "").split(separator: "/").map(String.init),
            annotations: try types.annotations.annotations(of: element, target: name.description))
    }

    private func parameter(
        _ element: CSDLElement, of operation: QualifiedName
    ) throws(CSDLProblem) -> SchemaOperation.Parameter {
        let name = try element.requiredName()
        let annotations = try types.annotations.annotations(of: element, target: "\(operation)/\(name)")
        return SchemaOperation.Parameter(
            name, try types.reference(element), isOptional: annotations.isTagged(CoreTerm.optionalParameter))
    }

    private func result(_ element: CSDLElement) throws(CSDLProblem) -> TypeReference? {
        guard let result = element.first("ReturnType") else {
            guard element.name == "Action" else {
                throw CSDLProblem("A function answers something: it lacks ReturnType.", line: element.line)
            }
            return nil
        }
        return try types.reference(result)
    }
}
