import AdapterKit
import ODataModel
import ODataQueries

/// What a request of OData 2.0 is answered, before it is written in a format.
struct Version2Answer: Sendable {
    var status = 200
    /// Those that do not depend on the format: `ETag`, `Location`, `sap-message`.
    var headers: MountHeaders = [:]
    var content: Version2Content

    static func nothing(_ status: Int = 204, headers: MountHeaders = [:]) -> Version2Answer {
        Version2Answer(status: status, headers: headers, content: .nothing)
    }

    static func text(_ text: String, headers: MountHeaders = [:]) -> Version2Answer {
        Version2Answer(headers: headers, content: .raw(Array(text.utf8), type: "text/plain;charset=utf-8"))
    }
}

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

/// Entries of one set, or of what a navigation property leads to.
struct Version2Feed: Sendable {
    let level: Version2Level
    let rows: [ResultRow]
    /// With `$inlinecount=allpages`: how many there are in all.
    var count: Int?
    /// The address of the next page; nil on the last.
    var next: String?
    /// Where changes from here on can be asked for (`!deltatoken`); nil where nobody asked or there are more pages.
    var delta: String?
    /// The addresses of entries that are there no more, in a feed of changes.
    var removed: [String] = []
}

struct Version2Entry: Sendable {
    let level: Version2Level
    let row: ResultRow
}

struct Version2Property: Sendable {
    let name: String
    /// In stored form.
    let value: WireValue
    let type: TypeReference
}

/// `$links`
struct Version2Links: Sendable {
    let addresses: [String]
    /// Otherwise it is one address.
    let isCollection: Bool
    var count: Int?
    var next: String?
}

/// SAP's error: what a caller may see of a failure.
struct Version2Error: Sendable {
    let error: PorticoError
    var details: [PorticoError] = []
    let requestID: String

    /// The language of all messages.
    static let language = "en"
}
