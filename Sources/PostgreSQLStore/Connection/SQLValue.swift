import AdapterKit
import CLibPQ

/// A value as PostgreSQL gets it, in its binary format. Values reach SQL in no other way than bound.
///
/// Texts are bytes (`bytea`): the server's `text` holds no U+0000 and compares by a collation.
enum SQLValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    case bytes([UInt8])
    case array(SQLType, [SQLValue])

    static func text(_ text: String) -> SQLValue { .bytes(Array(text.utf8)) }
}

/// A column's type.
enum SQLType: String, Sendable {
    case bool = "boolean"
    case integer = "bigint"
    case real = "double precision"
    case bytes = "bytea"

    /// The server's number of the type; it is part of the protocol and never changes.
    var oid: UInt32 {
        switch self {
        case .bool: 16
        case .integer: 20
        case .real: 701
        case .bytes: 17
        }
    }

    var arrayOID: UInt32 {
        switch self {
        case .bool: 1000
        case .integer: 1016
        case .real: 1022
        case .bytes: 1001
        }
    }
}

extension SQLValue {
    var oid: UInt32 {
        switch self {
        case .null: 0
        case .bool: SQLType.bool.oid
        case .integer: SQLType.integer.oid
        case .real: SQLType.real.oid
        case .bytes: SQLType.bytes.oid
        case .array(let type, _): type.arrayOID
        }
    }

    /// Appends the binary form; nothing for null.
    func write(to buffer: inout [UInt8]) {
        switch self {
        case .null: break
        case .bool(let flag): buffer.append(flag ? 1 : 0)
        case .integer(let number): buffer.append(bigEndian: UInt64(bitPattern: number))
        case .real(let number): buffer.append(bigEndian: number.bitPattern)
        case .bytes(let bytes): buffer += bytes
        case .array(let type, let values):
            buffer.append(bigEndian: UInt32(values.isEmpty ? 0 : 1))
            buffer.append(bigEndian: UInt32(values.contains(.null) ? 1 : 0))
            buffer.append(bigEndian: type.oid)
            guard !values.isEmpty else { return }
            buffer.append(bigEndian: UInt32(truncatingIfNeeded: values.count))
            buffer.append(bigEndian: UInt32(1))
            for value in values {
                if value == .null {
                    buffer.append(bigEndian: UInt32.max)
                    continue
                }
                let start = buffer.count
                buffer.append(bigEndian: UInt32(0))
                value.write(to: &buffer)
                let size = UInt32(truncatingIfNeeded: buffer.count - start - 4)
                for place in 0..<4 { buffer[start + place] = UInt8(truncatingIfNeeded: size >> (24 - 8 * place)) }
            }
        }
    }
}

extension [UInt8] {
    mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}

/// A piece of SQL whose parameters are written `?`, with their values in order. ``numbered`` has PostgreSQL's `$1`.
struct SQLFragment: Sendable, Hashable {
    var sql: String
    var values: [SQLValue]

    init(_ sql: String = "", _ values: [SQLValue] = []) {
        self.sql = sql
        self.values = values
    }

    mutating func append(_ text: String, _ more: [SQLValue] = []) {
        sql += text
        values += more
    }

    mutating func append(_ other: SQLFragment) { append(other.sql, other.values) }

    /// No text of this module has a question mark that is no parameter.
    var numbered: String {
        var text = ""
        var number = 0
        for part in sql.split(separator: "?", omittingEmptySubsequences: false) {
            if number > 0 { text += "$\(number)" }
            text += part
            number += 1
        }
        return text
    }
}

/// The rows that a statement returned, in binary form; freed with the last reference.
final class SQLRows {
    private let result: OpaquePointer
    private let library: PorticoLibPQ
    let count: Int

    /// Takes the result over.
    init(_ result: OpaquePointer, _ library: PorticoLibPQ) {
        self.result = result
        self.library = library
        count = Int(library.ntuples(result))
    }

    deinit { library.clear(result) }

    /// Rows that a statement changed.
    var changed: Int {
        guard let text = library.cmdTuples(result) else { return 0 }
        return Int(String(cString: text)) ?? 0
    }

    subscript(row: Int) -> SQLRow { SQLRow(rows: self, row: Int32(truncatingIfNeeded: row)) }

    fileprivate func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: library.getvalue(result, row, column), count: Int(library.getlength(result, row, column)))
    }

    fileprivate func isNull(_ row: Int32, _ column: Int32) -> Bool { library.getisnull(result, row, column) != 0 }

    func map<Value>(_ body: (SQLRow) throws -> Value) rethrows -> [Value] { try (0..<count).map { try body(self[$0]) } }
}

/// One row. A value that is read as another type than the statement has is zero or empty.
struct SQLRow {
    fileprivate let rows: SQLRows
    fileprivate let row: Int32

    func isNull(_ column: Int) -> Bool { rows.isNull(row, Int32(truncatingIfNeeded: column)) }

    func raw(_ column: Int) -> UnsafeRawBufferPointer { rows.bytes(row, Int32(truncatingIfNeeded: column)) }

    func bool(_ column: Int) -> Bool { raw(column).first == 1 }

    func integer(_ column: Int) -> Int64 { Int64(bitPattern: number(column)) }

    func real(_ column: Int) -> Double { Double(bitPattern: number(column)) }

    func bytes(_ column: Int) -> [UInt8] { Array(raw(column)) }

    /// Reads a `bytea` or a `text`.
    func text(_ column: Int) -> String { String(decoding: raw(column), as: UTF8.self) }

    private func number(_ column: Int) -> UInt64 { raw(column).reduce(0) { $0 << 8 | UInt64($1) } }
}
