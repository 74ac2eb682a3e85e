import AdapterKit
import GRDB
import GRDBSQLite
import RecordStorage

/// Arithmetic on decimals, given and made as ``DecimalSortKey``.
enum DecimalFunctions {
    static let all: [SQLFunction] = [
        .strict("decimal", 1) { arguments in
            let number =
                arguments.type(0) == SQLType.integer
                ? ExactDecimal(arguments.integer(0)) : ExactDecimal(arguments.real(0))
            return number.map { .blob($0.key) } ?? .null
        },
        .strict("double", 1) { arguments in arguments.decimal(0).map { .real($0.double) } ?? .null },
        binary("add") { $0 + $1 },
        binary("subtract") { $0 - $1 },
        binary("multiply") { $0 * $1 },
        binary("divide") { ExactDecimal.quotient($0, $1, digits: RelationLimits.divisionDigits) },
        binary("remainder") { ExactDecimal.remainder($0, $1) },
        unary("decimal_round") { $0.rounded(.halfAwayFromZero) },
        unary("decimal_floor") { $0.rounded(.down) },
        unary("decimal_ceiling") { $0.rounded(.up) },
        unary("negate") { -$0 },
    ]

    private static func binary(
        _ name: String, _ body: @escaping @Sendable (ExactDecimal, ExactDecimal) -> ExactDecimal?
    ) -> SQLFunction {
        .strict("decimal_\(name)", 2) { arguments in
            guard let left = arguments.decimal(0), let right = arguments.decimal(1) else { return .null }
            // School arithmetic looks at each digit for each of the other's.
            try arguments.spend(left.digits.count * right.digits.count / 8)
            return body(left, right).map { .blob($0.key) } ?? .null
        }
    }

    private static func unary(_ name: String, _ body: @escaping @Sendable (ExactDecimal) -> ExactDecimal) -> SQLFunction
    {
        .strict(name, 1) { arguments in arguments.decimal(0).map { .blob(body($0).key) } ?? .null }
    }
}

extension SQLArguments {
    func decimal(_ position: Int) -> ExactDecimal? { ExactDecimal(key: blob(position)) }
}

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

/// SQLite's types of values, without its header in every file.
enum SQLType {
    static let integer = SQLITE_INTEGER
    static let real = SQLITE_FLOAT
    static let text = SQLITE_TEXT
}

/// Functions of doubles that SQLite does not compute as IEEE 754 does. A result that is no number is null.
enum DoubleFunctions {
    static let all: [SQLFunction] = [
        .strict("double_divide", 2) { result($0.real(0) / $0.real(1)) },
        .strict("double_remainder", 2) { result($0.real(0).truncatingRemainder(dividingBy: $0.real(1))) },
        .strict("double_round", 1) { result($0.real(0).rounded(.toNearestOrAwayFromZero)) },
        .strict("double_floor", 1) { result($0.real(0).rounded(.down)) },
        .strict("double_ceiling", 1) { result($0.real(0).rounded(.up)) },
    ]

    private static func result(_ number: Double) -> SQLValue { number.isNaN ? .null : .real(number) }
}
