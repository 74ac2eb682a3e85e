import AdapterKit
import Foundation
import ODataEngine
import ODataLanguage

/// Handles `track-changes` and delta links (Protocol 4.01, sections 8.2.8.6 and 11.3).
struct DeltaReading: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }
    private var address: UntokenedAddress { request.address }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    /// A page of the collection itself is being read, whose changes are to be followed.
    var isAskedToTrack: Bool { request.preferences.tracksChanges || deltaToken != nil }

    var isAskedForChanges: Bool { deltaToken != nil && !isOnePage }

    /// Of the first page: what changed while the others were read is reported again.
    func token(_ mark: ChangeCursor) throws -> String {
        guard let deltaToken else { return DeltaToken(mark, of: address).text }
        return try read(deltaToken).text
    }

    func link(_ token: String) -> String { request.root + address.adding([option(token)]) }

    /// SAP's name for it in version 2.
    func option(_ token: String) -> String { "\(request.language == .v2 ? "!" : "$")deltatoken=\(token)" }

    func changes(_ collectionPath: EntityCollectionPath) async throws -> MountResponse {
        let answer = try await page(collectionPath, isCounted: request.target.options.contains(where: \.isCount))
        let context = ContextFragment(options: request.target.options, version: request.format.version)
        // What is left out of a delta is as it was.
        var format = request.format
        format.omitted = nil
        let writer = ResultWriter(tables: handler.tables, format: format, root: request.root, asOf: request.age?.asOf)
        let body = try DeltaWriter(writer, most: handler.limits.heldBytes).document(
            answer.page, count: answer.count, context: "\(context.collection(collectionPath))/$delta",
            link: link(answer.token))
        return ResponseBuilder(format: format).json(
            body, headers: CollectionReading(handler).applied(tracked: true, by: format))
    }

    /// `/$count`: how many changes there are.
    func count(_ collectionPath: EntityCollectionPath) async throws -> MountResponse {
        let tracked = try await tracked(collectionPath)
        let (token, limit) = (try read(deltaToken ?? ""), CollectionReading(handler).pageSize)
        let records = request.records
        let count = try await telling {
            try await records.withReadSnapshot { try tracked.count(since: token.mark, limit: limit, at: $0) }
        }
        return handler.responses.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
    }

    struct Answer {
        let page: ChangesPage
        let count: Int?
        /// To go on from.
        let token: String
    }

    /// What has changed since the request's token. `isWhole`: without changes within rows.
    func page(_ collectionPath: EntityCollectionPath, isCounted: Bool, isWhole: Bool = false) async throws -> Answer {
        let tracked = try await tracked(collectionPath)
        let (token, limit) = (try read(deltaToken ?? ""), CollectionReading(handler).pageSize)
        let records = request.records
        let (page, count) = try await telling {
            try await records.withReadSnapshot { snapshot in
                (
                    try tracked.changes(since: token.mark, limit: limit, isWhole: isWhole, at: snapshot),
                    isCounted ? try tracked.count(since: token.mark, limit: limit, at: snapshot) : nil
                )
            }
        }
        return Answer(page: page, count: count, token: DeltaToken(page.mark, of: address).text)
    }

    private func tracked(_ collectionPath: EntityCollectionPath) async throws -> TrackedQuery {
        guard let tracked = try handler.runner.tracked(try await CollectionReading(handler).query(collectionPath))
        else {
            throw PorticoError(.requestInvalid, "Changes of this query cannot be followed.", target: "$deltatoken")
        }
        return tracked
    }

    private func read(_ text: String) throws(PorticoError) -> DeltaToken {
        guard let token = DeltaToken(text) else {
            throw PorticoError(.requestInvalid, "This is no delta token.", target: "$deltatoken")
        }
        guard token.isOf(address) else {
            throw PorticoError(.requestInvalid, "The delta token belongs to another query.", target: "$deltatoken")
        }
        return token
    }

    /// 410 names where to begin again (section 11.3).
    private func telling<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PorticoError where error.code == .fetchAgain {
            throw ODataError(error, status: 410, headers: ["Location": request.root + address.text])
        }
    }

    private var deltaToken: String? {
        for option in request.target.options {
            if case .deltaToken(let text) = option.form { return text }
        }
        return nil
    }

    private var isOnePage: Bool {
        request.target.options.contains { if case .skipToken = $0.form { true } else { false } }
    }
}

extension QueryOption {
    var isCount: Bool {
        if case .count(let isWanted) = form { isWanted } else { false }
    }
}

/// `$deltatoken`: the position in the change history, the query and what the caller may see. The server keeps no state.
///
/// Base64url of the history's name, the position and two hashes. A client that changes it gets the changes since
/// another position, of rows that it may see.
struct DeltaToken: Equatable {
    let mark: ChangeCursor
    let query: UInt64

    init(_ mark: ChangeCursor, of address: UntokenedAddress) {
        self.mark = mark
        query = Self.number(of: address)
    }

    init?(_ text: String) {
        guard text.utf8.count <= 512, let bytes = Base64URL.decode(lenient: text) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: "\u{1F}", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == Self.version, let position = Int64(parts[2]), position >= 0,
            let scopeHash = UInt64(parts[3], radix: 16), let query = UInt64(parts[4], radix: 16)
        else { return nil }
        mark = ChangeCursor(history: String(parts[1]), position: Revision(position), scopeHash: scopeHash)
        self.query = query
    }

    private static let version = "1"

    var text: String {
        let parts = [
            Self.version, mark.history, String(mark.position.number), String(mark.scopeHash, radix: 16),
            String(query, radix: 16),
        ]
        return Base64URL.encode(Array(parts.joined(separator: "\u{1F}").utf8))
    }

    func isOf(_ address: UntokenedAddress) -> Bool { query == Self.number(of: address) }

    /// The same for the same query: how the answer is written and counted is no part of it. FNV-1a.
    private static func number(of address: UntokenedAddress) -> UInt64 {
        let apart = ["format", "count", "orderby", "inlinecount"]
        let options = address.options.filter { !apart.contains(UntokenedAddress.name($0)) }
            .map { $0.removingPercentEncoding ?? $0 }.sorted()
        var path = address.path.removingPercentEncoding ?? address.path
        // Cannot trap: it ends with that.
        if path.hasSuffix("/$count") { path.removeLast("/$count".count) }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in ([path] + options).joined(separator: "\u{1F}").utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return hash
    }
}
