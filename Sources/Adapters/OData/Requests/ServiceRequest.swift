import AdapterKit
import ODataLanguage
import ODataModel

/// One parsed request of a service. Nothing is looked up yet. A class, so that handlers share it without copying.
final class ServiceRequest: Sendable {
    let method: String
    /// Below the root, as it came: `Students(1)?$select=Name`.
    let relative: String
    let target: RequestTarget
    let format: ResponseFormat
    let preferences: Preferences
    let headers: MountHeaders
    let body: [UInt8]
    /// `https://host/odata/v4/service/`
    let root: String
    let caller: Principal
    let records: any RecordStore
    /// How old mirrored records are.
    let ages: any RecordAges
    /// Of the mirrored records that the answer is made of; nil: there are none, or it is not known yet.
    let age: RecordAge?
    /// What is asked, where it is only read; without the page.
    let cachedQuery: CachedQuery?
    /// The calls of other systems for it; nil where the service asks none.
    let calls: CalledRequest?
    /// What addresses in bodies are written in.
    let language: LanguageVersion
    /// The body translated to version 4's JSON, if it came in another format.
    let content: WireValue?

    init(
        method: String, relative: String, target: RequestTarget, format: ResponseFormat, preferences: Preferences,
        headers: MountHeaders, body: [UInt8], root: String, caller: Principal, records: any RecordStore,
        ages: any RecordAges = NoRecordAges(), age: RecordAge? = nil, cachedQuery: CachedQuery? = nil,
        calls: CalledRequest? = nil,
        language: LanguageVersion = .v4, content: WireValue? = nil
    ) {
        self.method = method
        self.relative = relative
        self.target = target
        self.format = format
        self.preferences = preferences
        self.headers = headers
        self.body = body
        self.root = root
        self.caller = caller
        self.records = records
        self.ages = ages
        self.age = age
        self.cachedQuery = cachedQuery
        self.calls = calls
        self.language = language
        self.content = content
    }

    /// The same request with its translated body.
    func saying(_ content: WireValue?) -> ServiceRequest {
        ServiceRequest(
            method: method, relative: relative, target: target, format: format, preferences: preferences,
            headers: headers, body: body, root: root, caller: caller, records: records, ages: ages, age: age,
            cachedQuery: cachedQuery, calls: calls, language: language, content: content)
    }

    /// The same request, which may change records that its caller may not read. `own`: all records.
    func addressing(_ own: any RecordStore) -> ServiceRequest { with(AddressedRecords(base: records, own: own)) }

    /// The same request with other records.
    func with(_ records: any RecordStore) -> ServiceRequest {
        ServiceRequest(
            method: method, relative: relative, target: target, format: format, preferences: preferences,
            headers: headers, body: body, root: root, caller: caller, records: records, ages: ages, age: age,
            cachedQuery: cachedQuery, calls: calls, language: language, content: content)
    }

    /// The same request, whose answer says how old it is.
    func answered(at age: RecordAge?) -> ServiceRequest {
        guard let age else { return self }
        return ServiceRequest(
            method: method, relative: relative, target: target, format: format, preferences: preferences,
            headers: headers, body: body, root: root, caller: caller, records: records, ages: ages, age: age,
            cachedQuery: cachedQuery, calls: calls, language: language, content: content)
    }

    /// Without the places that pages and changes are at.
    var address: UntokenedAddress { cachedQuery?.address ?? UntokenedAddress(relative) }

    /// Whether a change of what is not there creates it.
    var createsMissing: Bool { language != .v2 }

    var contentType: String { (headers["Content-Type"] ?? "").lowercased() }

    var sendsJSON: Bool {
        if content != nil { return true }
        let type = contentType.mediaTypeName
        return type == "application/json" || type.hasSuffix("+json")
    }

    /// The decoded text of an option without a form of its own.
    func custom(_ name: String) -> String? {
        for option in target.options {
            if case .custom(name, let value, _) = option.form { return value }
        }
        return nil
    }
}

