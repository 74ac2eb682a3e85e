import AdapterKit
import ODataEngine
import ODataModel
import WireFormats

/// A format of version 2: reads request bodies and writes responses. The formats are JSON and Atom.
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

/// Writes a feed while its rows are read.
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

/// A document with its media type.
struct Version2Document: Sendable {
    let mediaType: String
    let bytes: [UInt8]
}

/// The parts of a request and its service that formats use.
struct Version2Scope: Sendable {
    let model: EntityDataModel
    /// `https://host/odata/v2/service/`
    let root: String
    /// The address that was asked for, below the root: `Students?$top=1`.
    let relative: String
    let now: WireDate
}

/// An entity in a request's body, independent of the body's format.
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

/// A response of OData 2.0 before it is written in a format.
struct Version2Response: Sendable {
    var status = 200
    /// Those that do not depend on the format: `ETag`, `Location`, `sap-message`.
    var headers: MountHeaders = [:]
    var content: Version2Content

    static func nothing(_ status: Int = 204, headers: MountHeaders = [:]) -> Version2Response {
        Version2Response(status: status, headers: headers, content: .nothing)
    }

    static func text(_ text: String, headers: MountHeaders = [:]) -> Version2Response {
        Version2Response(headers: headers, content: .raw(Array(text.utf8), type: "text/plain;charset=utf-8"))
    }
}

/// The content of a response of OData 2.0.
enum Version2Content: Sendable {
    case nothing
    /// The same in every format: `$count`, `$value` of what is no bytes, `$metadata`.
    case raw([UInt8], type: String)
    /// Bytes that a caller stored.
    case stored([UInt8], StoredContent)
    /// Written already, in the format that was asked for.
    case written(MountResponse.Body, type: String)
    /// The names of the sets.
    case service([String])
    case feed(Version2Feed)
    case entry(Version2Entry)
    /// A property, or what a function answers that is no entity.
    case property(Version2Property)
    case links(Version2Links)
}

/// Entries of one set or of a navigation property.
struct Version2Feed: Sendable {
    let level: Version2Level
    let rows: [ResultRow]
    /// With `$inlinecount=allpages`: how many there are in all.
    var count: Int?
    /// The address of the next page; nil on the last.
    var next: String?
    /// The address of later changes (`!deltatoken`); nil where changes are not tracked or there are more pages.
    var delta: String?
    /// The addresses of entries that are there no more, in a feed of changes.
    var removed: [String] = []
}

/// One entry with the level that it belongs to.
struct Version2Entry: Sendable {
    let level: Version2Level
    let row: ResultRow
}

/// A property, or the result of a function that is no entity.
struct Version2Property: Sendable {
    let name: String
    /// In stored form.
    let value: WireValue
    let type: TypeReference
}

/// The addresses of related entities (`$links`).
struct Version2Links: Sendable {
    let addresses: [String]
    /// Otherwise it is one address.
    let isCollection: Bool
    var count: Int?
    var next: String?
}

/// The content of SAP's error document.
struct Version2Error: Sendable {
    let error: PorticoError
    var details: [PorticoError] = []
    let requestID: String

    /// The language of all messages.
    static let language = "en"
}

/// Between the two versions: stored values as version 4's JSON says them, and values that version 2 has no type for.
extension Version2ValueCodec {
    /// A simple value as version 4's JSON would have it.
    func version4(_ stored: WireValue, _ type: TypeReference) -> WireValue {
        switch stored {
        case .null, .bool, .string: return stored
        case .double(let number) where number.isFinite: return stored
        case .int64, .decimal:
            let isNumber = model.primitive(behind: type.type)?.isNumeric == true
            if isNumber, type.type.schemaName.flatMap({ model.enumeration($0) }) == nil { return stored }
        default: break
        }
        return StoredValueCodec(model: model).text(of: stored, type: type).map { .string($0) } ?? stored
    }

    /// Collections, places and values of no particular type: version 4's JSON as a text. Nil for null; a collection is never
    /// null, so that what is shown can be sent back.
    func document(_ stored: WireValue, _ type: TypeReference) -> String? {
        guard !stored.isNull || type.isCollection else { return nil }
        var output = JSONOutput(capacity: 64)
        ValueWriter(model: model, format: ResponseFormat()).write(stored, type, to: &output)
        return String(decoding: output.bytes, as: UTF8.self)
    }

    /// The value of such a text in version 4's JSON. Throws `request.invalid` where it is no JSON.
    func value(document text: String, at path: String) throws(PorticoError) -> WireValue {
        do {
            return try JSONFormat().read(Array(text.utf8), limits: ReadingLimits())
        } catch {
            throw PorticoError(.requestInvalid, "\(path) is a text that holds JSON.", target: path)
        }
    }
}
