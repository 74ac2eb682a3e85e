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
final class KnownQuestions: Sendable {
    /// How a question is written, and in which language.
    fileprivate struct Key: Hashable {
        let text: String
        let language: LanguageVersion
    }

    fileprivate struct Entry {
        let question: KnownQuestion
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
    func question(
        _ text: String, in language: LanguageVersion, read: (String) throws(PorticoError) -> RequestTarget
    ) throws(PorticoError) -> KnownQuestion {
        let key = Key(text: text, language: language)
        if let known = find(key) { return known }
        let question = KnownQuestion(text, try read(text))
        if text.utf8.count <= Self.longest { keep(question, key) }
        return question
    }

    private func find(_ key: Key) -> KnownQuestion? {
        state.withLock { state in
            state.clock += 1
            state.entries[key]?.used = state.clock
            return state.entries[key]?.question
        }
    }

    private func keep(_ question: KnownQuestion, _ key: Key) {
        state.withLock { state in
            if state.entries.count >= most { state.forget(leaving: most - most / 4 - 1) }
            state.clock += 1
            state.entries[key] = Entry(question: question, used: state.clock)
        }
    }
}

extension KnownQuestions.State {
    /// Several at once, so that looking for the oldest is rare.
    fileprivate mutating func forget(leaving count: Int) {
        let latest = entries.sorted { $0.value.used > $1.value.used }.prefix(max(count, 0))
        entries = Dictionary(latest.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
    }
}

/// One of them: its tree, and what was found out about it since.
final class KnownQuestion: Sendable {
    private struct Findings {
        var place: Address?
        var query: PreparedQuery?
        var tracked: TrackedQuery??
    }

    let target: RequestTarget
    let address: PlainAddress
    /// How the answer looks to a caller who accepts this, and what all pages of such answers have in common.
    let format = LastFinding<String?, ResponseFormat>()
    let page = LastFinding<ResponseFormat, PageForm>()
    let version2 = Version2Findings()
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
