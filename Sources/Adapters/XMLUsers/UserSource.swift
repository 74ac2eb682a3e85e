import AdapterKit
import WireFormats

/// Users of a system that speaks the same contract: version 1's list, which has all fields, or version 2's list and a
/// document for each user where there is no version 1.
struct UserSource: Sendable {
    private static let mediaTypes: Set<String> = ["application/xml", "text/xml"]
    /// Documents of users that are fetched at once.
    private static let detailsAtOnce = 8

    private static let document = ShapedXML(UserOperations.userRoot, .object(UserOperations.userShape))

    let upstream: any Upstream
    let path: String

    /// All users are one page: the contract knows no others.
    func page(_ request: MirrorRequest) async throws -> MirrorPage {
        let list = try await get("v1/list", request)
        if ![404, 405, 410].contains(list.status) { return MirrorPage(try users(list)) }
        let entries = try users(try await get("v2/list", request))
        return MirrorPage(try await details(of: entries, request))
    }

    /// `request`: of a page; nil: a caller waits.
    private func get(_ place: String, _ request: MirrorRequest? = nil) async throws -> UpstreamResponse {
        guard let address = upstream.url.resolving(path + place) else {
            throw PorticoError(.upstreamFailed, "The system \(upstream.name) could not be asked.", logDetail: "no path")
        }
        var sent = UpstreamRequest(.get, address, fields: ["Accept": "application/xml"])
        sent.deadline = request?.deadline
        let response = try await upstream.send(sent, for: request?.caller)
        // In a caller's name that is the answer to this caller, not a failure of the system.
        guard !(upstream.actsForCallers && [401, 403].contains(response.status)) else {
            throw PorticoError(.accessDenied, "The system \(upstream.name) does not let you do this.")
        }
        return response
    }

    private func users(_ response: UpstreamResponse) throws -> [WireDictionary] {
        let list = try document(response, root: UserOperations.listRoot.root)
        // One entry reads as a dictionary, an empty list as an empty text.
        switch list {
        case .string(let text) where text.isEmpty: return []
        case .dictionary(let members):
            let entries = members[UserOperations.entry.text].map { $0.arrayValue ?? [$0] } ?? []
            return try entries.map { entry in
                guard let members = entry.dictionaryValue else {
                    throw MirrorRefusal(.unexpected, "an entry of the list has no elements")
                }
                return Self.row(members)
            }
        default: throw MirrorRefusal(.unexpected, "the list has no entries")
        }
    }

    /// In the order of the list.
    private func details(of entries: [WireDictionary], _ request: MirrorRequest) async throws -> [WireDictionary] {
        var rows = [WireDictionary?](repeating: nil, count: entries.count)
        try await withThrowingTaskGroup(of: (Int, WireDictionary?).self) { group in
            for (index, entry) in entries.enumerated() {
                if index >= Self.detailsAtOnce, let (done, row) = try await group.next() { rows[done] = row }
                group.addTask { (index, try await detail(of: entry, request)) }
            }
            for try await (done, row) in group { rows[done] = row }
        }
        return rows.compactMap { $0 }
    }

    /// Nil for a user who has gone since the list was made.
    private func detail(of entry: WireDictionary, _ request: MirrorRequest) async throws -> WireDictionary? {
        guard let number = entry[Users.userID.text]?.int64Value else {
            throw MirrorRefusal(.unexpected, "a user's number is no integer")
        }
        let response = try await get("v2/user/\(number)", request)
        if response.status == 404 { return nil }
        guard let user = try document(response, root: UserOperations.userRoot.root).dictionaryValue else {
            throw MirrorRefusal(.unexpected, "a user has no elements")
        }
        return Self.row(user)
    }

    /// One user, by version 2's document.
    func user(_ id: RecordID) async throws -> MirrorRecord {
        let response = try await get("v2/user/\(id.text)")
        if response.status == 404 || response.status == 410 { return .absent }
        guard let user = try document(response, root: UserOperations.userRoot.root).dictionaryValue else {
            throw MirrorRefusal(.unexpected, "a user has no elements")
        }
        return .found(Self.row(user))
    }

    /// `PUT` with the whole document, or `DELETE`. The answer is taken where it is the user's document.
    func write(_ change: MirrorChange) async throws -> MirrorWriteResult {
        // The key is an integer, whose text stands in a path as it is.
        guard let address = upstream.url.resolving(path + "v2/user/\(change.id.text)") else {
            throw PorticoError(.adapterUnavailable, "The system \(upstream.name) could not be asked.")
        }
        var request = UpstreamRequest(
            change.operation == .delete ? .delete : .put, address,
            fields: ["Accept": "application/xml", "Idempotency-Key": change.idempotencyKey])
        if let user = change.after, let document = Self.document {
            request.fields["Content-Type"] = "application/xml; charset=utf-8"
            request.body = try document.write(.dictionary(user.only(Users.all)))
        }
        request.isIdempotent = change.mayRepeat
        let response = try await upstream.send(request)
        if change.operation == .delete, response.status == 404 || response.status == 410 { return .stored(nil) }
        let result = MirrorWriteResult(response, of: upstream.name)
        guard case .stored = result, change.operation != .delete, !response.body.isEmpty else { return result }
        // A page that says 200 is no success of a change.
        guard let user = try document(response, root: UserOperations.userRoot.root).dictionaryValue else {
            return .unknown("the answer has no elements")
        }
        return .stored(Self.row(user))
    }

    private func document(_ response: UpstreamResponse, root: String) throws -> WireValue {
        let body = try response.document(Self.mediaTypes, of: upstream.name)
        let value: WireValue
        do { value = try XMLFormat(untypedRoot: .named).read(body) } catch {
            throw MirrorRefusal(.malformed, "the answer is no XML")
        }
        guard let document = value["{\(UserOperations.namespace)}\(root)"] else {
            throw MirrorRefusal(.unexpected, "the answer is another document than \(root)")
        }
        return document
    }

    /// Texts of XML as the entity's fields have them.
    private static func row(_ elements: WireDictionary) -> WireDictionary {
        var row = elements
        if let number = elements[Users.userID.text]?.stringValue.flatMap({ Int64($0) }) {
            row[Users.userID.text] = .int64(number)
        }
        return row
    }
}
