import ValueTree

/// A complex value or an entity, as a Swift structure. `porticoctl client generate` writes them.
///
/// Every property is optional: a query may leave it out, and a new entity gets some of its values from the server.
public protocol ODataStructure: Sendable, Equatable {
    /// The fields that queries name.
    associatedtype Fields: ODataFields
    /// The type's name in the service's model, with its namespace.
    static var odataType: String { get }
    /// - Throws: ``ClientError/unreadableAnswer(_:)``.
    init(_ row: ODataRow) throws
    /// Writes every member.
    func write(to row: inout ODataRowWriter)
}

/// An entity.
public protocol ODataEntity: ODataStructure {
    /// The key's properties, in the model's order.
    static var odataKeys: [String] { get }
    /// The server's data of the entity beside its properties.
    var odata: ODataControl { get set }
}

/// The properties of a type, for writing queries.
public protocol ODataFields: Sendable {
    /// The fields below that path.
    init(_ path: ODataPath)
}

/// Data that a server sends of an entity beside its properties.
public struct ODataControl: Sendable, Equatable {
    /// The ETag of the state that was read: an update or a deletion with it fails where the entity has changed since.
    public var etag: String?
    /// The entity's own type, where it may be another one than the set's.
    public var type: String?
    /// Entities of each expanded collection in all, where they were counted.
    public var counts: [String: Int64] = [:]
    /// Where the rest of an expanded collection is, by its property.
    public var nextLinks: [String: String] = [:]

    /// Nothing is known of the entity yet.
    public init() {}
}

extension ODataEntity {
    /// The key as it is written in addresses.
    ///
    /// - Throws: ``ClientError/notSupported(_:)`` where a part of it is not there.
    public func odataKey() throws(ClientError) -> ODataKey {
        var row = ODataRowWriter(version: .v4)
        write(to: &row)
        var parts: [(String, ODataLiteral)] = []
        for name in Self.odataKeys {
            guard let literal = row.literals[name] else {
                throw .notSupported("\(Self.odataType) without its key property \(name)")
            }
            parts.append((name, literal))
        }
        return ODataKey(parts)
    }
}

/// Names one entity of a set.
public struct ODataKey: Sendable {
    private let parts: [(name: String, literal: ODataLiteral)]

    init(_ parts: [(String, ODataLiteral)]) {
        self.parts = parts.map { (name: $0.0, literal: $0.1) }
    }

    /// A key of one part.
    public init(_ value: some ODataPrimitive) {
        parts = [(name: "", literal: value.literal)]
    }

    /// A key of several parts, by their properties' names.
    public init(_ values: KeyValuePairs<String, any ODataPrimitive>) {
        parts = values.map { (name: $0.key, literal: $0.value.literal) }
    }

    func text(_ version: ODataVersion) -> String {
        if parts.count == 1 { return "(\(parts[0].literal.text(version)))" }
        return "(" + parts.map { "\($0.name)=\($0.literal.text(version))" }.joined(separator: ",") + ")"
    }
}
