/// A model in several documents, gathered into one: `edmx:Reference` leads from each to those whose schemas it uses (CSDL 4.01,
/// section 3.2).
public struct ReferencedSchemas: Sendable {
    /// Documents that are read at most.
    public static let mostDocuments = 50

    /// Vocabularies, which say nothing that a service needs to be served.
    private static let vocabularies = ["Org.OData.", "com.sap.vocabularies.", "Org.odata."]

    /// With the schemas of all documents so far.
    public private(set) var document: CSDLElement
    /// Whether the first document alone is the model.
    public private(set) var isWhole = true
    private let resolve: @Sendable (_ reference: String, _ document: String) -> String
    /// Addresses of documents that are still to be read.
    private var pending: [String] = []
    /// The namespaces of all documents.
    private var known: Set<String>

    /// `address`: where the document is; `resolve`: the address that a reference within the document at another means. Throws
    /// ``CSDLProblem`` for what is no CSDL.
    public init(
        csdl bytes: [UInt8], at address: String,
        resolve: @escaping @Sendable (_ reference: String, _ document: String) -> String
    ) throws(CSDLProblem) {
        self.resolve = resolve
        known = [address]
        document = try Self.read(bytes)
        note(document, at: address)
    }

    /// The address of the next document; nil: there is none, or there were too many.
    public var next: String? { known.count <= Self.mostDocuments ? pending.first : nil }

    /// Leaves the document of ``next`` out.
    public mutating func leaveOut() {
        if !pending.isEmpty { pending.removeFirst() }
    }

    /// Takes the document of ``next``. Throws ``CSDLProblem`` for what is no CSDL, which is left out.
    public mutating func receive(_ bytes: [UInt8]) throws(CSDLProblem) {
        guard let address = pending.first else { return }
        leaveOut()
        let other = try Self.read(bytes)
        let present = Set(document.schemas.compactMap { $0["Namespace"] })
        let schemas = other.schemas.filter { !present.contains($0["Namespace"] ?? "") }
        guard !schemas.isEmpty else { return }
        isWhole = false
        let references = other.all("Reference").filter { !document.children.contains($0) }
        document.children.insert(contentsOf: references, at: 0)
        document.children = document.children.map { child in
            guard child.name == "DataServices" else { return child }
            var services = child
            // A container of another document is another service's.
            services.children += schemas.map { schema in
                var schema = schema
                schema.children.removeAll { $0.name == "EntityContainer" }
                return schema
            }
            return services
        }
        note(other, at: address)
    }

    private mutating func note(_ document: CSDLElement, at address: String) {
        for reference in document.all("Reference") {
            let namespaces = reference.all("Include").compactMap { $0["Namespace"] }
            guard let uri = reference["Uri"], !namespaces.isEmpty,
                !namespaces.allSatisfy({ name in Self.vocabularies.contains { name.hasPrefix($0) } })
            else { continue }
            let place = resolve(uri, address)
            if known.insert(place).inserted { pending.append(place) }
        }
    }

    private static func read(_ bytes: [UInt8]) throws(CSDLProblem) -> CSDLElement {
        let document = try CSDLElement(csdl: bytes)
        guard document.name == "Edmx" else {
            throw CSDLProblem("This is no CSDL document, but `\(document.name)`.", line: document.line)
        }
        return document
    }
}

extension CSDLElement {
    fileprivate var schemas: [CSDLElement] { first("DataServices")?.all("Schema") ?? [] }
}
