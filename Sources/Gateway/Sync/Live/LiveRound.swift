import NIOCore
import SyncEngine

/// Answers many streams after one commit: what several ask alike is read, decided and written once.
struct LiveRound {
    /// Bytes of events that are kept for those who come later in the round.
    private static let most = 4 << 20

    private let pulls: PullMachine
    private let store: any Store
    private var answers: [LiveQuestion: LiveAnswer] = [:]

    init(pulls: PullMachine, store: any Store) {
        self.pulls = pulls
        self.store = store
    }

    /// In the questions' order; nil where the stream has to look for itself, and to learn what is wrong.
    mutating func answers(to questions: [LiveQuestion]) async -> [LiveAnswer?] {
        if size > Self.most { answers = [:] }
        var known = questions.map { answers[$0] }
        let unknown = questions.indices.filter { known[$0] == nil }
        guard !unknown.isEmpty else { return known }
        answers.merge(await find(Set(unknown.map { questions[$0] }))) { $1 }
        for index in unknown { known[index] = answers[questions[index]] }
        return known
    }

    private var size: Int { answers.values.reduce(0) { $0 + ($1.event?.readableBytes ?? 0) } }

    /// All or none: a store may break a read off and begin it again.
    private func find(_ questions: Set<LiveQuestion>) async -> [LiveQuestion: LiveAnswer] {
        let pulls = pulls
        let found = try? await store.atOneMoment { moment in
            let moment = RememberingMoment(moment)
            return try questions.reduce(into: [LiveQuestion: LiveAnswer]()) { answers, question in
                answers[question] = try pulls.answer(to: question, at: moment)
            }
        }
        return found ?? [:]
    }
}
