import AdapterKit

/// Names bytes by what they are: their SHA-256 digest as 64 hexadecimal digits in lower case.
public struct AttachmentDigest: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// The part of an attachment that is there.
public enum AttachmentProgress: Sendable, Equatable {
    /// All bytes are there.
    case complete
    /// So many bytes from the beginning on, of one owner's upload.
    case received(Int64)
}

/// Keeps bytes by their digest, once. No caller learns from it what others uploaded: to each owner, what that owner has not
/// uploaded is not there, and is sent whole. Every method throws ``PorticoError``; implementations are safe to use from
/// any task.
public protocol AttachmentStore: Sendable {
    /// Nil where they are not there, or not whole.
    func size(of digest: AttachmentDigest) async throws -> Int64?

    /// Whether that owner has uploaded all of the bytes, and they are here.
    func hasUploaded(_ digest: AttachmentDigest, by owner: String) async throws -> Bool

    /// The progress of an owner's upload. Where it is complete, the question counts as an upload: the bytes are in use.
    func progress(of digest: AttachmentDigest, from owner: String) async throws -> AttachmentProgress

    /// Adds bytes to an owner's upload and returns when they are durable. What was received already is passed over, so
    /// a piece may be sent twice. No other caller sees anything before all are there and are what the digest says.
    ///
    /// Throws `record.conflict` for a piece that leaves a gap, `request.invalid` where the whole is something else than
    /// the digest says (the upload is gone then), `request.tooLarge` beyond the largest size, `store.full` where all
    /// attachments together, or those of the owner that no record names, have their room, `server.overloaded` where too many uploads are under way, of all or of the
    /// owner. What comes whole counts as none of them.
    func append(
        _ bytes: [UInt8], at offset: Int64, of total: Int64, to digest: AttachmentDigest, from owner: String
    ) async throws -> AttachmentProgress

    /// The largest of an owner's uploads that no record is known to name. They count against the owner's share of what
    /// is stored.
    func largestUnnamed(of owner: String, limit: Int) async throws -> [AttachmentDigest]

    /// Records name these, so they do not count against the owner's share any more.
    func noteNamed(_ digests: Set<AttachmentDigest>, by owner: String) async throws

    /// At most `count` bytes; fewer at the end.
    func read(_ digest: AttachmentDigest, from offset: Int64, count: Int) async throws -> [UInt8]

    /// Whole attachments that were last in use before that instant: neither uploaded nor ``keep(_:)``-ed since.
    func unused(since instant: WireDate) async throws -> Set<AttachmentDigest>

    /// Says that these are in use now.
    func keep(_ digests: Set<AttachmentDigest>) async throws

    /// Removes those of the attachments that are still unused since that instant, and uploads that no caller went on with
    /// since. Does nothing while ``withoutRemoval(_:)`` runs.
    func remove(_ digests: Set<AttachmentDigest>, unusedSince instant: WireDate) async throws -> AttachmentRemoval

    /// Nothing is removed before `body` has ended: for the caller that copies records first, and then what they refer to.
    func withoutRemoval<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result

    /// Copies every whole attachment into `directory`, durable and read back. It waits for the disk.
    func copyAll(into directory: String) throws -> AttachmentCopies
}

/// Attachments that a clean-up removed, or would remove.
public struct AttachmentRemoval: Sendable, Equatable {
    /// Attachments that were removed.
    public var attachments = 0
    /// Unfinished uploads that were removed.
    public var uploads = 0
    /// Their size together, in bytes.
    public var bytes: Int64 = 0

    /// Nothing yet.
    public init() {}
}

/// Attachments that were copied.
public struct AttachmentCopies: Sendable, Equatable {
    /// Attachments that were copied.
    public var count = 0
    /// Their size together, in bytes.
    public var bytes: Int64 = 0
    /// Attachments whose bytes are not what their names say any more. They are left out of the copy.
    public var damaged: [AttachmentDigest] = []

    /// Nothing yet.
    public init() {}
}

/// Decides which attachments one caller may name in a record's fields.
public protocol AttachmentAuthorization: Sendable {
    /// The digests that the caller may not name.
    func denied(among digests: Set<AttachmentDigest>) async throws -> Set<AttachmentDigest>
}

extension AttachmentAuthorization {
    /// Throws `request.invalid` for a change that names an attachment which the caller may not name.
    func check(_ changes: [RecordChange], of declaration: AdapterDeclaration) async throws {
        for change in changes {
            guard let entity = declaration.entity(change.entity), !entity.attachments.isEmpty else { continue }
            let denied = try await denied(among: entity.attachments(in: change.fields))
            try entity.checkAttachments(in: change.fields, denied: denied)
        }
    }
}

extension Entity {
    /// The attachments that the fields name.
    public func attachments(in fields: WireDictionary) -> Set<AttachmentDigest> {
        Set(attachments.flatMap { AttachmentDigest.named(by: fields[$0.text] ?? .null) })
    }

    /// Throws `request.invalid` with the field where one of those is named.
    package func checkAttachments(in fields: WireDictionary, denied: Set<AttachmentDigest>) throws(PorticoError) {
        guard !denied.isEmpty else { return }
        for field in attachments {
            let named = AttachmentDigest.named(by: fields[field.text] ?? .null)
            guard denied.isDisjoint(with: named) else {
                throw PorticoError(
                    .requestInvalid, "There is no such attachment; upload its bytes first.", target: field.text)
            }
        }
    }
}

extension AttachmentDigest {
    /// A field's value: one digest or a list of them. Texts that are none are left out: they open nothing.
    package static func named(by value: WireValue) -> [AttachmentDigest] {
        (value.arrayValue ?? [value]).compactMap { $0.stringValue.flatMap { AttachmentDigest($0) } }
    }
}