extension RequestTarget {
    var formatOption: String? {
        for option in options {
            if case .format(let text) = option.form { return text }
        }
        return nil
    }
}

/// `OData-Version` and `OData-MaxVersion` (Protocol 4.01, sections 8.1.5 and 8.2.7).
struct ProtocolVersion {
    let answered: String

    /// The version that a body is in is of no matter where there is none.
    init(_ headers: MountHeaders, hasBody: Bool) throws(PorticoError) {
        if hasBody, let sent = headers["OData-Version"].map(Self.number), sent != "4.0", sent != "4.01" {
            throw PorticoError(.requestInvalid, "This service speaks OData 4.0 and 4.01.", target: "OData-Version")
        }
        guard Self.maximum(headers).map({ $0 >= 4 }) ?? true else {
            throw PorticoError(.notAcceptable, "This service speaks OData 4.0 and 4.01.", target: "OData-MaxVersion")
        }
        answered = Self.failing(headers)
    }

    /// The version of an error response.
    static func failing(_ headers: MountHeaders) -> String {
        guard let maximum = maximum(headers), maximum >= 4 else { return "4.01" }
        return maximum < 4.01 ? "4.0" : "4.01"
    }

    /// Nil where none was sent; nothing is less than what is no number.
    private static func maximum(_ headers: MountHeaders) -> Double? {
        headers["OData-MaxVersion"].map { Double(number($0)) ?? -.infinity }
    }

    /// Before `;`: .NET's clients name themselves behind it, as version 3 let them (`4.0;NetFx`).
    private static func number(_ field: String) -> String { field.mediaTypeName }
}

/// `POST …/$query` with the options in the body reads as `GET` does (URL Conventions 4.01, section 4.17): for queries that
/// are too long for an address.
struct QueryPost {
    let method: String
    let relative: String
    let headers: MountHeaders
    let body: [UInt8]

    /// The method and the address that are meant.
    func plain() throws(PorticoError) -> (method: String, relative: String) {
        guard method == "POST" else { return (method, relative) }
        let parts = relative.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, path.hasSuffix("/$query") else { return (method, relative) }
        let type = (headers["Content-Type"] ?? "").prefix { $0 != ";" }.lowercased()
        guard type == "text/plain" else {
            throw PorticoError(.unsupportedMediaType, "The options of a query can be sent as text/plain.")
        }
        guard let text = String(validating: body, as: UTF8.self) else {
            throw PorticoError(.requestMalformed, "The body is not UTF-8.")
        }
        let options = (parts.count > 1 ? [String(parts[1])] : []) + (text.isEmpty ? [] : [text])
        let resource = String(path.dropLast("/$query".count))
        return ("GET", options.isEmpty ? resource : "\(resource)?\(options.joined(separator: "&"))")
    }
}

/// Rejects `Isolation: snapshot` (`OData-Isolation` in 4.0; Protocol 4.01, section 8.2.6), which would need one
/// snapshot for all pages. A single response is read from one snapshot in any case.
enum SnapshotIsolation {
    /// Throws `precondition.failed` where it is asked for.
    static func refuse(_ headers: MountHeaders) throws(PorticoError) {
        for name in ["Isolation", "OData-Isolation"] where headers[name] != nil {
            throw PorticoError(.preconditionFailed, "Snapshots are not isolated across requests.", target: name)
        }
    }
}

/// The `Vary` header field: the request header fields that a response depends on (Protocol 4.01, section 8.3.8).
enum VaryHeader {
    static let fields = "Accept, OData-MaxVersion, Prefer"

    static func added(_ answer: MountResponse) -> MountResponse {
        var answer = answer
        answer.headers["Vary"] = fields
        return answer
    }
}

/// The preferences of a request (`Prefer`, RFC 7240; Protocol 4.01, section 8.2.8). Unknown ones are ignored.
struct Preferences: Sendable, Equatable {
    enum Returned: String, Sendable {
        case minimal, representation
    }

