import AdapterKit
import WireFormats

extension EntityDataModel {
    /// Reads a CSDL document: XML of version 4.0 or 4.01, JSON, or version 2's EDMX, told apart by how it begins. Throws
    /// ``CSDLProblem``.
    public convenience init(csdl bytes: [UInt8]) throws(CSDLProblem) {
        let isJSON = bytes.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) } == UInt8(ascii: "{")
        try self.init(document: isJSON ? CSDLElement(json: bytes) : CSDLElement(xml: bytes))
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
