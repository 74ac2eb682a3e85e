import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataQueries
import Synchronization

/// What a service was asked before, as it was read and checked against the model: an app asks the same few questions again
/// and again, page by page and for each of its users, and finding out what they mean takes longer than a short answer.
///
/// Nothing that depends on records, on the caller or on the time is kept, so that nothing has to be forgotten: the model
/// stays as it is for as long as the service runs. What was asked for longest ago goes first.
final class QueryPlanCache: Sendable {
    /// How a question is written, and in which language.
    fileprivate struct Key: Hashable {
        let text: String
        let language: LanguageVersion
    }

    fileprivate struct Entry {
        let cachedQuery: CachedQuery
        var used: UInt64
    }

    fileprivate struct State {
        var entries: [Key: Entry] = [:]
        var clock: UInt64 = 0
    }

    /// Bytes of a text that is worth remembering; what stands for it is some twenty times as large.
    private static let longest = 2_048

    private let most: Int
    private let state = Mutex(State())

    /// `most` questions are kept.
    init(most: Int) {
        self.most = most
    }

    /// The question as it was read before, or as `read` reads it.
    func cachedQuery(
        _ text: String, in language: LanguageVersion, read: (String) throws(PorticoError) -> RequestTarget
    ) throws(PorticoError) -> CachedQuery {
        let key = Key(text: text, language: language)
        if let known = find(key) { return known }
        let cachedQuery = CachedQuery(text, try read(text))
        if text.utf8.count <= Self.longest { keep(cachedQuery, key) }
        return cachedQuery
    }

    private func find(_ key: Key) -> CachedQuery? {
        state.withLock { state in
            state.clock += 1
            state.entries[key]?.used = state.clock
            return state.entries[key]?.cachedQuery
        }
    }

    private func keep(_ cachedQuery: CachedQuery, _ key: Key) {
        state.withLock { state in
            if state.entries.count >= most { state.forget(leaving: most - most / 4 - 1) }
            state.clock += 1
            state.entries[key] = Entry(cachedQuery: cachedQuery, used: state.clock)
        }
    }
}

extension QueryPlanCache.State {
    /// Several at once, so that looking for the oldest is rare.
    fileprivate mutating func forget(leaving count: Int) {
        let latest = entries.sorted { $0.value.used > $1.value.used }.prefix(max(count, 0))
        entries = Dictionary(latest.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
    }
}

/// One of them: its tree, and what was found out about it since.
final class CachedQuery: Sendable {
    private struct Findings {
        var place: Address?
        var query: PreparedQuery?
        var tracked: TrackedQuery??
    }

    let target: RequestTarget
    let address: PlainAddress
    /// How the answer looks to a caller who accepts this, and what all pages of such answers have in common.
    let format = Memo<String?, ResponseFormat>()
    let page = Memo<ResponseFormat, PageForm>()
    let version2 = Version2CachedQuery()
    private let findings = Mutex(Findings())

    init(_ text: String, _ target: RequestTarget) {
        self.target = target
        address = PlainAddress(text)
    }

    /// Where the question's path leads.
    func place(_ find: () throws -> Address) rethrows -> Address {
        if let known = findings.withLock({ $0.place }) { return known }
        let place = try find()
        findings.withLock { $0.place = place }
        return place
    }

    /// The query of all of a set's entities that the question is. One that reads the clock means something else each time.
    func query(
        _ prepare: () throws(QueryProblem) -> PreparedQuery
    ) throws(QueryProblem) -> PreparedQuery {
        if let known = findings.withLock({ $0.query }) { return known }
        let query = try prepare()
        if !query.readsClock { findings.withLock { $0.query = query } }
        return query
    }

    /// How the query's changes are followed; nil within: they cannot be.
    func tracked(_ find: () throws -> TrackedQuery?) rethrows -> TrackedQuery? {
        if let known = findings.withLock({ $0.tracked }) { return known }
        let tracked = try find()
        findings.withLock { $0.tracked = .some(tracked) }
        return tracked
    }
}
