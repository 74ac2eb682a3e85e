import Foundation
import GRDB
import ReplicaStorage
import SyncDevice
import SyncMessages
import ValueTree
import WireFormats

/// Which records of one collection, in which order. Answered by the device alone.
public struct RecordQuery: Sendable, Equatable {
    /// The collection that is queried.
    public var collection: String
    /// All of them must hold.
    public var conditions: [Condition]
    /// The first decides; equal ones are in the order of their ids, in the direction of the last: ascending where that is
    /// or where there is none, descending else. Ascending, null comes first, then numbers and dates, then text by its
    /// bytes.
    public var order: [Order]
    /// Nil: all.
    public var limit: Int?

    /// A query of one collection; conditions that are listed all have to hold.
    public init(_ collection: String, where conditions: [Condition] = [], order: [Order] = [], limit: Int? = nil) {
        self.collection = collection
        self.conditions = conditions
        self.order = order
        self.limit = limit
    }

    /// A comparison of one field; a field that is null or not there fulfils ``isNull(_:)`` and nothing else. Sealed fields
    /// are null for a query.
    public enum Condition: Sendable, Equatable {
        /// The record of that id.
        case id(String)
        /// The field has that value.
        case equals(String, WireValue)
        /// The field has another value.
        case differs(String, from: WireValue)
        /// The field's value is smaller.
        case isLess(String, than: WireValue)
        /// The field's value is that or smaller.
        case isAtMost(String, WireValue)
        /// The field's value is larger.
        case isGreater(String, than: WireValue)
        /// The field's value is that or larger.
        case isAtLeast(String, WireValue)
        /// Text, byte by byte.
        case startsWith(String, String)
        /// The field's text contains that text.
        case contains(String, String)
        /// The field has no value.
        case isNull(String)
        /// Records with edits that the server has not answered.
        case isWaiting
    }

    /// One criterion of the order.
    public struct Order: Sendable, Equatable {
        /// The field that is compared.
        public var field: String
        /// Whether the largest value comes first.
        public var isDescending: Bool

        /// The smallest value first.
        public static func ascending(_ field: String) -> Order { Order(field: field, isDescending: false) }
        /// The largest value first.
        public static func descending(_ field: String) -> Order { Order(field: field, isDescending: true) }
    }
}

/// A record as it is on this device: the server's, with what was done here laid over it.
public struct Record: Sendable, Equatable, Identifiable {
    /// The record's collection.
    public let collection: String
    /// The record's id.
    public let id: String
    /// The revision of the server's record; 0 where the server has none yet.
    public let revision: Int64
    /// The fields, as the app is to see them.
    public let fields: WireDictionary
    /// Whether there are edits of it that the server has not answered yet.
    public let isWaiting: Bool

    /// Creates a record from its parts.
    public init(collection: String, id: String, revision: Int64, fields: WireDictionary, isWaiting: Bool = false) {
        self.collection = collection
        self.id = id
        self.revision = revision
        self.fields = fields
        self.isWaiting = isWaiting
    }

    /// A field's value; nil where the record does not have it.
    public subscript(field: String) -> WireValue? { fields[field] }

    /// The fields as a type of the app's.
    ///
    /// - Throws: `DecodingError` where they do not fit.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try WireDecoder().decode(type, from: .dictionary(fields))
    }

    init(_ copy: RecordCopy, in collection: String) {
        self.init(collection: collection, id: copy.id, revision: copy.rev, fields: copy.fields)
    }
}

/// A query as SQL. Names of collections and fields stand in it as literals, because SQLite finds an index on an expression
/// only so; values are arguments.
struct QueryStatement {
    let sql: String
    let arguments: StatementArguments

    init(_ query: RecordQuery, selecting columns: String = "id, rev, waiting, fields, sealed") {
        var conditions = ["collection = \(query.collection.sqlText)"]
        var values: [any DatabaseValueConvertible] = []
        for condition in query.conditions { conditions.append(Self.sql(condition, &values)) }
        var sql = "SELECT \(columns) FROM records WHERE \(conditions.joined(separator: " AND "))"
        sql += " ORDER BY " + Self.order(query.order)
        if let limit = query.limit { sql += " LIMIT \(max(0, limit))" }
        self.sql = sql
        arguments = StatementArguments(values)
    }

