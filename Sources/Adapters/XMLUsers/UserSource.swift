import AdapterKit
import Synchronization
import WireFormats

/// Users of a system that speaks the same contract: version 1's list where it has all fields, else version 2's list and a
/// document for each user.
///
/// What such systems do beside the contract is taken as it comes: no namespace or another one, other prefixes, elements
/// without a namespace below a root that has one, other orders, attributes, white space around numbers, documents at
/// `v2/{id}` alone, and 404 for an empty list where the configuration says so.
final class UserSource: Sendable {
    private static let mediaTypes: Set<String> = ["application/xml", "text/xml"]
    /// Documents of users that are fetched at once.
    private static let detailsAtOnce = 8
    /// For the documents of all users, where a caller waits.
    private static let longestDetails = Duration.seconds(60)
    private static let xmlInstance = "@{http://www.w3.org/2001/XMLSchema-instance}"

    private let upstream: any Upstream
    private let path: String
    /// Whether a list that is not found is a list without users.
    private let notFoundIsEmpty: Bool
    private let records: any RecordStore
    private let habits = Mutex(Habits())

    /// Habits of the other system that its answers have shown.
    private struct Habits {
        /// The namespace of its documents; nil: none.
        var namespace: String? = UserOperations.namespace
        /// A user's document is at `v2/{id}`, not at `v2/user/{id}`.
        var hasShortPaths = false
    }

    init(upstream: any Upstream, path: String, notFoundIsEmpty: Bool, records: any RecordStore) {
        self.upstream = upstream
        self.path = path
        self.notFoundIsEmpty = notFoundIsEmpty
        self.records = records
    }

    /// All users are one page: the contract knows no others.
    func page(_ request: MirrorRequest) async throws -> MirrorPage {
        let whole = try await get("v1/list", request)
        if ![404, 405, 410].contains(whole.status) {
            let rows = try users(whole)
            // Version 1 has all fields by this contract, and not by every system's.
            let isShort = !rows.isEmpty && rows.allSatisfy { $0[Users.shoeSize.text] == nil }
            return isShort ? try await details(of: rows, age: whole.age, request) : MirrorPage(rows, age: whole.age)
        }
        let list = try await get("v2/list", request)
        if notFoundIsEmpty, list.isNotFound {
            try await checkIsEmpty(list, request)
            return MirrorPage([], age: list.age)
        }
        return try await details(of: try users(list), age: list.age, request)
    }

    /// A server that has lost the service answers 404 as well: with a page for people, mostly. And a user who is still there
    /// contradicts a list without any. Beyond that the mirror's guard decides.
    private func checkIsEmpty(_ answer: UpstreamResponse, _ request: MirrorRequest) async throws {
        let type = (answer.fields["Content-Type"] ?? "").lowercased()
        guard !type.hasPrefix("text/html"), !type.hasPrefix("application/xhtml") else {
            throw MirrorRefusal(.unexpected, "the list is not found, and the answer is a page for people")
        }
        // By the field: the ids of rows that belong to callers are others.
        guard let known = try await records.query(Query(limit: 1), in: Users.entity.name).records.first,
            let number = known[Users.userID].int64Value
        else { return }
        guard try await getUser(String(number), request).isNotFound else {
            throw MirrorRefusal(.unexpected, "the list is not found, but a user is")
        }
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
        if case .string(let text) = list, text.allSatisfy(\.isWhitespace) { return [] }
        guard let members = list.dictionaryValue else {
            throw MirrorRefusal(.unexpected, "the list has no entries")
        }
        let entries = Self.entries(members)
        // A list of something else is no list without users.
        guard !entries.isEmpty || !Self.hasElements(members) else {
            throw MirrorRefusal(.unexpected, "the list has other elements than entries")
        }
        return try entries.map { entry in
            guard let elements = entry.dictionaryValue else {
                throw MirrorRefusal(.unexpected, "an entry of the list has no elements")
            }
            return Self.row(elements)
        }
    }

