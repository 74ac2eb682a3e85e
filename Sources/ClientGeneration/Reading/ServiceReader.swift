import ValueTree

/// Reads a service out of the gateway's description of itself (OpenAPI 3.1), which is written from the adapters'
/// declarations, plugins' included.
public struct ServiceReader {
    private let document: WireValue
    private let service: String
    private var types: OpenAPITypeReader
    private var leftOut: [String] = []

    public struct UnknownService: Error, Equatable {
        public let name: String
        public let known: [String]
    }

    /// - Throws: ``UnknownService`` where the description has no operation of it.
    public static func read(_ service: String, from document: WireValue) throws(UnknownService) -> ServiceModel {
        let known = Set(DescribedOperation.all(in: document).map(\.service)).sorted()
        guard known.contains(service) else { throw UnknownService(name: service, known: known) }
        var reader = ServiceReader(
            document: document, service: service, types: OpenAPITypeReader(document: document, service: service))
        return reader.model()
    }

    private init(document: WireValue, service: String, types: OpenAPITypeReader) {
        self.document = document
        self.service = service
        self.types = types
    }

    private mutating func model() -> ServiceModel {
        let operations = chosenOperations().compactMap { operation($0) }
        return ServiceModel(
            name: service, types: types.types.sorted { $0.name < $1.name },
            operations: operations.sorted { $0.name < $1.name }, leftOut: leftOut.sorted())
    }

    /// The shortest path of an operation with several: the others are for clients that know them.
    private func chosenOperations() -> [DescribedOperation] {
        let own = DescribedOperation.all(in: document).filter { $0.service == service }
        let byName = Dictionary(grouping: own, by: \.name)
        return byName.values.compactMap { same in
            same.min { ($0.path.utf8.count, $0.path) < ($1.path.utf8.count, $1.path) }
        }.sorted { $0.name < $1.name }
    }

    private mutating func operation(_ described: DescribedOperation) -> ServiceOperation? {
        guard let answer = described.answer, let path = described.pathParts else {
            leftOut.append(described.methodName)
            return nil
        }
        let parameters = described.parameters.map { parameter in
            OperationParameter(
                name: parameter.name, type: types.type(parameter.schema, suggestedName: parameter.name),
                isRequired: parameter.isRequired, isInPath: parameter.isInPath, summary: parameter.summary)
        }
        // The output first: where both are called the same, it keeps the plain name.
        let output = answer.schema.map {
            types.type($0, suggestedName: described.typeName("Answer"), entity: described.entity)
        }
        let input = described.bodySchema.map {
            types.type($0, suggestedName: described.typeName("Input"), entity: described.entity, isInput: true)
        }
        return ServiceOperation(
            name: described.methodName, summary: described.summary, method: described.method, path: path,
            parameters: parameters, input: input, output: output)
    }
}

/// One operation as the description has it, not taken apart yet.
struct DescribedOperation {
    struct Parameter {
        let name: String
        let schema: WireValue
        let isRequired: Bool
        let isInPath: Bool
        let summary: String
    }

    struct Answer {
        /// Nil: without a body.
        let schema: WireValue?
    }

    let service: String
    /// `notes.share`, `notes.notes.list`.
    let name: String
    let path: String
    let method: String
    private let value: WireValue

    static func all(in document: WireValue) -> [DescribedOperation] {
        (document["paths"]?.dictionaryValue?.entries ?? []).flatMap { path in
            (path.value.dictionaryValue?.entries ?? []).compactMap { method in
                guard let service = method.value["x-portico-adapter"]?.stringValue,
                    let name = method.value["x-portico-name"]?.stringValue
                else { return nil }
                return DescribedOperation(
                    service: service, name: name, path: path.key, method: method.key.uppercased(), value: method.value)
            }
        }
    }

    var summary: String { value["summary"]?.stringValue ?? "" }

    /// The entity whose records it is about; nil for an operation of the adapter's own.
    var entity: String? {
        let parts = path.split(separator: "/")
        guard parts.count >= 4, parts[0] == "api", parts[1] == "v1", parts[3] != "operations" else { return nil }
        return String(parts[3])
    }

    /// The operation's name in a program: `share`, `listNotes`, `readNote`.
    var methodName: String {
        let parts = name.split(separator: ".").map(String.init)
        guard entity != nil, parts.count == 3 else { return NameWords(parts.last ?? name).lowerCamel }
        let object = NameWords(parts[1])
        return parts[2] + (parts[2] == "list" ? object.upperCamel : object.singular.upperCamel)
    }

    func typeName(_ role: String) -> String { NameWords(methodName).upperCamel + role }

    var parameters: [Parameter] {
        (value["parameters"]?.arrayValue ?? []).compactMap { parameter in
            guard let name = parameter["name"]?.stringValue, let place = parameter["in"]?.stringValue,
                place == "path" || place == "query"
            else { return nil }
            return Parameter(
                name: name, schema: parameter["schema"] ?? [:], isRequired: parameter["required"]?.boolValue ?? false,
                isInPath: place == "path", summary: parameter["description"]?.stringValue ?? "")
        }
    }

    /// Nil where the path ends in what takes several segments.
    var pathParts: [ServiceOperation.PathPart]? {
        path.split(separator: "/", omittingEmptySubsequences: true).map { part in
            part.first == "{" && part.last == "}"
                ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }

    var bodySchema: WireValue? {
        value["requestBody"]?["content"]?["application/json"]?["schema"]
    }

    /// The answer of the first successful status; nil where that is no value.
    var answer: Answer? {
        let successes = (value["responses"]?.dictionaryValue?.entries ?? []).filter { $0.key.hasPrefix("2") }
        guard let first = successes.min(by: { $0.key < $1.key })?.value else { return nil }
        guard let content = first["content"] else { return Answer(schema: nil) }
        return content["application/json"]?["schema"].map { Answer(schema: $0) }
    }
}
