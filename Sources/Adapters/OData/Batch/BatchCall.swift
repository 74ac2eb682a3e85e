import AdapterKit

/// One request inside of a batch.
struct BatchCall: Sendable {
    /// `Content-ID`, or `id` in JSON; what others refer to it by.
    let id: String?
    let method: String
    /// As written: absolute, from the host's root, below the service's root, or `$id/…`.
    let url: String
    let headers: MountHeaders
    let body: [UInt8]
    /// JSON's `dependsOn`: ids of calls and names of groups.
    var needs: [String] = []
}

/// What a batch is made of, in order.
enum BatchStep: Sendable {
    case call(BatchCall)
    /// Calls that all happen or none: a change set, or an atomicity group with its name.
    case changeSet(String?, [BatchCall])
}

/// The answer to one call.
struct BatchReply: Sendable {
    let id: String?
    /// The name of the atomicity group.
    var group: String?
    let answer: MountResponse
}

/// The answers to one step.
enum BatchOutcome: Sendable {
    case reply(BatchReply)
    /// A change set that happened: one for each call.
    case changeSet([BatchReply])
    /// One that did not. JSON tells of each call; multipart only of the one that failed.
    case failedSet([BatchReply], failed: Int)
}
