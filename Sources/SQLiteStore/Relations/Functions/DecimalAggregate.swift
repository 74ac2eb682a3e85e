import AdapterKit
import GRDB
import GRDBSQLite

/// The exact sum or average of decimals; null over none, and where the sum outgrows ``ExactDecimal/maximumDigits``.
final class DecimalAggregate {
    private var sum: ExactDecimal? = .zero
    private var count = 0

    static func register(on database: Database) throws {
        try register("portico_decimal_sum", on: database) { DecimalAggregate.finish($0) { $0.sum } }
        try register("portico_decimal_average", on: database) { DecimalAggregate.finish($0) { $0.average } }
    }

    private func add(_ key: [UInt8]) {
        count += 1
        guard let number = ExactDecimal(key: key), let sum else { return }
        self.sum = sum + number
    }

    private var average: ExactDecimal? {
        sum.flatMap {
            ExactDecimal.quotient($0, ExactDecimal(Int64(count)), digits: RelationLimits.divisionDigits)
        }
    }

    private static func register(
        _ name: String, on database: Database, _ finish: @escaping @convention(c) (OpaquePointer?) -> Void
    ) throws {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
        let code = sqlite3_create_function_v2(
            database.sqliteConnection, name, 1, flags, nil, nil,
            { context, _, values in DecimalAggregate.step(context, values) },
            finish,
            nil)
        guard code == SQLITE_OK else { throw SQLiteFailure(code: code, message: "cannot register \(name)") }
    }

    /// SQLite keeps a pointer's room for each group, zero at first; what it points to is ours until the end.
    private static func step(_ context: OpaquePointer?, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
        let arguments = SQLArguments(count: 1, values: values)
        guard !arguments.isNull(0), let room = room(context, MemoryLayout<UnsafeRawPointer?>.size) else { return }
        if room.pointee == nil {
            room.pointee = UnsafeRawPointer(Unmanaged.passRetained(DecimalAggregate()).toOpaque())
        }
        guard let held = room.pointee else { return }
        Unmanaged<DecimalAggregate>.fromOpaque(held).takeUnretainedValue().add(arguments.blob(0))
    }

    private static func finish(_ context: OpaquePointer?, _ result: (DecimalAggregate) -> ExactDecimal?) {
        guard let held = room(context, 0)?.pointee else { return sqlite3_result_null(context) }
        let aggregate = Unmanaged<DecimalAggregate>.fromOpaque(held).takeRetainedValue()
        SQLResult(context: context).give { result(aggregate).map { .blob($0.key) } ?? .null }
    }

    private static func room(_ context: OpaquePointer?, _ size: Int) -> UnsafeMutablePointer<UnsafeRawPointer?>? {
        // Cannot trap: the size of a pointer.
        sqlite3_aggregate_context(context, Int32(size))?.assumingMemoryBound(to: UnsafeRawPointer?.self)
    }
}
