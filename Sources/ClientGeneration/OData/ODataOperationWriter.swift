import ODataModel

/// A function or an action as a method.
struct ODataOperationWriter {
    let types: ODataTypes

    /// Nil where the client has no types for what it takes or answers.
    func method(_ operation: SchemaOperation, calledBy name: String) -> (head: String, body: String)? {
        guard let call = start(operation, name), let result = result(operation.result) else { return nil }
        var (arguments, text) = (call.argument, call.text)
        for parameter in operation.callParameters {
            guard let type = parameterType(parameter, operation.kind) else { return nil }
            let member = SwiftName.member(parameter.name)
            let isOptional = parameter.isOptional && types.primitive(parameter.type) != nil
            arguments.append("\(member): \(type)" + (parameter.isOptional ? " = nil" : ""))
            text += ".with(\(isOptional ? "optional: " : "")\(SwiftName.literal(parameter.name)), \(member))"
        }
        let parameters = arguments.joined(separator: ", ")
        let head = "public func \(SwiftName.member(operation.name.name))(\(parameters)) async throws"
        return (head + result.type, "try await \(text).\(result.reading)()")
    }

    private func start(_ operation: SchemaOperation, _ name: String) -> (argument: [String], text: String)? {
        let kind = operation.kind == .function ? ".function" : ".action"
        guard let bound = operation.bindingParameter else {
            return ([], "connection.operation(\(kind), \(SwiftName.literal(name)))")
        }
        guard case .entity(let type) = bound.type.type, let set = set(of: type) else { return nil }
        let full = SwiftName.literal(operation.name.description)
        let entity = types.name(type)
        if bound.type.isCollection {
            return (["of set: ODataSet<\(entity)>"], "set.operation(\(kind), \(full))")
        }
        return (["on entity: \(entity)"], "\(SwiftName.member(set)).operation(\(kind), \(full), on: entity)")
    }

    private func set(of type: QualifiedName) -> String? {
        types.model.container.entitySets.first { $0.type == type }?.name
    }

    private func parameterType(_ parameter: SchemaOperation.Parameter, _ kind: SchemaOperation.Kind) -> String? {
        let isNullable = parameter.type.isNullable || parameter.isOptional
        if let type = types.primitive(parameter.type) {
            if parameter.type.isCollection { return kind == .action && !parameter.isOptional ? "[\(type)]" : nil }
            return type + (isNullable ? "?" : "")
        }
        guard kind == .action, !parameter.type.isCollection, let type = types.structure(parameter.type) else {
            return nil
        }
        return type + "?"
    }

    private func result(_ reference: TypeReference?) -> (type: String, reading: String)? {
        guard let reference else { return ("", "perform") }
        if let type = types.primitive(reference) {
            return reference.isCollection ? (" -> [\(type)]", "values") : (" -> \(type)?", "value")
        }
        guard let type = types.structure(reference) else { return nil }
        return reference.isCollection ? (" -> [\(type)]", "structures") : (" -> \(type)?", "structure")
    }
}
