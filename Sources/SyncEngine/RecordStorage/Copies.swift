import Synchronization

/// What a backup's thread has copied, for whoever waits for it.
final class Copies: Sendable {
    private let found = Mutex(AttachmentCopies())

    var value: AttachmentCopies { found.withLock { $0 } }

    func set(_ copies: AttachmentCopies) { found.withLock { $0 = copies } }
}
