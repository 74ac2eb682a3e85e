import AdapterKit
import HTTPServer
import HTTPTypes
import NIOCore
import RecordStorage
import Synchronization

/// Encoded responses, valid as long as the records they were made from.
///
/// An entry belongs to the version of its adapter's records before the response was computed. It is used only while the
/// version is the same, so no change can be missed; a change during the computation makes the entry useless, never
/// wrong. The least recently used entries are removed when ``capacity`` bytes are exceeded.
final class ResponseCache: Sendable {
    /// A class, so that looking it up copies none of its parts.
    final class Key: Hashable, Sendable {
        let endpoint: String
        /// What the caller said about formats and codings, as it said it: spellings are few, and a look-up negotiates
        /// nothing.
        let accept: String?
        let acceptEncoding: String?
        let contentType: String?
        /// Whether a page is preferred.
        let isForPerson: Bool
        /// What an answer may depend on besides the input: the caller's roles, nil for an anonymous one.
        let roles: Set<RoleName>?
        /// Who asks, where row rules make the answer theirs; nil: it is the same for all that may call.
        let reader: Principal?
        /// Path and query.
        let target: String
        let body: [UInt8]

        /// To the same request from callers of these roles; nil: from every caller that is admitted.
        init(
            _ endpoint: String, _ request: GatewayRequest, roles: Set<RoleName>?, reader: Principal? = nil,
            body: [UInt8]
        ) {
            self.endpoint = endpoint
            accept = request.headers.text(.accept)
            acceptEncoding = request.headers.text(.acceptEncoding)
            contentType = request.headers.text(.contentType)
            isForPerson = request.isForPerson
            self.roles = roles
            self.reader = reader
            target = request.target.text
            self.body = body
        }
    }

    /// A class, so that noting a use changes no dictionary. It is touched under the lock only.
    fileprivate final class Entry {
        let version: RecordsVersion
        let answer: CachedResponse
        let cost: Int
        var lastUse: UInt64

        init(version: RecordsVersion, answer: CachedResponse, cost: Int, lastUse: UInt64) {
            self.version = version
            self.answer = answer
            self.cost = cost
            self.lastUse = lastUse
        }
    }

    fileprivate struct State {
        var entries: [Key: Entry] = [:]
        var cost = 0
        var uses: UInt64 = 0
        var hits: UInt64 = 0
        var misses: UInt64 = 0
    }

    let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    func response(for key: Key, at version: RecordsVersion) -> CachedResponse? {
        state.withLock { state -> CachedResponse? in
            guard let entry = state.entries[key] else {
                state.misses += 1
                return nil
            }
            guard entry.version == version else {
                state.misses += 1
                state.remove(key)
                return nil
            }
            state.hits += 1
            state.uses += 1
            entry.lastUse = state.uses
            return entry.answer
        }
    }

    /// Look-ups since the start, and what is kept now.
    var figures: (hits: UInt64, misses: UInt64, entries: Int, bytes: Int) {
        state.withLock { ($0.hits, $0.misses, $0.entries.count, $0.cost) }
    }

    func keep(_ response: GatewayResponse, for key: Key, at version: RecordsVersion) {
        guard response.buffer.readableBytes <= capacity / 8 else { return }
        let answer = CachedResponse(response)
        let cost = answer.cost + key.size + 512
        guard cost <= capacity / 8 else { return }
        state.withLock { state in
            state.remove(key)
            state.uses += 1
            state.entries[key] = Entry(version: version, answer: answer, cost: cost, lastUse: state.uses)
            state.cost += cost
            if state.cost > capacity { state.shrink(to: capacity / 2) }
        }
    }
}

extension ResponseCache.Key {
    static func == (left: ResponseCache.Key, right: ResponseCache.Key) -> Bool {
        left.target == right.target && left.endpoint == right.endpoint && left.accept == right.accept
            && left.acceptEncoding == right.acceptEncoding && left.contentType == right.contentType
            && left.isForPerson == right.isForPerson && left.body == right.body && left.roles == right.roles
            && left.reader == right.reader
    }

    /// Where and what is asked tells most keys apart; hashing a principal costs more than comparing it once.
    func hash(into hasher: inout Hasher) {
        hasher.combine(target)
        hasher.combine(body)
        hasher.combine(reader?.id)
    }

    /// In bytes, about.
    fileprivate var size: Int {
        [accept, acceptEncoding, contentType].reduce(target.utf8.count + body.count) { $0 + ($1?.utf8.count ?? 0) }
    }
}

extension ResponseCache.State {
    fileprivate mutating func remove(_ key: ResponseCache.Key) {
        if let entry = entries.removeValue(forKey: key) { cost -= entry.cost }
    }

    /// Half is freed at once, so that the sort is paid for by many later answers.
    fileprivate mutating func shrink(to target: Int) {
        for (key, _) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
            guard cost > target else { return }
            remove(key)
        }
    }
}

/// An answer that is sent many times: the response, and its header fields as connections send them, encoded once.
///
/// What differs with each sending (the date, the request's id) is added to them; the body's bytes are shared.
final class CachedResponse: Sendable {
    let response: GatewayResponse
    let fields: PreparedFields
    /// Of the 304 for callers who have the answer. Nil where it has no validator.
    let unchangedFields: PreparedFields?
    let formatLabel: ResponseFormatLabel

    init(_ response: GatewayResponse) {
        self.response = response
        formatLabel = response.formatLabel
        fields = PreparedFields(response.framed().headers)
        let hasValidator = response.headers[.eTag] != nil || response.headers[.lastModified] != nil
        unchangedFields = hasValidator ? PreparedFields(response.unchanged().framed().headers) : nil
    }

    /// Bytes that keeping it costs, about.
    var cost: Int { response.buffer.readableBytes + fields.cost + (unchangedFields?.cost ?? 0) }
}

extension GatewayResponse {
    /// Adds the header fields of every response.
    func framed() -> GatewayResponse {
        var framed = self
        framed.frame()
        return framed
    }

    /// `isForHead`: ``omitBody()`` has set the length, where there is one.
    mutating func frame(isForHead: Bool = false) {
        headers.put(.xContentTypeOptions, "nosniff")
        // Content of adapters and callers must never act on this origin as a page. Set here, so that no endpoint can
        // omit it.
        if headers.text(.contentSecurityPolicy) == nil {
            headers.append(HTTPField(name: .contentSecurityPolicy, value: StoredContent.securityPolicy))
        }
        let hasLength = stream == nil && !isForHead && status != .noContent && status != .notModified
        if hasLength, headers.text(.contentLength) == nil {
            headers.append(HTTPField(name: .contentLength, value: String(buffer.readableBytes)))
        }
    }

    /// The 304 that stands for this response (RFC 9110, section 15.4.5).
    func unchanged() -> GatewayResponse {
        var unchanged = GatewayResponse(.notModified)
        // A 304's fields take the place of those that the caller has kept, a page's policy too.
        let names: [HTTPField.Name] = [
            .eTag, .lastModified, .cacheControl, .vary, .contentSecurityPolicy, .contentDisposition,
            .crossOriginResourcePolicy,
        ]
        for name in names {
            unchanged.headers[name] = headers[name]
        }
        return unchanged
    }
}
