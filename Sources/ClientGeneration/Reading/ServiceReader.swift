import ValueTree

/// Reads a service out of the gateway's description of itself (OpenAPI 3.1), which is written from the adapters'
/// declarations, plugins' included.
public struct ServiceReader {
    private let document: WireValue
    private let service: String
    private var types: TypeReader
    private var leftOut: [String] = []

    public struct UnknownService: Error, Equatable {
        public let name: String
        public let known: [String]
    }

    /// - Throws: ``UnknownService`` where the description has no operation of it.
    public static func read(_ service: String, from document: WireValue) throws(UnknownService) -> ServiceModel {
        let known = Set(DescribedOperation.all(in: document).map(\.service)).sorted()
        guard known.contains(service) else { throw UnknownService(name: service, known: known) }
        var reader = ServiceReader(document: document, service: service, types: TypeReader(document: document))
        return reader.model()
    }

    private init(document: WireValue, service: String, types: TypeReader) {
        self.document = document
        self.service = service
        self.types = types
    }

    private mutating func model() -> ServiceModel {
        let operations = chosen().compactMap { operation($0) }
        return ServiceModel(
            name: service, types: types.types.sorted { $0.name < $1.name },
            operations: operations.sorted { $0.name < $1.name }, leftOut: leftOut.sorted())
    }

    /// Of an operation with several paths the shortest: the others are for clients that know them.
    private func chosen() -> [DescribedOperation] {
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