    var returned: Returned?
    var maximumPageSize: Int?
    /// As OData 4.0 calls it.
    private var pagesWithPrefix = false
    var respondsAsynchronously = false
    /// Nil where it is not sent; the default differs by batch format.
    var continuesOnError: Bool?
    var tracksChanges = false
    /// As OData 4.0 calls it.
    private var tracksWithPrefix = false
    /// `omit-values`, which OData 4.0 has with its prefix only.
    private var omitted: String?
    private var omitsWithPrefix = false
    /// `include-annotations` as it was sent. Answers have none, which suits every wish.
    private var annotations: String?

    init(_ field: String?) {
        for piece in Self.pieces(field ?? "") {
            let pair = piece.split(separator: "=", maxSplits: 1).map { part in
                String(part.filter { $0 != " " && $0 != "\"" })
            }
            guard var name = pair.first?.lowercased() else { continue }
            let hasPrefix = name.hasPrefix("odata.")
            // Cannot trap: it begins with that.
            if hasPrefix { name.removeFirst("odata.".count) }
            let value = pair.count > 1 ? pair[1] : nil
            switch name {
            case "return": returned = returned ?? value.flatMap { Returned(rawValue: $0.lowercased()) }
            case "maxpagesize":
                (maximumPageSize, pagesWithPrefix) = (
                    value.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }, hasPrefix
                )
            case "respond-async": respondsAsynchronously = true
            case "continue-on-error": continuesOnError = value != "false"
            case "track-changes": (tracksChanges, tracksWithPrefix) = (true, hasPrefix)
            case "omit-values": (omitted, omitsWithPrefix) = (value?.lowercased(), hasPrefix)
            case "include-annotations":
                annotations = value.map { "\(hasPrefix ? "odata." : "")include-annotations=\"\($0)\"" }
            default: continue
            }
        }
    }

    /// Separated by commas and semicolons that are not within quotes.
    private static func pieces(_ field: String) -> [Substring] {
        var isQuoted = false
        return field.split { character in
            if character == "\"" { isQuoted.toggle() }
            return !isQuoted && (character == "," || character == ";")
        }
    }

    /// Which properties are left out.
    func omitted(version: String) -> OmittedValues? {
        guard version != "4.0" || omitsWithPrefix else { return nil }
        return omitted.flatMap { OmittedValues(rawValue: $0) }
    }

    /// What `Preference-Applied` says of an answer that was read in this format.
    func applied(_ format: ResponseFormat, pageSize: Int? = nil, tracked: Bool = false) -> MountHeaders {
        var names: [String] = []
        if maximumPageSize != nil, let pageSize {
            names.append("\(pagesWithPrefix ? "odata." : "")maxpagesize=\(pageSize)")
        }
        if let omitted = format.omitted {
            names.append("\(omitsWithPrefix ? "odata." : "")omit-values=\(omitted.rawValue)")
        }
        if tracked, tracksChanges { names.append(tracksWithPrefix ? "odata.track-changes" : "track-changes") }
        if let annotations { names.append(annotations) }
        return names.isEmpty ? [:] : ["Preference-Applied": names.joined(separator: ", ")]
    }
}

/// A request's address below the root without `$skiptoken` and `$deltatoken`.
struct UntokenedAddress: Sendable {
    let path: String
    /// As they came.
    let options: [String]
    let text: String

    init(_ relative: String) {
        let parts = relative.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        path = parts.first ?? ""
        options = (parts.count > 1 ? parts[1] : "").split(separator: "&").map(String.init).filter { option in
            !["skiptoken", "deltatoken"].contains(Self.name(option))
        }
        text = Self.text(path, options)
    }

    func adding(_ more: [String]) -> String { Self.text(path, options + more) }

    private static func text(_ path: String, _ options: [String]) -> String {
        options.isEmpty ? path : "\(path)?\(options.joined(separator: "&"))"
    }

    /// Without its sign: `%24filter` and `filter` are `$filter`.
    static func name(_ option: String) -> String {
        var name = option.prefix { $0 != "=" }.lowercased()
        // Cannot trap: it begins with that.
        for sign in ["$", "%24", "!", "%21"] where name.hasPrefix(sign) { name.removeFirst(sign.count) }
        return name
    }
}

