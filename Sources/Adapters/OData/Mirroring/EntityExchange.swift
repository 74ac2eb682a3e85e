import AdapterKit
import Foundation
import ODataEngine
import ODataLanguage
import ODataModel
import WireFormats

/// Rows of one mirrored entity, page by page.
protocol EntitySource: Sendable {
    func page(_ request: MirrorRequest) async throws -> MirrorPage
}

/// Requests to an OData service of another system, and what its answers are.
struct EntityExchange: Sendable {
    private static let json: Set<String> = ["application/json"]
    private static let atom: Set<String> = ["application/atom+xml", "application/xml", "text/xml"]

    let called: any Upstream
    let upstream: ServiceUpstream
    /// In whose name it is asked, where the upstream is called so.
    let caller: Principal?

    init(_ called: any Upstream, _ upstream: ServiceUpstream, for caller: Principal? = nil) {
        (self.called, self.upstream, self.caller) = (called, upstream, caller)
    }

    /// Throws where the caller has to sign in there again.
    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        let answer = try await called.send(request, for: caller)
        guard answer.status != 401 || !called.actsForCallers else {
            throw UpstreamFailure(.signInRequired, of: called.name, detail: "the system answered 401")
        }
        return answer
    }

    // MARK: Addresses

    /// `path` is below the service's root, percent-encoded; options are not. Throws where it would be too long.
    @inline(never) func address(_ path: String, _ options: [(String, String)]) throws -> UpstreamAddress {
        let query = options.map { "\($0.0)=\(Self.escaped($0.1))" }.joined(separator: "&")
        let text = upstream.path + path + (query.isEmpty ? "" : "?" + query)
        guard let address = called.url.resolving(text) else {
            throw PorticoError(
                .upstreamFailed, "The system \(called.name) could not be asked.", logDetail: "the address is too long")
        }
        return address
    }

    // As `SetSource.page(in:_:_:)`: not within a function that waits.
    /// Where a link of an answer leads, from the answer's base on. Throws ``MirrorRefusal`` for one that leads out of the service.
    @inline(never) func link(_ text: String, from base: UpstreamAddress) throws(MirrorRefusal) -> UpstreamAddress {
        guard let address = base.resolving(Self.allowed(text)) else {
            throw MirrorRefusal(.unexpected, "a link of the answer is no address")
        }
        return try checked(address)
    }

    /// The same of a link that was resolved before.
    @inline(never) func address(of link: String) throws(MirrorRefusal) -> UpstreamAddress {
        guard let address = UpstreamAddress(link) else {
            throw MirrorRefusal(.unexpected, "a link of the answer is no address")
        }
        return try checked(address)
    }

    /// The base of relative links of an answer: its context (JSON Format 4.01, section 4.6.1), and where the answer is from
    /// without one. A context elsewhere is one by another name of the server, and stands for the service's root.
    @inline(never) func base(_ context: String?, of answer: UpstreamResponse) -> UpstreamAddress {
        guard let context else { return answer.address }
        let text = String(context.prefix { $0 != "#" })
        guard let address = answer.address.resolving(Self.allowed(text)), (try? checked(address)) != nil else {
            return root
        }
        return address
    }

    private var root: UpstreamAddress { called.url.resolving(upstream.path) ?? called.url }

    private func checked(_ address: UpstreamAddress) throws(MirrorRefusal) -> UpstreamAddress {
        guard address.origin == root.origin else {
            throw MirrorRefusal(.unexpected, "a link of the answer leads to another server, \(address.origin)")
        }
        guard address.path.hasPrefix(root.path), !Self.leadsUp(address.path) else {
            throw MirrorRefusal(.unexpected, "a link of the answer leads out of the service")
        }
        return address
    }

    /// Whether a server may understand a segment of the path as the one above, however it is written: escaped, with an escaped
    /// slash, or with parameters behind it.
    private static func leadsUp(_ path: Substring) -> Bool {
        let decoded = path.lowercased().replacing("%2e", with: ".").replacing("%2f", with: "/")
            .replacing("%5c", with: "/").replacing("%3b", with: ";")
        return decoded.split(separator: "/").contains { $0.prefix { $0 != ";" } == ".." }
    }

    /// Query values, with what RFC 3986 reserves escaped but for what `$filter` and `$select` are made of.
    static func escaped(_ text: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~'!$*:@,;()/".utf8)
        return escaped(text) { plain.contains($0) }
    }

    /// A link with everything escaped that an address cannot have.
    private static func allowed(_ text: String) -> String {
        escaped(text) { $0 > 0x20 && $0 < 0x7f && !"\"<>\\^`{|}".utf8.contains($0) }
    }

    private static func escaped(_ text: String, _ isPlain: (UInt8) -> Bool) -> String {
        guard !text.utf8.allSatisfy(isPlain) else { return text }
        let digits = Array("0123456789ABCDEF".utf8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                output.append(byte)
            } else {
                output += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// A stored value as the service's addresses have it, not percent-encoded; nil: it has no literal.
    func literal(_ value: WireValue, _ type: TypeReference, _ model: EntityDataModel) -> String? {
        guard upstream.version == .version4 else { return Version2ValueCodec(model: model).literal(value, type) }
        return LiteralText(model: model).plain(value, as: type)
    }

    /// Where an entity is below the service's root: `Students(1)`.
    @inline(never) func path(of id: RecordID, in table: RecordTable, _ model: EntityDataModel) throws -> String {
        guard !table.isSingleton else { return table.source }
        let fields = table.keyFields(of: id, form: StoredValueCodec(model: model))
        let literals = try table.keyNames.map { name in
            guard let column = table.columns[name], let value = fields[column.field.text],
                let literal = literal(value, column.type, model)
            else { throw PorticoError(.adapterUnavailable, "The key of \(table.source) has no address.") }
            return Self.escaped(literal).replacing("/", with: "%2F")
        }
        return table.source + table.keyPredicate(literals)
    }

    /// The record of an entity's address, as tombstones have it; nil: it is none of the set.
    func id(of address: String, in table: RecordTable, _ tables: ServiceTables, _ limits: LanguageLimits) -> RecordID? {
        guard let last = address.split(separator: "/").last else { return nil }
        let language = upstream.version == .version4 ? LanguageVersion.v4 : .v2
        guard let target = try? RequestTarget(String(last), version: language, limits: limits),
            case .path(let segments) = target.resource,
            let found = try? ResourcePathReader(tables: tables, options: []).address(segments),
            case .entity(let path) = found.target, path.table.entity == table.entity, case .key(let id) = path.origin
        else { return nil }
        return id
    }

    // MARK: Requests

    /// `prefers`: pages of a size, and that the service tracks changes.
    func read(
        _ address: UpstreamAddress, _ asked: MirrorRequest?, prefers: Bool = false
    ) async throws -> UpstreamResponse {
        var request = UpstreamRequest(.get, address, fields: fields)
        if prefers, upstream.version == .version4 {
            request.fields["Prefer"] = "odata.maxpagesize=\(SetSource.pageSize),odata.track-changes"
        }
        request.deadline = asked?.deadline
        return try await send(request)
    }

    /// In version 2 JSON has no place for what is gone; Atom has. Throws `sync.fetchAgain` for a service that has no Atom.
    func readChanges(_ address: UpstreamAddress, _ asked: MirrorRequest) async throws -> UpstreamResponse {
        guard upstream.version != .version4 else { return try await read(address, asked, prefers: true) }
        var request = UpstreamRequest(.get, address, fields: fields)
        request.fields["Accept"] = "application/atom+xml, application/json;q=0.1"
        request.deadline = asked.deadline
        let answer = try await send(request)
        guard !answer.isSuccess || !(answer.fields["Content-Type"] ?? "").mediaTypeName.hasSuffix("json") else {
            throw PorticoError(.fetchAgain, "Every row is fetched again.")
        }
        return answer
    }

    /// The media type of what is sent.
    var contentType: String {
        upstream.version == .version3 ? "application/json;odata=verbose" : "application/json"
    }

    var fields: UpstreamHeaders {
        switch upstream.version {
        case .version2: ["Accept": "application/json", "DataServiceVersion": "2.0", "MaxDataServiceVersion": "2.0"]
        case .version3: ["Accept": "application/json;odata=verbose", "MaxDataServiceVersion": "3.0"]
        case .version4:
            [
                "Accept": "application/json;odata.metadata=minimal;IEEE754Compatible=true", "OData-Version": "4.0",
                "OData-MaxVersion": "4.0",
            ]
        }
    }

    // MARK: Answers

    @inline(never) func feed(_ answer: UpstreamResponse, isSingle: Bool = false) throws -> EntityFeed {
        try EntityFeed(try document(answer), upstream.version, isSingle: isSingle)
    }

    @inline(never) func document(_ answer: UpstreamResponse) throws -> WireValue {
        let body = try answer.document(Self.json, of: called.name, quoting: ODataFailure.words(of: answer))
        do { return try JSONFormat().read(body) } catch { throw MirrorRefusal(.malformed, "the answer is no JSON") }
    }

    @inline(never) func changes(_ answer: UpstreamResponse) throws -> AtomChanges {
        try AtomChanges(try answer.document(Self.atom, of: called.name, quoting: ODataFailure.words(of: answer)))
    }
}
