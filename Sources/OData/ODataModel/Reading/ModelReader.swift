import AdapterKit
import WireFormats

extension EntityDataModel {
    /// Reads a CSDL document: XML of version 4.0 or 4.01, JSON, or version 2's EDMX, recognised by how it begins. Throws
    /// ``CSDLProblem``.
    public convenience init(csdl bytes: [UInt8]) throws(CSDLProblem) {
        try self.init(document: CSDLElement(csdl: bytes))
    }

    /// Throws ``CSDLProblem`` where a name stands for nothing or an element breaks a rule.
    public convenience init(document: CSDLElement) throws(CSDLProblem) {
        let document = try document.upgradedFromVersion2()
        guard document.name == "Edmx", document.namespace == CSDLNamespace.edmx else {
            throw CSDLProblem("This is no CSDL document of version 2, 4.0 or 4.01.", line: document.line)
        }
        let schemas = document.first("DataServices")?.all("Schema") ?? []
        guard !schemas.isEmpty else { throw CSDLProblem("The document has no schema.") }
        let scope = try NameScope(references: document.all("Reference"), schemas: schemas)
        let reader = TypeReader(scope: scope, annotations: try AnnotationReader(scope: scope, schemas: schemas))
        let structured = try Self.structuredTypes(schemas, reader)
        let operations = try Self.operations(schemas, reader)
        self.init(
            document: document, namespaces: scope.namespaces, aliases: scope.aliases,
            types: try Self.types(schemas, structured, reader), operations: operations,
            terms: Self.terms(schemas),
            container: try Self.container(schemas, ContainerReader(types: reader, operations: operations)),
            subtypes: Self.subtypes(structured))
    }

    private static func structuredTypes(
        _ schemas: [CSDLElement], _ reader: TypeReader
    ) throws(CSDLProblem) -> [StructuredType] {
        var types: [StructuredType] = []
        for schema in schemas {
            for element in schema.children where element.name == "EntityType" || element.name == "ComplexType" {
                types.append(try reader.structured(element, in: schema["Namespace"] ?? ""))
            }
        }
        let flattened = try Inheritance(types).flattened
        return types.compactMap { flattened[$0.name] }
    }

    private static func types(
        _ schemas: [CSDLElement], _ structured: [StructuredType], _ reader: TypeReader
    ) throws(CSDLProblem) -> [QualifiedName: SchemaType] {
        var types: [QualifiedName: SchemaType] = [:]
        for type in structured { types[type.name] = .structured(type) }
        for schema in schemas {
            let namespace = schema["Namespace"] ?? ""
            for element in schema.all("EnumType") {
                let type = try reader.enumeration(element, in: namespace)
                types[type.name] = .enumeration(type)
            }
            for element in schema.all("TypeDefinition") {
                let type = try reader.definition(element, in: namespace)
                types[type.name] = .definition(type)
            }
        }
        return types
    }

    private static func operations(
        _ schemas: [CSDLElement], _ reader: TypeReader
    ) throws(CSDLProblem) -> [QualifiedName: [SchemaOperation]] {
        let operations = OperationReader(types: reader)
        var overloads: [QualifiedName: [SchemaOperation]] = [:]
        for schema in schemas {
            for element in schema.children where element.name == "Function" || element.name == "Action" {
                let operation = try operations.operation(element, in: schema["Namespace"] ?? "")
                overloads[operation.name, default: []].append(operation)
            }
        }
        return overloads
    }

    private static func terms(_ schemas: [CSDLElement]) -> Set<QualifiedName> {
        Set(
            schemas.flatMap { schema in
                schema.all("Term").compactMap { QualifiedName("\(schema["Namespace"] ?? "").\($0["Name"] ?? "")") }
            })
    }

    private static func container(
        _ schemas: [CSDLElement], _ reader: ContainerReader
    ) throws(CSDLProblem) -> EntityContainer {
        let containers = schemas.flatMap { schema in
            schema.all("EntityContainer").map { (schema["Namespace"] ?? "", $0) }
        }
        guard containers.count == 1, let (namespace, element) = containers.first else {
            throw CSDLProblem(
                containers.isEmpty ? "The document has no entity container." : "There is more than one container.")
        }
        return try reader.container(element, in: namespace)
    }

    private static func subtypes(_ types: [StructuredType]) -> [QualifiedName: [QualifiedName]] {
        var subtypes: [QualifiedName: [QualifiedName]] = [:]
        for type in types {
            if let base = type.baseType { subtypes[base, default: []].append(type.name) }
        }
        return subtypes
    }
}

/// Flattens inheritance: each type gets the keys and properties of the types it derives from.
struct Inheritance {
    private let declared: [QualifiedName: StructuredType]
    private(set) var flattened: [QualifiedName: StructuredType] = [:]

