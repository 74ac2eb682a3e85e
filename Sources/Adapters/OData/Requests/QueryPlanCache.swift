import AdapterKit
import ODataEngine
import ODataLanguage
import Synchronization

/// Caches parsed and planned queries of one service by their text, because clients repeat the same few queries.
///
/// Nothing that depends on records, on the caller or on the time is cached, so entries never become stale: the model is
/// fixed while the service runs. The least recently used entries are dropped first.
final class QueryPlanCache: Sendable {
    /// The text of a query and its language version.
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

    /// The longest cached text in bytes; its parsed form is about twenty times as large.
    private static let longest = 2_048

    private let most: Int
    private let state = Mutex(State())

    /// At most `most` queries are cached.
    init(most: Int) {
        self.most = most
    }

    /// The cached query, or the one that `read` parses.
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

/// One cached query: its parsed request, and what has been derived from it since.
final class CachedQuery: Sendable {
    private struct Derived {
        var resourcePath: ResourcePath?
        var query: PreparedQuery?
        var tracked: TrackedQuery??
    }

    let target: RequestTarget
    let address: UntokenedAddress
    /// How the answer looks to a caller who accepts this, and what all pages of such answers have in common.
    let format = Memo<String?, ResponseFormat>()
    let version4Page = Memo<ResponseFormat, any Sendable>()
    let version2 = (format: Memo<String?, any Sendable>(), rows: Memo<String, any Sendable>())
    private let derived = Mutex(Derived())

    init(_ text: String, _ target: RequestTarget) {
        self.target = target
        address = UntokenedAddress(text)
    }

    /// The resource of the query's path.
    func resourcePath(_ find: () throws -> ResourcePath) rethrows -> ResourcePath {
        if let known = derived.withLock({ $0.resourcePath }) { return known }
        let resourcePath = try find()
        derived.withLock { $0.resourcePath = resourcePath }
        return resourcePath
    }

    /// The prepared query, for a whole set. A query that reads the clock is not cached, since it differs each time.
    func query(
        _ prepare: () throws(QueryProblem) -> PreparedQuery
    ) throws(QueryProblem) -> PreparedQuery {
        if let known = derived.withLock({ $0.query }) { return known }
        let query = try prepare()
        if !query.readsClock { derived.withLock { $0.query = query } }
        return query
    }

    /// How the query's changes are followed; nil within: they cannot be.
    func tracked(_ find: () throws -> TrackedQuery?) rethrows -> TrackedQuery? {
        if let known = derived.withLock({ $0.tracked }) { return known }
        let tracked = try find()
        derived.withLock { $0.tracked = .some(tracked) }
        return tracked
    }
}

/// Caches the result for the last key.
final class Memo<Wish: Equatable & Sendable, Found: Sendable>: Sendable {
    private let last = Mutex<(key: Wish, found: Found)?>(nil)

    func callAsFunction(_ key: Wish, _ find: () throws -> Found) rethrows -> Found {
        if let known = last.withLock({ $0 }), known.key == key { return known.found }
        let found = try find()
        last.withLock { $0 = (key, found) }
        return found
    }
}
