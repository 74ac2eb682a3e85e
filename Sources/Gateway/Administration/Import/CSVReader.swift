import AdapterKit

/// Comma-separated values (RFC 4180) with a header line, each row with the line it begins at.
///
/// Fields may stand in quotes, with doubled quotes, commas and line ends inside; lines end with LF or CRLF; a UTF-8 byte
/// order mark is skipped. Written here because the CSV libraries that there are do not tell a row's line, and a bad row
/// must be named by it (docs/decisions/0081).
struct CSVReader {
    struct Row: Equatable {
        /// From 1.
        let line: Int
        let fields: [String]
    }

    static let maximumFields = 1_000

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    private static let quote = UInt8(ascii: "\"")
    private static let comma = UInt8(ascii: ",")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// All rows, the header's first. Throws `request.malformed` with the line.
    static func read(_ bytes: [UInt8]) throws(PorticoError) -> [Row] {
        let isText = String(validating: bytes, as: UTF8.self) != nil
        var reader = CSVReader(bytes: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes)
        var rows: [Row] = []
        while reader.position < reader.bytes.count {
            let row = try reader.row()
            if !isText, let column = row.fields.firstIndex(where: { $0.contains("\u{FFFD}") }) {
                let header = rows.first?.fields ?? []
                let name = header.indices.contains(column) ? " (\(header[column]))" : ""
                throw PorticoError(
                    .requestMalformed,
                    "Line \(row.line), column \(column + 1)\(name): these bytes are no text in UTF-8.")
            }
            if row.fields != [""] { rows.append(row) }
        }
        guard isText else { throw PorticoError(.requestMalformed, "The file is not UTF-8.") }
        return rows
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private mutating func row() throws(PorticoError) -> Row {
        let start = line
        var fields: [String] = []
        repeat {
            fields.append(try field(rowLine: start))
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
