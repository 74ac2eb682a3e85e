import AdapterKit
import HTTPServer
import HTTPTypes
import Identity
import NIOCore
import RecordStorage
import SyncEngine
import Synchronization
import ValueTree

/// `GET /sync/v1/attachments/{sha256}`: the bytes, where a record that the caller may read refers to them.
struct AttachmentReadEndpoint: Endpoint {
    let sync: SyncServices
    let services: GatewayServices

    let properties = EndpointProperties(name: "sync.attachments.read", access: .login, effect: .reads)
    let description = EndpointDescription(
        summary: "An attachment's bytes, or a range of them.", tag: "Sync",
        parameters: [.path("sha256", .string, "64 hexadecimal digits."), .header("Range", "One range of bytes.")],
        answers: [(.ok, .document(mediaType: "application/octet-stream")), (.partialContent, .nothing)],
        errors: [.recordNotFound, .storeUnavailable])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let digest = try request.digest()
        guard try await sync.rights.isReadable(digest, by: request.caller.syncing),
            let size = try await sync.attachments.size(of: digest)
        else {
            throw PorticoError(.recordNotFound, "There is no such attachment.")
        }
        return response(digest, size, ByteRange.find(request.request.headers[.range], size: size))
    }

    private func response(_ digest: AttachmentDigest, _ size: Int64, _ range: ByteRange.Finding) -> GatewayResponse {
        var headers = HTTPFields(stored: StoredContent(nil))
        headers[.acceptRanges] = "bytes"
        headers[.eTag] = "\"\(digest)\""
        headers[.cacheControl] = "private, no-cache"
        let part: ByteRange
        switch range {
        case .whole: part = ByteRange(first: 0, last: size - 1)
        case .part(let found):
            part = found
            headers[.contentRange] = "bytes \(found.first)-\(found.last)/\(size)"
        case .unsatisfiable:
            return GatewayResponse(.rangeNotSatisfiable, headers: [.contentRange: "bytes */\(size)"])
        }
        headers[.contentLength] = String(part.last - part.first + 1)
        var response = GatewayResponse(headers[.contentRange] == nil ? .ok : .partialContent, headers: headers)
        if size > 0 {
            response.stream = AttachmentStream(
                digest, part, from: sync.attachments, piece: services.limits.chunk)
        }
        return response
    }
}

/// `PUT /sync/v1/attachments/{sha256}`: the bytes, whole or a piece after the other.
struct AttachmentWriteEndpoint: Endpoint {
    let sync: SyncServices
    let services: GatewayServices

    let properties = EndpointProperties(name: "sync.attachments.write", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Stores an attachment's bytes, whole or by pieces.", tag: "Sync",
        parameters: [
            .path("sha256", .string, "64 hexadecimal digits."),
            .header("Content-Range", "`bytes first-last/total` of a piece; `bytes */total` asks how much is there."),
        ],
        answers: [(.created, .value(.object(shape))), (.accepted, .value(.object(shape)))],
        errors: [
            .recordNotFound, .requestInvalid, .requestTooLarge, .recordConflict, .csrfRequired, .storeFull,
            .storeUnavailable,
        ])

    private static let shape = ObjectShape(
        "Upload",
        members: [
            Member("complete", .bool, isRequired: true), Member("received", .integer, isRequired: true),
        ])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let digest = try request.digest()
        guard sync.catalogue.takesAttachments(of: request.caller.syncing) else {
            throw PorticoError(.accessDenied, "You may change no record that could name it.")
        }
        let owner = request.caller.principal.id
        let bytes = try await services.bodies.bytes(of: request.request, limit: nil)
        let range = try ContentRange(request.request.headers[.contentRange], count: bytes.count)
        var progress = try await progress(of: digest, from: owner, request.caller.syncing)
        if let first = range.first, progress != .complete {
            do {
                progress = try await sync.attachments.append(
                    bytes, at: first, of: range.total, to: digest, from: owner)
            } catch let error as PorticoError where error.code == .storeFull {
                guard try await noteNamedUploads(of: request.caller.syncing) else { throw error }
                progress = try await sync.attachments.append(
                    bytes, at: first, of: range.total, to: digest, from: owner)
            }
        }
        return try response(progress, total: range.total, to: request.request)
    }

    /// Uploads that are looked up when an owner's share is used up.
    private static let lookedUp = 64

    /// Whether records name some of the caller's uploads that counted against its share until now.
    private func noteNamedUploads(of caller: SyncCaller) async throws -> Bool {
        let owner = caller.principal.id
        var named: Set<AttachmentDigest> = []
        for digest in try await sync.attachments.largestUnnamed(of: owner, limit: Self.lookedUp)
        where try await sync.rights.isReadable(digest, by: caller) { named.insert(digest) }
        try await sync.attachments.noteNamed(named, by: owner)
        return !named.isEmpty
    }

    /// The bytes that the caller has uploaded, or may read anyhow. Bytes of others are not there for it, and are sent once more.
    private func progress(
        of digest: AttachmentDigest, from owner: String, _ caller: SyncCaller
    ) async throws -> AttachmentProgress {
        let own = try await sync.attachments.progress(of: digest, from: owner)
        guard own != .complete, try await sync.rights.isReadable(digest, by: caller),
            try await sync.attachments.size(of: digest) != nil
        else { return own }
        try await sync.attachments.keep([digest])
        return .complete
    }

    private func response(
        _ progress: AttachmentProgress, total: Int64, to request: GatewayRequest
    ) throws -> GatewayResponse {
        let isComplete = progress == .complete
        let received = if case .received(let count) = progress { count } else { total }
        return try services.encoder.write(
            ["complete": .bool(isComplete), "received": .int64(received)], to: request, presentation: Presentation(),
            status: isComplete ? .created : .accepted, validators: nil, isDone: true)
    }
}

