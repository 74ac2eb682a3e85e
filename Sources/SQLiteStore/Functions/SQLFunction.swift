import GRDB
import GRDBSQLite

/// A function of ours that statements on a connection can call. Deterministic, and not to be had from a schema.
struct SQLFunction: Sendable {
    let name: String
    /// −1: any number.
    let argumentCount: Int32
    let body: @Sendable (SQLArguments) throws -> SQLValue

    init(_ name: String, _ argumentCount: Int32, _ body: @escaping @Sendable (SQLArguments) throws -> SQLValue) {
        self.name = "portico_\(name)"
        self.argumentCount = argumentCount
        self.body = body
    }

    /// Null where an argument is.
    static func strict(
        _ name: String, _ argumentCount: Int32, _ body: @escaping @Sendable (SQLArguments) throws -> SQLValue
    ) -> SQLFunction {
        SQLFunction(name, argumentCount) { arguments in
            for position in 0..<arguments.count where arguments.isNull(position) { return .null }
            return try body(arguments)
        }
    }

    func register(on database: Database) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
        let code = sqlite3_create_function_v2(
            database.sqliteConnection, name, argumentCount, flags,
            Unmanaged.passRetained(FunctionBody(body)).toOpaque(),
            { context, count, values in
                let body = Unmanaged<FunctionBody>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
                SQLResult(context: context).give { try body.run(SQLArguments(count: Int(count), values: values)) }
                // Cannot trap: SQLite gives back what it was given.
            }, nil, nil, { Unmanaged<FunctionBody>.fromOpaque($0!).release() })
        guard code == SQLITE_OK else { throw SQLiteFailure(code: code, message: "cannot register \(name)") }
    }
}

/// What SQLite keeps of a function.
private final class FunctionBody {
    let run: (SQLArguments) throws -> SQLValue
    init(_ run: @escaping @Sendable (SQLArguments) throws -> SQLValue) { self.run = run }
}

/// The arguments of one call. Valid only within it.
struct SQLArguments {
    let count: Int
    let values: UnsafeMutablePointer<OpaquePointer?>?

    private func value(_ position: Int) -> OpaquePointer? { values?[position] }

    func isNull(_ position: Int) -> Bool { type(position) == SQLITE_NULL }
    func type(_ position: Int) -> Int32 { sqlite3_value_type(value(position)) }
    func integer(_ position: Int) -> Int64 { sqlite3_value_int64(value(position)) }
    func real(_ position: Int) -> Double { sqlite3_value_double(value(position)) }

    func text(_ position: Int) -> String {
        guard let start = sqlite3_value_text(value(position)) else { return "" }
        let count = Int(sqlite3_value_bytes(value(position)))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func blob(_ position: Int) -> [UInt8] {
        guard let start = sqlite3_value_blob(value(position)) else { return [] }
        let count = Int(sqlite3_value_bytes(value(position)))
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }
}

/// Where a function puts what it makes.
struct SQLResult {
    let context: OpaquePointer?

    func give(_ body: () throws -> SQLValue) {
        do {
            set(try body())
        } catch {
            sqlite3_result_error(context, "a function failed: \(error)", -1)
        }
    }

    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private func set(_ value: SQLValue) {
        switch value {
        case .null: sqlite3_result_null(context)
        case .integer(let number): sqlite3_result_int64(context, number)
        case .real(let number): sqlite3_result_double(context, number)
        case .text(let text): set(text: Array(text.utf8))
        case .textBytes(let bytes): set(text: bytes)
        case .blob(let bytes):
            bytes.isEmpty
                ? sqlite3_result_zeroblob(context, 0)
                : sqlite3_result_blob64(context, bytes, UInt64(bytes.count), Self.transient)
        }
    }

    private func set(text: [UInt8]) {
        text.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return sqlite3_result_text(context, "", 0, Self.transient) }
            sqlite3_result_text64(
                context, start.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), Self.transient,
                UInt8(SQLITE_UTF8))
        }
    }
}

/// The functions that compiled relations call, one list for each thing that they are about.
enum RelationFunctions {
    static func register(on database: Database) throws {
        let functions =
            DecimalFunctions.all + DoubleFunctions.all + TextFunctions.all + CalendarFunctions.all
            + ConversionFunctions.all + TreeFunctions.all + GeographyFunctions.all
        for function in functions { try function.register(on: database) }
        try DecimalAggregate.register(on: database)
    }
}
