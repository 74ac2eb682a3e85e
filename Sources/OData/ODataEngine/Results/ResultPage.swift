import AdapterKit
import ODataLanguage
import ODataModel

/// The columns and expansions of a level's rows. A class, because all rows of a level share it.
public final class ResultShape: Sendable {
    /// The set or singleton that the rows are entities of; nil for what `$apply` has made.
    public let table: RecordTable?
    /// The static type of the entities; ``typeColumn`` has the actual one.
    public let type: QualifiedName?
    public let columns: [ResultColumn]
    public let expansions: [ResultExpansion]
    /// Where each row's revision is, of which ETags are made; nil for what is no record.
    public let revisionColumn: Int?
    /// Where each row's qualified type name is; nil where it can be one only.
    public let typeColumn: Int?
    /// Where the dynamic properties of an open type are.
    public let dynamicColumn: Int?
    /// Streams that were asked for; their values are addresses, which the rows do not hold.
    public let streams: [String]
    /// By stream, `$value` among them: where each row's media type is; null where there is no stream yet.
    public let mediaTypeColumns: [String: Int]
    /// Whether `$select` or `$apply` chose the columns; otherwise all properties are there.
    public let isNarrowed: Bool
    /// Where the key is of an entity whose values have a path of columns; it is null where there is none.
    public let joined: [String: Int]
    /// Found out once, because every row is written by it.
    public let outline: ResultOutline

    init(
        table: RecordTable?, type: QualifiedName?, columns: [ResultColumn], expansions: [ResultExpansion],
        revisionColumn: Int?, typeColumn: Int?, dynamicColumn: Int?, streams: [String],
        mediaTypeColumns: [String: Int] = [:], isNarrowed: Bool, joined: [String: Int] = [:]
    ) {
        self.table = table
        self.type = type
        self.columns = columns
        self.expansions = expansions
        self.revisionColumn = revisionColumn
        self.typeColumn = typeColumn
        self.dynamicColumn = dynamicColumn
        self.streams = streams
        self.mediaTypeColumns = mediaTypeColumns
        self.isNarrowed = isNarrowed
        self.joined = joined
        outline = ResultOutline(columns, of: table)
    }
}

/// One column of a result.
public struct ResultColumn: Sendable, Equatable {
    /// The property's name; more than one for what `$apply` grouped by a path.
    public let path: [String]
    /// Nil where it is computed to what the model has no type for.
    public let type: TypeReference
    /// Whether it is written. Others are there for keys, links and paging.
    public let isVisible: Bool
    /// The written members of a complex value, by path; nil: all.
    public let members: [[String]]?
    /// The column that holds whether a row has it; nil: every row does.
    public let presence: Int?
    /// The path's names with slashes between them.
    public let name: String

    public init(
        _ path: [String], _ type: TypeReference, isVisible: Bool = true, members: [[String]]? = nil,
        presence: Int? = nil
    ) {
        self.path = path
        self.type = type
        self.isVisible = isVisible
        self.members = members
        self.presence = presence
        name = path.count == 1 ? path[0] : path.joined(separator: "/")
    }
}

/// One navigation property whose entities come with the rows.
public struct ResultExpansion: Sendable {
    public enum Content: Sendable {
        case entities
        /// `$ref`: their ids alone.
        case references
        /// `$count`: how many there are.
        case count
    }

    public let property: String
    public let isCollection: Bool
    public let content: Content
    public let shape: ResultShape
    /// The set of whose entities `$apply` made it; nil for a navigation property of the model.
    public let set: String?
}

/// One row, and what was expanded of it.
public struct ResultRow: Sendable {
    /// In stored form (``StoredValueCodec``), one for each of the shape's columns.
    public var values: [WireValue]
    /// One for each of the shape's expansions.
    public var expanded: [ExpandedRows]

    /// It and all that were expanded of it, each as often as it is written.
    public var entities: Int { expanded.reduce(1) { $0 + $1.entities } }

    public init(values: [WireValue], expanded: [ExpandedRows] = []) {
        self.values = values
        self.expanded = expanded
    }
}

public struct ExpandedRows: Sendable {
    /// At most one where the property is no collection.
    public let rows: [ResultRow]
    /// They and all that were expanded of them, each as often as it is written.
    public let entities: Int
    /// With `$count`, without regard to `$top` and `$skip`.
    public var count: Int?

    public init(rows: [ResultRow] = [], count: Int? = nil) {
        self.rows = rows
        self.count = count
        entities = rows.reduce(0) { $0 + $1.entities }
    }
}

/// One page of a query.
public struct ResultPage: Sendable {
    public let shape: ResultShape
    public let rows: [ResultRow]
    /// With `$count=true`: how many there are in all.
    public let count: Int?
    /// `$skiptoken` of the next page; nil on the last one. Every other option stays in the link as it is.
    public let next: String?
    /// The log position that it was read at, for delta links.
    public let position: Revision
}

/// The written columns and the key columns of a shape, computed once for all rows.
public struct ResultOutline: Sendable {
    /// A column whose value is written.
    public struct Column: Sendable {
        /// Among the shape's columns.
        public let position: Int
        public let isKey: Bool
        /// Whether it is a property that the set's types declare, of which an entity of another type has no part.
        public let isDeclared: Bool
    }

    /// A part of the key.
    public struct KeyPart: Sendable {
        public let position: Int
        public let column: RecordColumn
    }

    /// In the order of the columns. Keys are always written, so that clients can identify entities (Protocol 4.01,
    /// section 11.2.5.1).
    public let written: [Column]
    /// In the key's order; nil where the rows do not hold the whole of it.
    public let key: [KeyPart]?

