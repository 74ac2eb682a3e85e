import Client
import SyncMessages
import Synchronization
import WireFormats

/// Answers pulls from pages that were written before, and says when there is news.
final class ReadyGateway: Transport {
    private struct State {
        var changes = 0
        var sum: ScopeChecksum
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let records: [RecordOperation]
    private let pages: [TransportResponse]
    private let state: Mutex<State>

    init(records count: Int, page: Int) throws {
        records = (0..<count).map(Self.note)
        var sum = ScopeChecksum()
        for note in records { sum.add(collection: "notes", id: note.id, rev: note.rev) }
        state = Mutex(State(sum: sum))
        pages = try stride(from: 0, to: count, by: page).map { [records] start in
            let end = min(start + page, count)
            let ending: PullPage.Ending = end == count ? .complete(Self.completion(0, sum)) : .next("\(end / page)")
            return try Self.answer(
                PullPage(reset: start == 0 ? ["notes"] : [], operations: Array(records[start..<end]), ending: ending))
        }
    }

    /// One record is another one from now on.
    func change() {
        let waiting = state.withLock { state in
            let old = Self.note(7).rev + (state.changes == 0 ? 0 : Int64(1_000_000 + state.changes))
            state.changes += 1
            state.sum.remove(collection: "notes", id: Self.note(7).id, rev: old)
            state.sum.add(
                collection: "notes", id: Self.note(7).id, rev: Self.note(7).rev + Int64(1_000_000 + state.changes))
            defer { state.waiting = [] }
            return state.waiting
        }
        for one in waiting { one.resume() }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if request.url.hasSuffix("/auth/login") {
            return try Self.answer([
                "accessToken": "a", "refreshToken": "r", "expiresIn": 9_000, "user": ["id": "1", "name": "bench"],
            ])
        }
        if request.url.contains("/live") {
            let known = Self.position(request.url)
            await withCheckedContinuation { continuation in
                let hasChanges = state.withLock { state in
                    if state.changes > known { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if hasChanges { continuation.resume() }
            }
            return try delta()
        }
        let pull = try PullRequest(from: CBORFormat().read(request.body ?? []))
        guard let checkpoint = pull.checkpoint else { return pages[0] }
        if checkpoint.hasPrefix("c") { return try delta() }
        return pages[Int(checkpoint) ?? 0]
    }

    private func delta() throws -> TransportResponse {
        try state.withLock { state in
            var note = Self.note(7)
            note.rev += Int64(1_000_000 + state.changes)
            let operations = state.changes == 0 ? [] : [note]
            return try Self.answer(
                PullPage(operations: operations, ending: .complete(Self.completion(state.changes, state.sum))))
        }
    }

    private static func position(_ url: String) -> Int {
        url.split(separator: "checkpoint=c").last.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
    }

    private static func completion(_ changes: Int, _ sum: ScopeChecksum) -> PullCompletion {
        PullCompletion(
            checkpoint: "c\(changes)", position: Int64(changes),
            scopes: [ScopeSummary(scope: "notes", count: sum.count, checksum: sum.text)])
    }

    private static func note(_ number: Int) -> RecordOperation {
        let id = "note-\(1_000_000 + number)"
        return RecordOperation(
            collection: "notes", id: id, rev: Int64(number + 1),
            kind: .put([
                "id": .string(id), "title": .string("Note number \(number)"), "owner": "alice", "sharedWith": ["bob"],
                "text": .string("What there is to say about number \(number), in a sentence of usual length."),
                "modified": .int64(Int64(number * 7_919 % 1_000_003)),
            ]))
    }

    private static func answer(_ page: PullPage) throws -> TransportResponse { try answer(page.wireValue) }

    private static func answer(_ value: WireValue) throws -> TransportResponse {
        TransportResponse(
            status: 200, headers: [Header("content-type", "application/cbor")], body: try CBORFormat().write(value))
    }
}