/// Splits an address that the service's own links contain: the query, the `$skiptoken` and the delta token.
struct PageAddress {
    let cachedQuery: String
    private let options: [QueryOption]

    /// What is written in any other way is a question as a whole. `changes`: what the option is called that says since when.
    init(_ text: String, changes: String) {
        // A plus may be a space, which depends on what stands around it.
        let tail = text.utf8.contains(UInt8(ascii: "+")) ? nil : Self.tail(of: text[...], changes)
        cachedQuery = tail.map { String($0.cachedQuery) } ?? text
        options = tail?.options ?? []
    }

    var isOfPage: Bool { !options.isEmpty }

    /// What the whole address asks for, of what its question does.
    func target(_ target: RequestTarget) -> RequestTarget {
        isOfPage ? RequestTarget(target.resource, options: target.options + options) : target
    }

    private static func tail(
        of text: Substring, _ changes: String
    ) -> (cachedQuery: Substring, options: [QueryOption])? {
        let start = tokenStart(in: text)
        if let page = option("$skiptoken", of: text, start, QueryOption.Form.skipToken) {
            return (page.before, [page.option])
        }
        guard let changes = option(changes, of: text, start, QueryOption.Form.deltaToken) else { return nil }
        let page = option(
            "$skiptoken", of: changes.before, tokenStart(in: changes.before), QueryOption.Form.skipToken)
        return page.map { ($0.before, [$0.option, changes.option]) }
    }

    /// The option that ends with the text, and what is before it.
    private static func option(
        _ name: String, of text: Substring, _ start: Substring.Index, _ form: (String) -> QueryOption.Form
    ) -> (before: Substring, option: QueryOption)? {
        let (mark, written) = ("&\(name)=", text.utf8[..<start])
        guard start < text.endIndex, written.suffix(mark.utf8.count).elementsEqual(mark.utf8) else { return nil }
        let before = Substring(written.dropLast(mark.utf8.count))
        let (first, end) = (before.utf8.count + 1, text.utf8.count)
        let range = SourceRange(first, end)
        return (
            before,
            QueryOption(
                form(String(text[start...])), nameRange: SourceRange(first, first + name.utf8.count), range: range)
        )
    }

    /// Where what may be a token begins that ends with the text.
    private static func tokenStart(in text: Substring) -> Substring.Index {
        let bytes = text.utf8
        var start = bytes.endIndex
        while start > bytes.startIndex, isOfToken(bytes[bytes.index(before: start)]) {
            start = bytes.index(before: start)
        }
        return start
    }

    /// Those of base64url, which mean themselves.
    private static func isOfToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// A request target that begins with the root path of its service.
enum RootedTarget {
    /// What stands below the root, as it came. By segments, since the root may have come with escapes; they are split by
    /// bytes, which is what a target is made of.
    static func relative(_ target: String, below root: String) -> String {
        var rest = target.utf8[...]
        for byte in root.utf8 where byte == UInt8(ascii: "/") {
            rest = rest.dropFirst().drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        }
        // One slash belongs to the root; an empty segment behind it is none of a path's.
        return String(Substring(rest.first == UInt8(ascii: "/") ? rest.dropFirst() : rest))
    }
}

/// Parses the part of an address behind the service's root.
enum TargetReader {
    /// Throws `request.invalid` (or `request.limitExceeded`) with the failing position in the message.
    static func target(
        _ relative: String, language: LanguageVersion = .v4, limits: LanguageLimits
    ) throws(PorticoError) -> RequestTarget {
        do {
            return try RequestTarget(relative, version: language, limits: limits)
        } catch {
            let code = error.kind == .limit ? ErrorCode.requestLimitExceeded : .requestInvalid
            throw PorticoError(
                code, "The address is not well-formed at position \(error.position): \(error.expected) was expected.")
        }
    }
}