extension AuthenticatedRequest {
    fileprivate func digest() throws(PorticoError) -> AttachmentDigest {
        guard let digest = AttachmentDigest(self["sha256"]) else {
            throw PorticoError(.recordNotFound, "An attachment is named by 64 hexadecimal digits in lower case.")
        }
        return digest
    }
}

extension HTTPFields {
    /// Describes bytes that a caller stored.
    init(stored content: StoredContent) {
        self.init(
            content.headers.fields.compactMap { field in
                // Cannot trap: the few fields of a stored content's answer.
                HTTPField.Name(field.name).map { HTTPField(name: $0, value: field.value) }
            })
    }
}

extension HTTPField.Name {
    static let contentSecurityPolicy = HTTPField.Name("Content-Security-Policy")!
    static let crossOriginResourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy")!
}

/// A range of an attachment's bytes, read as the peer takes them.
final class AttachmentStream: ResponseStream {
    private let digest: AttachmentDigest
    private let store: any AttachmentStore
    private let piece: Int
    private let limit: Int64
    private let position: Mutex<Int64>

    init(_ digest: AttachmentDigest, _ range: ByteRange, from store: any AttachmentStore, piece: Int) {
        self.digest = digest
        self.store = store
        self.piece = piece
        limit = range.last + 1
        position = Mutex(range.first)
    }

    /// Throws where the bytes cannot be read. The length was sent, so on a connection that went on the peer would take
    /// the next answer for the rest of this one.
    func next() async throws -> ByteBuffer? {
        let from = position.withLock { $0 }
        guard from < limit else { return nil }
        let bytes = try await store.read(digest, from: from, count: Int(min(Int64(piece), limit - from)))
        guard !bytes.isEmpty else { throw PorticoError(.serverInternal, "An attachment is shorter than it was.") }
        position.withLock { $0 = from + Int64(bytes.count) }
        return ByteBuffer(bytes: bytes)
    }

    func end() {}
}

/// `Range: bytes=first-last` (RFC 9110, section 14.2): one range; more than one is answered with the whole.
struct ByteRange: Equatable {
    let first: Int64
    /// Included.
    let last: Int64

    enum Finding: Equatable {
        case whole
        case part(ByteRange)
        case unsatisfiable
    }

    static func find(_ field: String?, size: Int64) -> Finding {
        guard let field, field.hasPrefix("bytes="), !field.contains(",") else { return .whole }
        let (first, last) = String(field.dropFirst("bytes=".utf8.count)).splitOnce(at: "-")
        guard let last else { return .whole }
        if first.isEmpty {
            guard let count = Int64(last) else { return .whole }
            return count > 0 && size > 0
                ? .part(ByteRange(first: max(0, size - count), last: size - 1)) : .unsatisfiable
        }
        guard let from = Int64(first), last.isEmpty || Int64(last) != nil else { return .whole }
        let to = min(Int64(last) ?? size - 1, size - 1)
        guard from < size else { return .unsatisfiable }
        return to >= from ? .part(ByteRange(first: from, last: to)) : .whole
    }
}

/// `Content-Range: bytes first-last/total` of a piece that is sent, or `bytes */total` of none (section 14.4).
struct ContentRange: Equatable {
    /// Nil: only asks how much is there.
    let first: Int64?
    let total: Int64

    /// Throws `request.malformed`; without the field the body is the whole.
    init(_ field: String?, count: Int) throws(PorticoError) {
        guard let field else {
            (first, total) = (0, Int64(count))
            return
        }
        let (range, size) = String(field.dropFirst("bytes ".utf8.count)).splitOnce(at: "/")
        guard field.hasPrefix("bytes "), let total = size.flatMap({ Int64($0) }), total >= 0 else {
            throw Self.malformed
        }
        self.total = total
        guard range != "*" else {
            first = nil
            return
        }
        let (from, to) = String(range).splitOnce(at: "-")
        guard let from = Int64(from), let to = to.flatMap({ Int64($0) }), from >= 0, from <= to, to < total,
            to - from == Int64(count) - 1
        else { throw Self.malformed }
        first = from
    }

    private static let malformed = PorticoError(
        .requestMalformed, "The range is not well-formed, or not that of the body.", target: "Content-Range")
}
