import AdapterKit
import ODataModel
import ODataQueries

/// How version 2's answers are written and its bodies read. JSON and Atom are the two that there are.
///
/// Formats are values without state: they turn a ``Version2Content`` into bytes and bytes into a ``WrittenEntity``, and
/// know nothing of requests.
protocol Version2Format: Sendable {
    /// Whether `$format` means this one: `json`, `atom`, or a media type.
    func isNamed(_ name: String) -> Bool
    /// Whether a media type, in lower case and without parameters, is this one's: of `Accept` and of `Content-Type`.
    func takes(_ mediaType: String) -> Bool

    /// The content as a whole document. `raw` and `nothing` never come here.
    /// Throws `format.notRepresentable` where a text cannot be carried.
    func document(_ content: Version2Content, in scope: Version2Scope) throws(PorticoError) -> Version2Document
    /// The media type of feeds.
    var feedType: String { get }
    /// How a level's rows are written, for feeds that are written while their rows are read.
    func rows(_ level: Version2Level, _ model: EntityDataModel) -> any Version2Rows
    /// Failures may come before anything is known of the service.
    func document(_ failure: Version2Error) -> Version2Document

    /// An entity that is to be created or changed. Throws `request.malformed` or `request.invalid`.
    func entity(_ body: [UInt8], of type: StructuredType, in scope: Version2Scope) throws(PorticoError) -> WrittenEntity
    /// A property's new value, in the terms of version 4's JSON.
    func property(_ body: [UInt8], _ name: String, _ type: TypeReference, in scope: Version2Scope)
        throws(PorticoError) -> WireValue
    /// The address that the body of a `$links` request names.
    func link(_ body: [UInt8]) throws(PorticoError) -> String
}

/// A feed as it comes into being.
protocol Version2FeedWriter {
    /// With `$inlinecount=allpages`: how many there are in all.
    mutating func begin(count: Int?)
    mutating func write(_ row: ResultRow)
    /// Throws what reading it does.
    mutating func write(_ row: FlatRow) throws
    /// Addresses, as a ``Version2Feed`` has them.
    mutating func end(next: String?, delta: String?)
    /// Gives on what was written. Throws `format.notRepresentable` where a text cannot be carried, and what the sink does.
    mutating func flush() throws
}

struct Version2Document: Sendable {
    let mediaType: String
    let bytes: [UInt8]
}

/// What formats must know of the request and its service.
struct Version2Scope: Sendable {
    let model: EntityDataModel
    /// `https://host/odata/v2/service/`
    let root: String
    /// The address that was asked for, below the root: `Students?$top=1`.
    let relative: String
    let now: WireDate
}

/// An entity as a request sends it, in whichever format.
struct WrittenEntity: Sendable {
    /// Qualified; nil where the body names none.
    var typeName: String?
    /// By property, in the terms of version 4's JSON: instants and days as RFC 3339 has them, times of day as
    /// `hh:mm:ss`, bytes in base64url, 64-bit integers and decimals as texts or numbers.
    var properties = WireDictionary()
    /// By navigation property: the addresses of entities to be linked.
    var links: [String: [String]] = [:]
    /// By navigation property: entities to be created with it.
    var nested: [String: [WrittenEntity]] = [:]

    /// As version 4's JSON would have sent it, which is what the writing of both versions begins with.
    func version4(_ type: StructuredType, _ model: EntityDataModel) -> WireValue {
        let named = typeName.flatMap { QualifiedName($0) }.map(model.resolve)
        let actual = named.flatMap { model.structured($0) } ?? type
        var members = properties
        if let typeName { members["@odata.type"] = .string("#\(typeName)") }
        for (name, addresses) in links {
            members["\(name)@odata.bind"] = .array(addresses.map { .string($0) })
        }
        for (name, entities) in nested {
            let navigation = actual.navigation(name)
            let target = navigation.flatMap { model.structured($0.target) } ?? type
            let all = entities.map { $0.version4(target, model) }
            members[name] = navigation?.isCollection == false ? all.first ?? .null : .array(all)
        }
        return .dictionary(members)
    }
}
