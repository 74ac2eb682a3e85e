import AdapterKit

/// Bytes beside the records, named by their digest: the same bytes are kept once, and nobody can change them.
///
/// Who may have them is decided elsewhere: by a record that refers to them. Every method throws ``PorticoError``.
public protocol Attachments: Sendable {
    /// Nil where they are not there, or not whole yet.
    func size(of digest: AttachmentDigest) async throws -> Int64?

    /// A part of them; shorter at the end. Throws `record.notFound`.
    func read(_ digest: AttachmentDigest, from offset: Int64, count: Int) async throws -> [UInt8]

    /// How many bytes of an upload are there and durable: where to go on. Zero where it was never begun.
    func uploaded(_ digest: AttachmentDigest) async throws -> Int64

    /// Appends to an upload. Once `size` bytes are there they are checked against the digest; then the attachment is
    /// there, durable, and `isComplete` is true. Bytes of an attachment that is there already are not needed: that is
    /// complete at once.
    ///
    /// Throws `record.preconditionFailed` where the upload is not at `offset`, `request.invalid` where the whole does not
    /// have the digest (the upload begins anew), `request.tooLarge` and `store.full` for what the limits do not let in.
    func append(
        _ bytes: [UInt8], to digest: AttachmentDigest, at offset: Int64, of size: Int64
    ) async throws -> AttachmentUpload

    /// Removes attachments to which nothing refers, and uploads that nobody goes on with, where they are older than the
    /// window. `isReferred` is asked for each.
    func collect(isReferred: @Sendable (AttachmentDigest) async throws -> Bool) async throws -> AttachmentCollection
}

public struct AttachmentUpload: Sendable, Equatable {
    /// Bytes that are there now.
    public let offset: Int64
    public let isComplete: Bool

    public init(offset: Int64, isComplete: Bool) {
        self.offset = offset
        self.isComplete = isComplete
    }
}

public struct AttachmentCollection: Sendable, Equatable {
    public var attachments = 0
    public var uploads = 0
    public var bytes: Int64 = 0

    public init() {}
}

public struct AttachmentLimits: Sendable, Equatable {
    /// Bytes of one attachment.
    public var size: Int64
    /// Bytes of all attachments and uploads together.
    public var total: Int64
    /// Uploads that are under way at once.
    public var uploads: Int
    /// Seconds that an attachment without a reference, or an upload without a byte more, is kept.
    public var window: Double

    public init(size: Int64 = 64 << 20, total: Int64 = 16 << 30, uploads: Int = 1_000, window: Double = 7 * 86_400) {
        self.size = size
        self.total = total
        self.uploads = uploads
        self.window = window
    }
}
