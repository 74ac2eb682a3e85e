import AdapterKit
import NIOCore
import RecordStorage

/// One entry of the log as members of a group are told it: one event, written once for all of them.
struct FeedChanges: Sendable {
    let position: Revision
    let group: RecordID
    let event: ByteBuffer
    /// Nil: the members stay who they are.
    let membership: Membership?

    struct Membership: Sendable {
        let joined: [String]
        let left: [String]
        /// What those who left are told.
        let farewell: ByteBuffer
    }

    /// What a member of these groups of this name is told; nil: it is not concerned.
    func event(for name: String, in groups: Set<RecordID>) -> ByteBuffer? {
        if groups.contains(group) { return event }
        guard let membership, membership.left.contains(name) else { return nil }
        return membership.farewell
    }
}

/// A stretch of the log.
struct FeedPage: Sendable {
    let news: [FeedChanges]
    /// The last position that was looked at.
    let through: Revision
    /// Whether that was the end of the log.
    let isComplete: Bool
}

/// The position of an event as its id tells it: the store's epoch, a dot, the operation id.
struct FeedPosition {
    static func text(_ position: Revision, in epoch: Epoch) -> String { "\(epoch).\(position)" }

    /// Nil for what is no id of this store's history.
    static func read(_ text: String, in epoch: Epoch) -> Revision? {
        guard let dot = text.lastIndex(of: "."), text[..<dot] == epoch.text,
            let number = Int64(text[text.index(after: dot)...]), number >= 0
        else { return nil }
        return Revision(number)
    }
}