    /// Ids go the way of the last field, so that an index on a field and the id gives both, forwards or backwards.
    private static func order(_ order: [RecordQuery.Order]) -> String {
        func term(_ sql: String, _ isDescending: Bool) -> String { sql + (isDescending ? " DESC" : "") }
        let terms = order.map { term(field($0.field), $0.isDescending) }
        return (terms + [term("id", order.last?.isDescending ?? false)]).joined(separator: ", ")
    }

    private static func field(_ name: String) -> String { "field(fields, \(name.sqlText))" }

    private static func sql(
        _ condition: RecordQuery.Condition, _ values: inout [any DatabaseValueConvertible]
    ) -> String {
        func compare(_ name: String, _ sign: String, _ value: WireValue) -> String {
            // Nothing compares with null, nor with a list.
            guard let value = value.comparable else { return "FALSE" }
            values.append(value)
            return "\(field(name)) \(sign) ?"
        }
        switch condition {
        case .id(let id):
            values.append(id)
            return "id = ?"
        case .equals(let name, let value): return compare(name, "=", value)
        case .differs(let name, let value): return compare(name, "<>", value)
        case .isLess(let name, let value): return compare(name, "<", value)
        case .isAtMost(let name, let value): return compare(name, "<=", value)
        case .isGreater(let name, let value): return compare(name, ">", value)
        case .isAtLeast(let name, let value): return compare(name, ">=", value)
        case .startsWith(let name, let text): return startsWith(field(name), text, &values)
        case .contains(let name, let text):
            values.append(text)
            return "instr(\(field(name)), ?) > 0"
        case .isNull(let name): return "\(field(name)) IS NULL"
        case .isWaiting: return "waiting"
        }
    }

    /// A range, which an index answers: from the text to the first that cannot start with it.
    private static func startsWith(
        _ field: String, _ text: String, _ values: inout [any DatabaseValueConvertible]
    ) -> String {
        values.append(text)
        // Above every text that starts so: U+10FFFF is the last scalar, and a text may hold several of it.
        values.append(text + "\u{10FFFF}\u{10FFFF}\u{10FFFF}\u{10FFFF}")
        return "\(field) >= ? AND \(field) <= ? AND typeof(\(field)) = 'text'"
    }
}

/// Queries of the app, answered beside whatever is written.
extension ReplicaDatabase {
    func records(_ query: RecordQuery) async throws -> [Record] {
        try await read { database in
            let statement = QueryStatement(query)
            let rows = try Row.fetchCursor(
                try database.cachedStatement(sql: statement.sql), arguments: statement.arguments)
            var found: [Record] = []
            while let row = try rows.next() { found.append(try self.record(row, in: query.collection)) }
            return found
        }
    }

    func count(_ query: RecordQuery) async throws -> Int {
        try await read { database in
            let inner = QueryStatement(query, selecting: "id")
            let sql = "SELECT count(*) FROM (\(inner.sql))"
            return try Int.fetchOne(database, sql: sql, arguments: inner.arguments) ?? 0
        }
    }

    private func record(_ row: Row, in collection: String) throws -> Record {
        let key = RecordKey(collection, row["id"])
        let columns = RowCoding.Columns(row)
        return Record(
            collection: collection, id: key.id, revision: row["rev"], fields: try coding.fields(columns, of: key),
            isWaiting: row["waiting"])
    }

    func read<Result: Sendable>(_ work: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        do {
            return try await pool.read(work)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ClientError.storage("\(error)")
        }
    }
}

/// Values that services keep beside the records: one under each name, sealed where there is a cipher.
extension ReplicaDatabase {
    func keptValue(_ name: String) async throws -> WireValue? {
        do {
            return try await pool.read { try self.value(name, $0) }
        } catch {
            throw ClientError.storage("\(error)")
        }
    }

    func keep(_ name: String, _ body: @escaping @Sendable (WireValue?) -> WireValue?) async throws -> Bool {
        do {
            return try await pool.write { database in
                guard let value = body(try self.value(name, database)) else { return false }
                try database.execute(
                    sql: "INSERT OR REPLACE INTO device VALUES (?, ?)",
                    arguments: [name, try self.coding.blob(value, as: name)])
                return true
            }
        } catch {
            throw ClientError.storage("\(error)")
        }
    }

    private func value(_ name: String, _ database: Database) throws -> WireValue? {
        let sql = "SELECT value FROM device WHERE name = ?"
        return try Data.fetchOne(database, sql: sql, arguments: [name]).map { try coding.value($0, as: name) }
    }
}
