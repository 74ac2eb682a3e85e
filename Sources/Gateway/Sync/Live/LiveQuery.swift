import AdapterKit
import NIOCore
import RecordStorage
import SyncEngine
import SyncMessages
import WireFormats

/// What a live stream asks when there is news: two that ask alike are told the same bytes.
struct LiveQuery: Sendable, Hashable {
    /// Where the stream is; its seal names whose stream it is.
    let checkpoint: String
    let subject: LiveSubject

    static func == (one: LiveQuery, two: LiveQuery) -> Bool {
        one.checkpoint == two.checkpoint && one.subject.isSame(as: two.subject)
    }

    /// Few streams are at the same checkpoint and differ otherwise.
    func hash(into hasher: inout Hasher) { hasher.combine(checkpoint) }

    var request: PullRequest {
        PullRequest(checkpoint: checkpoint, collections: subject.request.collections, limit: subject.request.limit)
    }
}

/// What does not change while a stream goes on.
final class LiveSubject: Sendable {
    /// As it was made.
    let request: PullRequest
    let caller: SyncCaller
    let format: any WireFormat

    init(_ request: PullRequest, for caller: SyncCaller, as format: any WireFormat) {
        self.request = request
        self.caller = caller
        self.format = format
    }

    func isSame(as other: LiveSubject) -> Bool {
        self === other
            || request.collections == other.request.collections && request.limit == other.request.limit
                && format.name == other.format.name && caller.seesTheSame(as: other.caller)
    }
}

/// The next page for whoever asked.
struct LiveResponse: Sendable {
    /// Nil where there is nothing to tell.
    let event: ByteBuffer?
    /// Where the stream is then.
    let checkpoint: String
    /// Nil: more pages follow.
    let seen: Revision?
}

extension PullMachine {
    func answer(to query: LiveQuery, at snapshot: any StoreSnapshot) throws -> LiveResponse {
        let page = try page(query.request, for: query.subject.caller, at: snapshot)
        let checkpoint = page.token ?? query.checkpoint
        return LiveResponse(
            event: page.hasChanges ? try EventText.page(page, id: checkpoint, as: query.subject.format) : nil,
            checkpoint: checkpoint, seen: page.isComplete ? snapshot.position : nil)
    }
}
