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

    /// `registration`: what all functions of the connection have in common.
    func register(on database: Database, as registration: FunctionWork.Registration) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
        let code = sqlite3_create_function_v2(
            database.sqliteConnection, name, argumentCount, flags,
            Unmanaged.passRetained(FunctionBody(body, registration)).toOpaque(),
            { context, count, values in
                let body = Unmanaged<FunctionBody>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
                let arguments = SQLArguments(count: Int(count), values: values, work: body.registration.work)
                SQLResult(context: context).give {
                    try arguments.spendBytes()
                    return try body.run(arguments)
                }
                // Cannot trap: SQLite gives back what it was given.
            }, nil, nil, { Unmanaged<FunctionBody>.fromOpaque($0!).release() })
        guard code == SQLITE_OK else { throw SQLiteFailure(code: code, message: "cannot register \(name)") }
    }
}

/// The body that SQLite keeps of a function.
private final class FunctionBody {
    let run: (SQLArguments) throws -> SQLValue
    let registration: FunctionWork.Registration

    init(_ run: @escaping @Sendable (SQLArguments) throws -> SQLValue, _ registration: FunctionWork.Registration) {
        (self.run, self.registration) = (run, registration)
    }
}

/// The arguments of one call. Valid only within it.
struct SQLArguments {
    let count: Int
    let values: UnsafeMutablePointer<OpaquePointer?>?
    /// Nil: the call is short whatever its arguments are.
    var work: FunctionWork?

    /// Decoding a list or a dictionary takes so many times as long as looking at its bytes.
    private static let costOfDecoding = 4

    /// Counts about so many bytes. Throws where the read is to end; the call has to end with it.
    func spend(_ bytes: Int) throws { try work?.spend(bytes) }

    /// Counts the bytes of all arguments.
    fileprivate func spendBytes() throws {
        var bytes = 0
        for position in 0..<count {
            switch type(position) {
            case SQLITE_TEXT: bytes += Int(sqlite3_value_bytes(value(position)))
            case SQLITE_BLOB: bytes += Self.costOfDecoding * Int(sqlite3_value_bytes(value(position)))
            default: bytes += 1
            }
        }
        try spend(bytes)
    }

    /// A text's bytes, or a BLOB's, where SQLite has them.
    func withBytes<Result>(_ position: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let start = sqlite3_value_blob(value(position))
        return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value(position)))))
    }

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
        } catch is FunctionInterrupted {
            sqlite3_result_error_code(context, SQLITE_INTERRUPT)
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
        let registration = FunctionWork.Registration(on: database)
        for function in functions { try function.register(on: database, as: registration) }
        try DecimalAggregate.register(on: database)
    }
}
