import AdapterKit

/// Names bytes by what they are: their SHA-256 digest as 64 hexadecimal digits in lower case.
public struct AttachmentDigest: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// How much of an attachment is there.
public enum AttachmentProgress: Sendable, Equatable {
    case complete
    /// So many bytes from the beginning on, of one owner's upload.
    case received(Int64)
}

/// Keeps bytes by their digest. Whoever uploads the same bytes later uploads nothing. Every method throws
/// ``PorticoError``; implementations are safe to use from any task.
public protocol AttachmentStore: Sendable {
    /// Nil where they are not there, or not whole.
    func size(of digest: AttachmentDigest) async throws -> Int64?

    func progress(of digest: AttachmentDigest, from owner: String) async throws -> AttachmentProgress

    /// Adds bytes to an owner's upload and returns when they are durable. What was received already is passed over, so
    /// a piece may be sent twice. Nobody else sees anything before all are there and are what the digest says.
    ///
    /// Throws `record.conflict` for a piece that leaves a gap, `request.invalid` where the whole is something else than
    /// the digest says (the upload is gone then), `request.tooLarge` beyond the largest size.
    func append(
        _ bytes: [UInt8], at offset: Int64, of total: Int64, to digest: AttachmentDigest, from owner: String
    ) async throws -> AttachmentProgress

    /// At most `count` bytes; fewer at the end.
    func read(_ digest: AttachmentDigest, from offset: Int64, count: Int) async throws -> [UInt8]
}