    /// Whether an element inside of it has elements; attributes and texts such as a count are none.
    private static func hasElements(_ members: WireDictionary) -> Bool {
        members.contains { member in
            (member.value.arrayValue ?? [member.value]).contains { value in
                value.dictionaryValue?.contains { $0.key != "$" && !$0.key.hasPrefix("@") } ?? false
            }
        }
    }

    /// In order, also where something else stands between them.
    private static func entries(_ members: WireDictionary) -> [WireValue] {
        members.flatMap { member -> [WireValue] in
            if localName(member.key) == UserOperations.entry.text { return member.value.arrayValue ?? [member.value] }
            guard member.key == "$", let parts = member.value.arrayValue else { return [] }
            return parts.compactMap(\.dictionaryValue).flatMap(entries)
        }
    }

    /// In the order of the list.
    private func details(
        of entries: [WireDictionary], age: Duration, _ request: MirrorRequest
    ) async throws -> MirrorPage {
        var found = [(row: WireDictionary, age: Duration)?](repeating: nil, count: entries.count)
        // All together take no longer than one call may: a list has as many entries as it likes.
        let end = ContinuousClock.now + (request.deadline ?? Self.longestDetails)
        try await withThrowingTaskGroup(of: (Int, (row: WireDictionary, age: Duration)?).self) { group in
            for (index, entry) in entries.enumerated() {
                guard ContinuousClock.now < end else {
                    throw MirrorRefusal(.unexpected, "the documents of the users take too long")
                }
                if index >= Self.detailsAtOnce, let (done, detail) = try await group.next() { found[done] = detail }
                group.addTask { (index, try await self.detail(of: entry, request)) }
            }
            for try await (done, detail) in group { found[done] = detail }
        }
        let details = found.compactMap { $0 }
        guard !details.isEmpty || entries.isEmpty else {
            throw MirrorRefusal(.unexpected, "there is no document of any user of the list")
        }
        return MirrorPage(details.map(\.row), age: details.map(\.age).reduce(age, max))
    }

    /// Nil for a user who has gone since the list was made.
    private func detail(
        of entry: WireDictionary, _ request: MirrorRequest
    ) async throws -> (row: WireDictionary, age: Duration)? {
        guard let number = entry[Users.userID.text]?.int64Value else {
            throw MirrorRefusal(.unexpected, "a user's number is no integer")
        }
        let response = try await getUser(String(number), request)
        if response.isNotFound { return nil }
        let user = try user(in: response)
        guard user[Users.userID.text]?.int64Value == number else {
            throw MirrorRefusal(.unexpected, "a user's document is of another user")
        }
        return (user, response.age)
    }

    /// One user, by version 2's document.
    func user(_ id: RecordID) async throws -> MirrorRecord {
        let response = try await getUser(id.text)
        return response.isNotFound ? .absent : .found(try user(in: response))
    }

    private func getUser(_ number: String, _ request: MirrorRequest? = nil) async throws -> UpstreamResponse {
        let places = ["v2/user/\(number)", "v2/\(number)"]
        let hasShortPaths = habits.withLock { $0.hasShortPaths }
        let first = try await get(places[hasShortPaths ? 1 : 0], request)
        guard first.isNotFound else { return first }
        let second = try await get(places[hasShortPaths ? 0 : 1], request)
        if second.isSuccess { habits.withLock { $0.hasShortPaths = !hasShortPaths } }
        // What is no success of the second path says nothing of the user.
        return second.isSuccess ? second : first
    }

