import ODataModel

/// An OData service as Swift, from its `$metadata`: a structure with its sets, singletons and operations, and within it a
/// structure for each of its types.
public struct ODataServiceWriter {
    private let service: String
    private let model: EntityDataModel
    private let types: ODataTypes

    /// - Parameter service: the name in the service's address, such as `admissions`.
    public init(_ service: String, _ model: EntityDataModel) {
        (self.service, self.model) = (service, model)
        types = ODataTypes(model)
    }

    /// One file for the service, and one for each of its types.
    public var files: [SourceFile] {
        let structures = model.types.keys.sorted().compactMap { model.structured($0) }.map { type in
            (type: type, found: ODataMember.all(of: type, types))
        }
        let enumerations = model.types.keys.sorted().compactMap { model.enumeration($0) }
        return [serviceFile(leftOut: structures.flatMap(\.found.leftOut))]
            + structures.map { type, found in
                file(of: type.name) { page in
                    ODataStructureWriter(type: type, types: types, members: found.members).write(to: &page)
                }
            }
            + enumerations.map { type in
                file(of: type.name) { ODataEnumerationWriter(type: type, types: types).write(to: &$0) }
            }
    }

    private var name: String { NameWords(service).upperCamel + "Service" }

    private func serviceFile(leftOut: [String]) -> SourceFile {
        let operations = self.operations
        var page = page(leftOut: leftOut + operations.leftOut)
        page.block("public struct \(name): Sendable") { page in
            writeService(&page)
            for method in operations.methods {
                page.line()
                page.block(method.head) { $0.line(method.body) }
            }
        }
        return SourceFile(name: "\(name).swift", text: page.text)
    }

    private func file(of type: QualifiedName, _ content: (inout IndentedSource) -> Void) -> SourceFile {
        var page = page(leftOut: [])
        page.block("extension \(name)", content)
        return SourceFile(name: "\(name)+\(types.name(type)).swift", text: page.text)
    }

    private func page(leftOut: [String]) -> IndentedSource {
        var page = IndentedSource()
        page.comment("swift-format-ignore-file", "//")
        page.comment(origin(leftOut: leftOut), "//")
        for module in ["Client", "Foundation"] { page.line("import \(module)") }
        page.line()
        return page
    }

    private func writeService(_ page: inout IndentedSource) {
        page.line("public let connection: ODataConnection")
        page.line()
        let root = "[\"odata\", \"v4\", \(SwiftName.literal(service))]"
        let parameters = "_ carrier: any ODataCarrier, at root: [String] = \(root), version: ODataVersion = .v4"
        page.block("public init(\(parameters))") {
            $0.line("connection = ODataConnection(carrier, root: root, version: version)")
        }
        page.line()
        for set in model.container.entitySets {
            page.line(place(set.name, "ODataSet", set.type))
        }
        for one in model.container.singletons {
            page.line(place(one.name, "ODataSingleton", one.type))
        }
    }

    private func place(_ name: String, _ kind: String, _ type: QualifiedName) -> String {
        let made = "\(kind)(connection, \(SwiftName.literal(name)))"
        return "public var \(SwiftName.member(name)): \(kind)<\(types.name(type))> { \(made) }"
    }

    private var operations: (methods: [(head: String, body: String)], leftOut: [String]) {
        let writer = ODataOperationWriter(types: types)
        var (methods, leftOut): ([(head: String, body: String)], [String]) = ([], [])
        func add(_ operation: SchemaOperation, _ name: String) {
            guard let method = writer.method(operation, calledBy: name),
                !methods.contains(where: { $0.head == method.head })
            else { return leftOut.append(operation.name.name) }
            methods.append(method)
        }
        for one in model.container.functionImports + model.container.actionImports {
            for operation in model.operations[one.operation] ?? [] where !operation.isBound { add(operation, one.name) }
        }
        for name in model.operations.keys.sorted() {
            for operation in model.operations[name] ?? [] where operation.isBound {
                add(operation, operation.name.name)
            }
        }
        return (methods, leftOut)
    }

    private func origin(leftOut: [String]) -> String {
        let note =
            "Written by `porticoctl client generate` from the model of \(service). Generate it anew, do not edit it."
        guard !leftOut.isEmpty else { return note }
        return note + "\nNot here, because the client has no types for it: \(leftOut.joined(separator: ", "))."
    }
}

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
