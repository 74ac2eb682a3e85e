import NIOCore
import RecordStorage
import SyncEngine

/// Answers many streams after one commit: what several ask alike is read, decided and written once.
struct LiveRound {
    /// Bytes of events that are kept for those who come later in the round.
    private static let most = 4 << 20

    private let pulls: PullMachine
    private let store: any Store
    private var answers: [LiveQuery: LiveResponse] = [:]

    init(pulls: PullMachine, store: any Store) {
        self.pulls = pulls
        self.store = store
    }

    /// In the questions' order; nil where the stream has to look for itself, and to learn what is wrong.
    mutating func answers(to queries: [LiveQuery]) async -> [LiveResponse?] {
        if size > Self.most { answers = [:] }
        var known = queries.map { answers[$0] }
        let unknown = queries.indices.filter { known[$0] == nil }
        guard !unknown.isEmpty else { return known }
        answers.merge(await find(Set(unknown.map { queries[$0] }))) { $1 }
        for index in unknown { known[index] = answers[queries[index]] }
        return known
    }

    private var size: Int { answers.values.reduce(0) { $0 + ($1.event?.readableBytes ?? 0) } }

    /// All or none: a store may break a read off and begin it again.
    private func find(_ queries: Set<LiveQuery>) async -> [LiveQuery: LiveResponse] {
        let pulls = pulls
        let found = try? await store.withReadSnapshot { snapshot in
            let snapshot = CachingSnapshot(snapshot)
            return try queries.reduce(into: [LiveQuery: LiveResponse]()) { answers, query in
                answers[query] = try pulls.answer(to: query, at: snapshot)
            }
        }
        return found ?? [:]
    }
}
