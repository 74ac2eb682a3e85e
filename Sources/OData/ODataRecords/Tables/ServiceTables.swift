import AdapterKit
import ODataModel

/// How all entities of one service are kept. A class, because it is handed on with each request.
public final class ServiceTables: Sendable {
    /// The service's name in paths, which begins the names of its entities.
    public let service: String
    public let model: EntityDataModel
    /// By set's or singleton's name.
    public let tables: [String: RecordTable]
    /// Sets and singletons in the document's order.
    public let sources: [String]
    /// Entities that keep which records belong together.
    public let links: [LinkTable]

    public subscript(source: some StringProtocol) -> RecordTable? { tables[String(source)] }

    /// Throws ``CSDLProblem`` where something of the model cannot be kept.
    public init(service: String, model: EntityDataModel) throws(CSDLProblem) {
        var builder = TableBuilder(service: service, model: model)
        let container = model.container
        for set in container.entitySets { try builder.add(set.name, type: set.type, isSingleton: false) }
        for singleton in container.singletons {
            try builder.add(singleton.name, type: singleton.type, isSingleton: true)
        }
        let relations = try RelationBuilder(builder: builder).relations()
        self.service = service
        self.model = model
        sources = container.entitySets.map(\.name) + container.singletons.map(\.name)
        tables = builder.tables.mapValues { $0.table(relations: relations.bySource[$0.source] ?? [:]) }
        links = relations.links
    }
}

/// Pairs of records that a navigation property without a referential constraint joins.
public struct LinkTable: Sendable, Hashable {
    public static let near: FieldName = "fromKey"
    public static let far: FieldName = "toKey"
    /// Both keys, so that a pair is there once: each one's length in bytes, a colon, and the key.
    public static let key: FieldName = "pair"

    public let entity: EntityName
    public let source: String
    public let target: String

    /// The key of a pair's record.
    public static func pair(_ near: RecordID, _ far: RecordID) -> String {
        "\(near.text.utf8.count):\(near.text)\(far.text)"
    }

    /// The keys of a pair, by its record's; nil for what is none.
    public static func keys(of pair: RecordID) -> (near: RecordID, far: RecordID)? {
        let parts = pair.text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1)
        guard parts.count == 2, let count = Int(Substring(parts[0])), count > 0, parts[1].count > count else {
            return nil
        }
        let near = RecordID(String(Substring(parts[1].prefix(count))))
        let far = RecordID(String(Substring(parts[1].dropFirst(count))))
        return near.flatMap { near in far.map { (near, $0) } }
    }
}
