import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// A question for entities: which ones to begin with, and the query options upon them.
///
/// ``plan(in:)`` checks everything that can be checked without data; the plan then answers at any moment of the records.
public struct EntityQuery: Sendable {
    /// The set or singleton that the rows are of.
    public var source: String
    /// The type that the path casts to.
    public var cast: QualifiedName?
    /// Which of its rows the path leads to.
    public var base: Base
    public var options: [QueryOption]
    /// The most rows that a page has; `$top` may ask for fewer.
    public var pageSize: Int
    /// What `now()` is.
    public var now: WireDate

    public indirect enum Base: Sendable {
        case all
        /// The record with this key.
        case record(RecordID)
        /// Those that a navigation property of another set's record leads to.
        case related(from: String, RecordID, property: String)
        /// Those of another base that are also this record: `Products(1)/Descriptions(2)`.
        case one(of: Base, RecordID)
        /// A filter segment: `Products/$filter(…)`.
        case filtered(Base, Expression)
        /// Those with one of these keys, in no order: the result of an operation.
        case records([RecordID])
    }

    public init(
        _ source: String, cast: QualifiedName? = nil, base: Base = .all, options: [QueryOption] = [],
        pageSize: Int, now: WireDate
    ) {
        self.source = source
        self.cast = cast
        self.base = base
        self.options = options
        self.pageSize = pageSize
        self.now = now
    }
}