    /// `PUT` with the whole document, or `DELETE`. The answer is taken where it is the user's document.
    func write(_ change: MirrorChange) async throws -> MirrorWriteResult {
        // The key is an integer, whose text stands in a path as it is.
        guard let address = upstream.url.resolving(path + "v2/user/\(change.id.text)") else {
            throw PorticoError(.adapterUnavailable, "The system \(upstream.name) could not be asked.")
        }
        // The system has no tags, so another's change between this answer and the change is not noticed.
        if change.isConditional, case .found(let row) = try await user(change.id),
            let refusal = change.refusal(over: row, Users.entity.fields, in: upstream.name)
        {
            return refusal
        }
        var request = UpstreamRequest(
            change.operation == .delete ? .delete : .put, address,
            fields: ["Accept": "application/xml", "Idempotency-Key": change.idempotencyKey])
        if let user = change.after, let document = documentWritten {
            request.fields["Content-Type"] = "application/xml; charset=utf-8"
            request.body = try document.write(.dictionary(user.only(Users.all)))
        }
        request.isIdempotent = change.mayRepeat
        let response = try await upstream.send(request)
        if change.operation == .delete, response.isNotFound { return .stored(nil) }
        let result = MirrorWriteResult(response, to: change, of: upstream.name)
            .quoting(Self.words(of: response))
        guard case .stored = result, change.operation != .delete, !response.body.isEmpty else { return result }
        // A page that says 200 is no success of a change.
        let stored = try user(in: response)
        // Users are put at the number that callers chose, new ones too.
        guard stored[Users.userID.text]?.int64Value.map({ String($0) }) ?? change.id.text == change.id.text else {
            return .unknown("the answer to the change has another user")
        }
        return .stored(stored)
    }

    /// The system's own words of a failure.
    private static func words(of response: UpstreamResponse) -> String? {
        ErrorText.text(of: response.body, mediaType: response.fields["Content-Type"] ?? "")
    }

    /// In the namespace of what the system answers.
    private var documentWritten: ShapedXML? {
        let namespace = habits.withLock { $0.namespace }
        let root = XMLDocument(root: UserOperations.userRoot.root, namespace: namespace)
        return ShapedXML(root, .object(UserOperations.userShape))
    }

    private func user(in response: UpstreamResponse) throws -> WireDictionary {
        guard let user = try document(response, root: UserOperations.userRoot.root).dictionaryValue else {
            throw MirrorRefusal(.unexpected, "a user has no elements")
        }
        return Self.row(user)
    }

    private func document(_ response: UpstreamResponse, root: String) throws -> WireValue {
        let body = try response.document(Self.mediaTypes, of: upstream.name, quoting: Self.words(of: response))
        let value: WireValue
        do { value = try XMLFormat(untypedRoot: .named).read(body) } catch {
            throw MirrorRefusal(.malformed, "the answer is no XML")
        }
        guard let document = value.dictionaryValue?.first(where: { Self.localName($0.key) == root }) else {
            throw MirrorRefusal(.unexpected, "the answer is another document than \(root)")
        }
        let namespace = document.key.hasPrefix("{") ? String(document.key.dropFirst().prefix { $0 != "}" }) : nil
        habits.withLock { $0.namespace = namespace }
        return document.value
    }

    /// `{namespace}name` is an element in another namespace than its parent.
    private static func localName(_ key: String) -> String {
        guard key.hasPrefix("{"), let end = key.lastIndex(of: "}") else { return key }
        return String(key[key.index(after: end)...])
    }

    /// Texts of XML as the entity's fields have them. What an element says of its type is no member of the user.
    private static func row(_ elements: WireDictionary) -> WireDictionary {
        var row = WireDictionary()
        for element in elements where !element.key.hasPrefix(xmlInstance) && !element.key.hasPrefix("@xml:") {
            let name = localName(element.key)
            guard row[name] == nil, let value = text(of: element.value) else { continue }
            row[name] = value
        }
        let digits = row[Users.userID.text]?.stringValue?.filter { !$0.isWhitespace }
        if let number = digits.flatMap({ Int64($0) }) { row[Users.userID.text] = .int64(number) }
        return row
    }

    /// The text of an element with attributes; nil for one that is said to be nil.
    private static func text(of value: WireValue) -> WireValue? {
        guard let members = value.dictionaryValue else { return value }
        if members[xmlInstance + "nil"]?.stringValue.map({ ["true", "1"].contains($0) }) ?? false { return nil }
        guard members.allSatisfy({ $0.key == "$" || $0.key.hasPrefix("@") }) else { return value }
        return members["$"] ?? ""
    }
}

extension UpstreamResponse {
    fileprivate var isNotFound: Bool { status == 404 || status == 410 }
}