    init(_ types: [StructuredType]) throws(CSDLProblem) {
        declared = Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for type in types { _ = try flatten(type, below: []) }
    }

    private mutating func flatten(
        _ type: StructuredType, below: Set<QualifiedName>
    ) throws(CSDLProblem) -> StructuredType {
        if let done = flattened[type.name] { return done }
        guard !below.contains(type.name) else { throw CSDLProblem("The type \(type.name) derives from itself.") }
        var base: StructuredType?
        if let name = type.baseType, let parent = declared[name] {
            base = try flatten(parent, below: below.union([type.name]))
        }
        let whole = type.inheriting(base)
        try whole.check()
        flattened[type.name] = whole
        return whole
    }
}

extension StructuredType {
    fileprivate func inheriting(_ base: StructuredType?) -> StructuredType {
        guard let base else { return self }
        return StructuredType(
            name: name, isEntity: isEntity, baseType: baseType, isAbstract: isAbstract, isOpen: isOpen || base.isOpen,
            hasStream: hasStream || base.hasStream, key: base.key.isEmpty ? key : base.key,
            properties: base.properties + properties, navigation: base.navigation + navigation,
            annotations: annotations)
    }

    fileprivate func check() throws(CSDLProblem) {
        var names: Set<String> = []
        for member in properties.map(\.name) + navigation.map(\.name) where !names.insert(member).inserted {
            throw CSDLProblem("\(name) has two properties \(member).")
        }
        for part in key where part.path.count == 1 {
            guard let property = property(part.path[0]) else {
                throw CSDLProblem("The key of \(name) names \(part.path[0]), which is no property of it.")
            }
            if case .primitive(let type) = property.type.type, !type.canBeKey || property.type.isCollection {
                throw CSDLProblem("\(name)/\(property.name) cannot be part of a key.")
            }
        }
        if let missing = navigation.lazy.flatMap(\.constraints).first(where: { self.property($0.property) == nil }) {
            throw CSDLProblem("A constraint of \(name) names \(missing.property), which is no property of it.")
        }
    }
}

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

/// Annotations of a document: those inside of elements, and those that `Annotations` elements aim at a target.
struct AnnotationReader {
    private let scope: NameScope
    /// By target path, the first part with its namespace.
    private var external: [String: [Annotations.Entry]] = [:]

    init(scope: NameScope, schemas: [CSDLElement]) throws(CSDLProblem) {
        self.scope = scope
        for group in schemas.flatMap({ $0.all("Annotations") }) {
            let target = scope.expanded(try group.required("Target"))
            external[target, default: []] += try entries(in: group, qualifier: group["Qualifier"])
        }
    }

    /// The annotations that the element has itself and those that others make about `target`.
    func annotations(of element: CSDLElement, target: String) throws(CSDLProblem) -> Annotations {
        Annotations(try entries(in: element, qualifier: nil) + (external[target] ?? []))
    }

    private func entries(in element: CSDLElement, qualifier: String?) throws(CSDLProblem) -> [Annotations.Entry] {
        var entries: [Annotations.Entry] = []
        for annotation in element.all("Annotation") {
            entries.append(
                Annotations.Entry(
                    term: scope.expanded(try annotation.required("Term")),
                    qualifier: annotation["Qualifier"] ?? qualifier,
                    value: value(of: annotation, tagging: true)))
        }
        return entries
    }

    /// An expression: as an attribute, as a child, or none, which for an annotation means that the term applies.
    private func value(of element: CSDLElement, tagging: Bool = false) -> AnnotationValue {
        for attribute in element.attributes {
            if let value = constant(attribute.name, attribute.value) { return value }
        }
        guard let child = element.children.first(where: { $0.name != "Annotation" }) else {
            return tagging ? .bool(true) : .null
        }
        return expression(child)
    }

    private func expression(_ element: CSDLElement) -> AnnotationValue {
        switch element.name {
        case "Collection":
            return .collection(element.children.filter { $0.name != "Annotation" }.map(expression))
        case "Record":
            return .record(
                element.all("PropertyValue").map { .init($0["Property"] ?? "", value(of: $0, tagging: true)) })
        case "Null": return .null
        default: return constant(element.name, element.text) ?? .expression(element.name)
        }
    }

    private func constant(_ kind: String, _ text: String) -> AnnotationValue? {
        switch kind {
        case "Bool": .bool(text == "true" || text == "1")
        case "Int": Int64(text).map(AnnotationValue.int) ?? .number(text)
        case "Float", "Decimal", "Date", "DateTimeOffset", "Duration", "TimeOfDay", "Guid", "Binary": .number(text)
        case "String": .string(text)
        case "EnumMember": .enumMember(text)
        case "Path", "PropertyPath", "NavigationPropertyPath", "AnnotationPath", "AnyPropertyPath",
            "ModelElementPath":
            .path(text)
        default: nil
        }
    }
}