    init(_ columns: [ResultColumn], of table: RecordTable?) {
        let keys = table?.keyNames ?? []
        written = columns.indices.compactMap { position in
            let column = columns[position]
            let isKey = keys.contains(column.name)
            guard column.isVisible || isKey else { return nil }
            return Column(position: position, isKey: isKey, isDeclared: table?.columns[column.name] != nil)
        }
        let parts = keys.compactMap { name -> KeyPart? in
            guard let position = columns.firstIndex(where: { $0.path == [name] }) else { return nil }
            return table?.columns[name].map { KeyPart(position: position, column: $0) }
        }
        key = table != nil && parts.count == keys.count ? parts : nil
    }
}

/// `$skiptoken`: the order values of a page's last row and the rest of `$top`. Base64url of a text with a letter for
/// each kind of value. A client that changes it gets another page of rows that it may see.
struct PageToken: Equatable {
    var values: [WireValue]
    /// Nil: no `$top`.
    var remaining: Int?

    init(values: [WireValue], remaining: Int?) {
        self.values = values
        self.remaining = remaining
    }

    init?(_ text: String) {
        guard let bytes = Base64URL.decode(lenient: text) else { return nil }
        var parts = String(decoding: bytes, as: UTF8.self).split(separator: "\u{1F}", omittingEmptySubsequences: false)
        guard !parts.isEmpty else { return nil }
        let first = parts.removeFirst()
        remaining = Int(first)
        guard first.isEmpty || (remaining ?? -1) >= 0 else { return nil }
        values = []
        for part in parts {
            guard let value = Self.value(part) else { return nil }
            values.append(value)
        }
    }

    /// Nil where a value has no order, so that no page can end at it.
    var text: String? {
        var parts = [remaining.map(String.init) ?? ""]
        for value in values {
            guard let part = Self.text(value) else { return nil }
            parts.append(part)
        }
        return Base64URL.encode(Array(parts.joined(separator: "\u{1F}").utf8))
    }

    private static func text(_ value: WireValue) -> String? {
        switch value {
        case .null: "n"
        case .bool(let flag): flag ? "t" : "f"
        case .int64(let number): "i\(number)"
        case .double(let number): "d\(number.bitPattern)"
        case .decimal(let number): "m\(number)"
        case .date(let instant): "y\(instant.ticks).\(instant.attoseconds)"
        case .string(let text): "s\(Base64URL.encode(Array(text.utf8)))"
        case .data(let bytes): "x\(Base64URL.encode(bytes))"
        default: nil
        }
    }

    private static func value(_ part: Substring) -> WireValue? {
        let rest = String(part.dropFirst())
        switch part.first {
        case "n": return .null
        case "t": return true
        case "f": return false
        case "i": return Int64(rest).map { .int64($0) }
        case "d": return UInt64(rest).map { .double(Double(bitPattern: $0)) }
        case "m": return WireDecimal(rest).map { .decimal($0) }
        case "y":
            let parts = rest.split(separator: ".").compactMap { Int64($0) }
            return parts.count == 2 ? .date(WireDate(ticks: parts[0], attosecondsBeyond: parts[1])) : nil
        // Of a link that an earlier version wrote.
        case "z": return UInt64(rest).map { .date(WireDate(secondsSinceReferenceDate: Double(bitPattern: $0))) }
        case "s":
            return Base64URL.decode(lenient: rest).flatMap { String(validating: $0, as: UTF8.self) }.map { .string($0) }
        case "x": return Base64URL.decode(lenient: rest).map { .data($0) }
        default: return nil
        }
    }
}

/// Limits of a query beyond its syntax.
public struct QueryLimits: Sendable, Equatable {
    /// Levels of `$expand` within each other, those of `$levels` included; `max` means this many.
    public var expandDepth: Int
    /// Navigation properties that are expanded, at all levels together.
    public var expansions: Int
    /// Entities that the expansions of one row bring, all levels together.
    public var expandedRows: Int
    /// Entities that the expansions of one page write, each as often as it is written.
    public var writtenRows: Int
    /// Criteria of `$orderby`.
    public var orderCriteria: Int
    /// Rows that `$skip` may leave out.
    public var skip: Int

    public static let standard = QueryLimits(
        expandDepth: 8, expansions: 256, expandedRows: 100_000, writtenRows: 1_000_000, orderCriteria: 16,
        skip: 10_000_000)

    public init(expandDepth: Int, expansions: Int, expandedRows: Int, writtenRows: Int, orderCriteria: Int, skip: Int) {
        self.expandDepth = expandDepth
        self.expansions = expansions
        self.expandedRows = expandedRows
        self.writtenRows = writtenRows
        self.orderCriteria = orderCriteria
        self.skip = skip
    }
}

extension QueryLimits {
    /// Of an answer that is held in memory as a whole: what one row's expansions may bring is enough for all of it.
    var held: QueryLimits {
        var limits = self
        limits.writtenRows = min(writtenRows, expandedRows)
        return limits
    }

    var tooManyWritten: PorticoError {
        PorticoError(
            .requestLimitExceeded,
            "The expansions of a page write at most \(writtenRows) entities; ask for fewer with $top.")
    }
}

/// Why a query cannot be answered, with the position in the raw query text.
public struct QueryProblem: Error, Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        /// The caller's mistake: 400.
        case invalid
        /// What OData has and this service does not: 501.
        case notSupported
        /// Too large: 400 with the limit named.
        case limitExceeded
    }

    public let kind: Kind
    /// Safe to show.
    public let message: String
    public let range: SourceRange?

    public init(_ message: String, at range: SourceRange? = nil, kind: Kind = .invalid) {
        self.message = message
        self.range = range
        self.kind = kind
    }
}
