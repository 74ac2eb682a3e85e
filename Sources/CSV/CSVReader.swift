import AdapterKit

/// What stands between the fields of a line.
public enum CSVSeparator: String, Sendable, CaseIterable {
    case comma = ","
    case semicolon = ";"
    case tab = "\t"
    case bar = "|"

    /// By the character, or by its name in words.
    public init?(_ text: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == text || $0.name == text }) else { return nil }
        self = found
    }

    /// `comma`, `semicolon`, `tab`, `bar`.
    public var name: String { "\(self)" }

    /// In UTF-8.
    public var byte: UInt8 { rawValue.utf8.first ?? UInt8(ascii: ",") }
}

/// Comma-separated values (RFC 4180) with a header line, each row with the line it begins at.
///
/// Fields may stand in quotes, with doubled quotes, separators and line ends inside; lines end with LF or CRLF, and a CR that
/// stands alone outside of quotes is refused: a reader that lets it pass takes a file of such lines for its header. A UTF-8
/// byte order mark is skipped. Written here because the CSV libraries that there are do not tell a row's line, and a bad row
/// must be named by it (docs/decisions/0043).
struct CSVReader {
    /// One row.
    struct Row: Equatable, Sendable {
        /// The line that it begins at, from 1.
        let line: Int
        /// Its fields without their quotes.
        let fields: [String]
    }

    /// Fields of a row.
    static let maximumFields = 1_000

    private let bytes: [UInt8]
    /// Whether all of it is UTF-8, so that no field needs to be looked at by itself.
    private let isText: Bool
    private let separator: UInt8
    private var position = 0
    private var line = 1

    private static let quote = UInt8(ascii: "\"")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// All rows, the header's first. `firstLine` is that of the row after the header in the file that this is a part of;
    /// nil: the next one. Throws where the bytes are no such text, with the line, and with the column of bytes that are no
    /// UTF-8.
    static func read(
        _ bytes: [UInt8], separator: CSVSeparator, firstLine: Int? = nil
    ) throws(CSVProblem) -> [Row] {
        let isText = String(validating: bytes, as: UTF8.self) != nil
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        var reader = CSVReader(bytes: text, isText: isText, separator: separator.byte)
        var rows: [Row] = []
        while reader.position < reader.bytes.count {
            let row = try reader.row(columns: rows.first?.fields ?? [])
            if row.fields != [""] { rows.append(row) }
            if rows.count == 1, row == rows.first, let firstLine { reader.line = firstLine }
        }
        return rows
    }

    private init(bytes: [UInt8], isText: Bool, separator: UInt8) {
        self.bytes = bytes
        self.isText = isText
        self.separator = separator
    }

    private mutating func row(columns: [String]) throws(CSVProblem) -> Row {
        let start = line
        var fields: [String] = []
        repeat {
            let begin = position
            fields.append(try field(rowLine: start))
            if !isText, String(validating: bytes[begin..<position], as: UTF8.self) == nil {
                let column = columns.indices.contains(fields.count - 1) ? columns[fields.count - 1] : "\(fields.count)"
                throw CSVProblem(
                    .requestMalformed,
                    "line \(start), column \(column), has bytes that are not UTF-8: save the file as UTF-8, and binary values as base64url",
                    column: column)
            }
            guard fields.count <= Self.maximumFields else {
                throw CSVProblem(
                    .requestLimitExceeded, "line \(start) has more than \(Self.maximumFields) fields")
            }
        } while takes(separator)
        let hasReturn = takes(Self.carriageReturn)
        guard takes(Self.lineFeed) || (position == bytes.count && !hasReturn) else {
            if hasReturn { throw loneReturn }
            throw CSVProblem(.requestMalformed, "line \(line): something follows a closing quote")
        }
        line += 1
        return Row(line: start, fields: fields)
    }

    private var loneReturn: CSVProblem {
        CSVProblem(
            .requestMalformed,
            "line \(line) has a CR without LF: lines end with LF or CRLF (Excel's CSV for Macintosh has CR alone; save as CSV UTF-8)"
        )
    }

    private mutating func field(rowLine: Int) throws(CSVProblem) -> String {
        guard takes(Self.quote) else { return try plainField() }
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
        throw CSVProblem(.requestMalformed, "line \(rowLine): a quote is not closed")
    }

    /// Up to a separator or the line's end.
    private mutating func plainField() throws(CSVProblem) -> String {
        let start = position
        while position < bytes.count, bytes[position] != separator, bytes[position] != Self.lineFeed {
            if bytes[position] == Self.carriageReturn {
                guard position + 1 < bytes.count, bytes[position + 1] == Self.lineFeed else { throw loneReturn }
                break
            }
            position += 1
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func takes(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }
}
