import AdapterKit

/// Comma-separated values (RFC 4180) with a header line, each row with the line it begins at.
///
/// Fields may stand in quotes, with doubled quotes, commas and line ends inside; lines end with LF or CRLF; a UTF-8 byte
/// order mark is skipped. Written here because the CSV libraries that there are do not tell a row's line, and a bad row
/// must be named by it (docs/decisions/0043).
public struct CSVReader {
    /// One row.
    public struct Row: Equatable, Sendable {
        /// The line that it begins at, from 1.
        public let line: Int
        /// Its fields without their quotes.
        public let fields: [String]

        /// Creates a row with these values.
        public init(line: Int, fields: [String]) {
            self.line = line
            self.fields = fields
        }
    }

    /// Fields of a row.
    public static let maximumFields = 1_000

    private let bytes: [UInt8]
    /// Whether all of it is UTF-8, so that no field needs to be looked at by itself.
    private let isText: Bool
    private var position = 0
    private var line = 1

    private static let quote = UInt8(ascii: "\"")
    private static let comma = UInt8(ascii: ",")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// All rows, the header's first. `firstLine` is that of the row after the header in the file that this is a part of;
    /// nil: the next one. Throws `request.malformed` with the line, and with the column of bytes that are no text.
    public static func read(_ bytes: [UInt8], firstLine: Int? = nil) throws(PorticoError) -> [Row] {
        let isText = String(validating: bytes, as: UTF8.self) != nil
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        var reader = CSVReader(bytes: text, isText: isText)
        var rows: [Row] = []
        while reader.position < reader.bytes.count {
            let row = try reader.row(columns: rows.first?.fields ?? [])
            if row.fields != [""] { rows.append(row) }
            if rows.count == 1, row == rows.first, let firstLine { reader.line = firstLine }
        }
        return rows
    }

    private init(bytes: [UInt8], isText: Bool) {
        self.bytes = bytes
        self.isText = isText
    }

    private mutating func row(columns: [String]) throws(PorticoError) -> Row {
        let start = line
        var fields: [String] = []
        repeat {
            let begin = position
            fields.append(try field(rowLine: start))
            if !isText, String(validating: bytes[begin..<position], as: UTF8.self) == nil {
                let column = columns.indices.contains(fields.count - 1) ? columns[fields.count - 1] : "\(fields.count)"
                throw PorticoError(
                    .requestMalformed,
                    "Line \(start), column \(column): bytes that are not UTF-8. Binary values are written as base64url.",
                    target: column)
            }
            guard fields.count <= Self.maximumFields else {
                throw PorticoError(.requestLimitExceeded, "Line \(start) has too many fields.")
            }
        } while takes(Self.comma)
        _ = takes(Self.carriageReturn)
        guard position == bytes.count || takes(Self.lineFeed) else {
            throw PorticoError(.requestMalformed, "Line \(line): something follows a closing quote.")
        }
        line += 1
        return Row(line: start, fields: fields)
    }

    private mutating func field(rowLine: Int) throws(PorticoError) -> String {
        guard takes(Self.quote) else { return plainField() }
        var field: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == Self.lineFeed { line += 1 }
            if byte != Self.quote {
                field.append(byte)
            } else if takes(Self.quote) {
                field.append(byte)
            } else {
                return String(decoding: field, as: UTF8.self)
            }
        }
        throw PorticoError(.requestMalformed, "Line \(rowLine): a quote is not closed.")
    }

    private mutating func plainField() -> String {
        let start = position
        while position < bytes.count, bytes[position] != Self.comma, bytes[position] != Self.lineFeed { position += 1 }
        let end = position
        let isLineEnd =
            end > start && bytes[end - 1] == Self.carriageReturn && (end == bytes.count || bytes[end] == Self.lineFeed)
        return String(decoding: bytes[start..<(isLineEnd ? end - 1 : end)], as: UTF8.self)
    }

    private mutating func takes(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }
}
