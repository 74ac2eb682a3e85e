import ValueTree

/// Something written here that the server did not make. It holds up nothing else; the message shows what the server has.
public struct ChatProblem: Sendable, Equatable, Identifiable {
    /// A change that was to be made.
    public enum Wish: Sendable, Equatable {
        /// A new message.
        case post(text: String, attachments: [String])
        /// A new text of a message.
        case edit(text: String)
        /// The removal of a message.
        case removal
    }

    /// Why it was not done.
    public enum Reason: Sendable, Equatable {
        /// There is no such room for this account any more: one was removed from it, or it is gone.
        case notInRoom
        /// The message is not one's own, or may not be changed.
        case notAllowed
        /// Another client changed the message first; this is the server's. Nil: it was removed.
        case changedBefore(ChatMessage?)
        /// The text or an attachment is not what a message may hold. The gateway's code says what.
        case invalid(code: String)
    }

    /// Names it on this device.
    public var id: Int64 { problem.id }
    /// The message's id.
    public let message: String
    /// Nil where the message is not on the device any more.
    public let room: String?
    /// The change that was to be made.
    public let wish: Wish
    /// Why it was not done.
    public let reason: Reason
    let problem: SyncProblem

    /// Nil for what is no message's.
    init?(_ problem: SyncProblem, author: String) {
        guard problem.collection == ChatRecords.messages else { return nil }
        self.problem = problem
        message = problem.recordID
        switch problem.edit {
        case .create(let fields):
            room = fields["room"]?.stringValue
            let digests = (fields["attachments"]?.arrayValue ?? []).compactMap(\.stringValue)
            wish = .post(text: fields["text"]?.stringValue ?? "", attachments: digests)
        case .update(let fields):
            room = problem.base?["room"]?.stringValue
            wish = .edit(text: fields["text"]?.stringValue ?? "")
        case .delete:
            room = problem.base?["room"]?.stringValue
            wish = .removal
        }
        reason = Reason(problem.cause, author)
    }
}

extension ChatProblem.Reason {
    init(_ cause: SyncProblem.Cause, _ author: String) {
        switch cause {
        case .conflict(let server): self = .changedBefore(server.flatMap { try? ChatMessage($0, author: author) })
        case .rejected("record.notFound"): self = .notInRoom
        case .rejected("access.denied"): self = .notAllowed
        case .rejected(let code): self = .invalid(code: code)
        }
    }
}

extension ChatClient {
    /// Problems that wait for a decision.
    public func problems() -> [ChatProblem] { Self.problems(in: replica.status, of: user) }

    /// The present problems, and again whenever they are others. Ends when the replica is closed.
    public func observeProblems() -> some AsyncSequence<[ChatProblem], Never> & Sendable {
        let user = user
        return replica.statuses.map { Self.problems(in: $0, of: user) }
    }

    /// Tries again, with another text where one is given; a removal is tried as it is.
    public func retry(_ problem: ChatProblem, text: String? = nil) async throws {
        let edit: Edit =
            switch problem.problem.edit {
            case .create(let fields):
                .create(fields.setting("text", text))
            case .update(let fields):
                .update(fields.setting("text", text))
            case .delete: .delete
            }
        try await replica.resolve(problem.problem, with: edit)
    }

    /// Gives up on it; the server's stays.
    public func drop(_ problem: ChatProblem) async throws {
        try await replica.resolve(problem.problem, with: nil)
    }

    private static func problems(in status: SyncStatus, of user: String) -> [ChatProblem] {
        status.problems.compactMap { ChatProblem($0, author: user) }
    }
}

extension WireDictionary {
    /// A copy with the text; the same where there is none.
    fileprivate func setting(_ name: String, _ text: String?) -> WireDictionary {
        var fields = self
        if let text { fields[name] = .string(text) }
        return fields
    }
}
