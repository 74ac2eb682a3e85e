import AdapterKit
import ODataModel
import ODataRecords

/// What the rows of a result hold: the same for every row of one level, which is why it is a class.
public final class ResultShape: Sendable {
    /// The set or singleton that the rows are entities of; nil for what `$apply` has made.
    public let table: RecordTable?
    /// The entities' type as far as the query says so; derived ones are told by ``typeColumn``.
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
    /// Whether `$select` or `$apply` says what there is; otherwise all properties are there.
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
    /// Whether it is told. Others are there for keys, links and paging.
    public let isVisible: Bool
    /// The members of a complex value that are told, by path; nil: all.
    public let members: [[String]]?
    /// Where it stands whether a row has it; nil: every row does.
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
    /// In stored form (``StoredForm``), one for each of the shape's columns.
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
