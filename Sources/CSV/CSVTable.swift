import AdapterKit

/// A table in CSV: the columns that its header names, and its rows, of as many fields each.
///
/// The one reader of such files, for imports and for connected systems. What other programs write under the name of CSV is
/// refused with its cause, since each of them would read as a header without rows: other separators, UTF-16, Excel's line
/// `sep=`, lines that end with CR.
public struct CSVTable: Sendable {
    /// The columns' names. One without a name has an empty one, and no values.
    public let columns: [String]
    /// The rows behind the header.
    public let rows: [Row]

    /// One row.
    public struct Row: Equatable, Sendable {
        /// The line that it begins at, from 1.
        public let line: Int
        /// Its fields, one for each column.
        public let fields: [String]
    }

    /// `firstLine` is that of the row after the header in the file that this is a part of; nil: the next one. Throws for
    /// what is no such table.
    public init(
        _ bytes: [UInt8], separator: CSVSeparator = .comma, firstLine: Int? = nil
    ) throws(CSVProblem) {
        guard !Self.isUTF16(bytes) else {
            throw CSVProblem(.requestMalformed, "the file is in UTF-16: save it as CSV in UTF-8")
        }
        let lines = try CSVReader.read(bytes, separator: separator, firstLine: firstLine)
        guard let header = lines.first else { throw CSVProblem(.requestMalformed, "the file has no header line") }
        let columns = header.fields
        try Self.require(separator, header)
        if let twice = Self.repeatedColumn(columns) {
            throw CSVProblem(.requestMalformed, "the header names the column `\(twice.brief)` twice")
        }
        let nameless = columns.indices.filter { columns[$0].isEmpty }
        var rows: [Row] = []
        rows.reserveCapacity(lines.count)
        for line in lines.dropFirst() {
            guard line.fields.count == columns.count else {
                throw CSVProblem(
                    .requestInvalid,
                    "line \(line.line) has \(line.fields.count) fields, the header has \(columns.count)")
            }
            if let position = nameless.first(where: { !line.fields[$0].isEmpty }) {
                throw CSVProblem(
                    .requestInvalid, "line \(line.line) has a value in column \(position + 1), which has no name")
            }
            rows.append(Row(line: line.line, fields: line.fields))
        }
        (self.columns, self.rows) = (columns, rows)
    }

    /// By its byte order mark, or by bytes that are 0 where text has none.
    private static func isUTF16(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return true }
        return bytes.count >= 2 && (bytes[0] == 0) != (bytes[1] == 0)
    }

    private static func require(_ separator: CSVSeparator, _ header: CSVReader.Row) throws(CSVProblem) {
        let first = header.fields[0]
        if first.lowercased().hasPrefix("sep="), header.fields.dropFirst().allSatisfy(\.isEmpty) {
            throw CSVProblem(
                .requestMalformed,
                "line \(header.line) is `\(first.brief)`, which only Excel reads: remove it, and name the separator where it is no comma"
            )
        }
        guard header.fields.count == 1,
            let other = CSVSeparator.allCases.first(where: { $0 != separator && first.contains($0.rawValue) })
        else { return }
        throw CSVProblem(
            .requestMalformed,
            "the header has one field with a \(other.name) in it: fields are separated by \(separator.name)s, unless another separator is named (`--separator \(other.name)`, in a connection file `separator: \(other.name)`)"
        )
    }

    private static func repeatedColumn(_ columns: [String]) -> String? {
        var seen: Set<[UInt8]> = []
        return columns.first { !$0.isEmpty && !seen.insert(Array($0.utf8)).inserted }
    }
}

/// Why bytes are no table in CSV, or one of another kind than is wanted.
public struct CSVProblem: Error, Sendable, Equatable {
    /// A phrase without a capital and a full stop: `line 3 has 2 fields, the header has 3`.
    public let phrase: String
    /// The code that a caller gets.
    public let code: ErrorCode
    /// The column that is at fault.
    public let column: String?

    init(_ code: ErrorCode, _ phrase: String, column: String? = nil) {
        (self.code, self.phrase, self.column) = (code, phrase, column)
    }

    /// The problem as a caller's error.
    public var error: PorticoError {
        PorticoError(code, phrase.prefix(1).uppercased() + phrase.dropFirst() + ".", target: column)
    }
}

/// The columns that the rows of a table may have, and those that they must have.
public struct CSVColumns: Sendable {
    /// Nil: any.
    private let known: [String]?
    private let required: [String]
    /// Names of columns in one message.
    private static let listed = 40

    /// Creates the columns of tables. `known`: nil allows any.
    public init(known: [String]?, required: [String]) {
        (self.known, self.required) = (known, required)
    }

    /// The members of a row's shape: those that are required must be there.
    public init(_ shape: ObjectShape) {
        self.init(
            known: shape.isOpen ? nil : shape.members.map(\.name.text),
            required: shape.members.filter(\.isRequired).map(\.name.text))
    }

    /// Throws for a column that is not known, and for one that is missing, with the name that is most like it.
    public func check(_ columns: [String]) throws(CSVProblem) {
        if let known, let column = columns.first(where: { !$0.isEmpty && !known.contains($0) }) {
            throw CSVProblem(
                .requestInvalid,
                "there is no field for the column `\(column.brief)`\(Self.hint(column, known) ?? Self.list(known))",
                column: column.brief)
        }
        if let missing = required.first(where: { !columns.contains($0) }) {
            let others = columns.filter { !$0.isEmpty && known?.contains($0) != true }
            throw CSVProblem(
                .requestInvalid,
                "the table has no column `\(missing)`\(Self.nearest(missing, others).map { "; it has `\($0.brief)`" } ?? "")",
                column: missing)
        }
    }

    private static func hint(_ name: String, _ names: [String]) -> String? {
        nearest(name, names).map { ": did you mean `\($0)`?" }
    }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(listed).map { "`\($0)`" }.joined(separator: ", ")
        return names.isEmpty ? "" : "; there are \(shown)\(names.count > listed ? " and others" : "")"
    }

    /// The one that is most like the name; nil where none is near.
    static func nearest(_ name: String, _ names: [String]) -> String? {
        let wanted = letters(name)
        guard !wanted.isEmpty else { return nil }
        let ranked = names.map { (name: $0, distance: distance(wanted, letters($0))) }
        guard let best = ranked.min(by: { ($0.distance, $0.name) < ($1.distance, $1.name) }),
            best.distance <= max(2, wanted.count / 3), best.distance < wanted.count
        else { return nil }
        return best.name
    }

    /// Letters and digits alone, in lower case: `User Name` is as good as `userName`.
    private static func letters(_ name: String) -> [Character] {
        Array(name.lowercased().prefix(100).filter { $0.isLetter || $0.isNumber })
    }

    /// Levenshtein's distance.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var row = Array(0...right.count)
        for (count, character) in left.enumerated() {
            var diagonal = row[0]
            row[0] = count + 1
            for (index, other) in right.enumerated() {
                let above = row[index + 1]
                row[index + 1] = min(above + 1, row[index] + 1, diagonal + (character == other ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}

extension String {
    /// Enough of another program's name to find it, without what no terminal and no format may get.
    fileprivate var brief: String {
        let shown = unicodeScalars.prefix(60).map { scalar in
            scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) || scalar.value == 0xFFFE
                || scalar.value == 0xFFFF ? " " : String(Character(scalar))
        }
        return shown.joined() + (unicodeScalars.count > 60 ? "…" : "")
    }
}
