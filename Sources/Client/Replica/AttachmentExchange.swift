import SyncMessages

/// `/sync/v1/attachments/{sha256}`: whole where they are small, else piece by piece, going on where the server is.
struct AttachmentExchange: Sendable {
    let session: Session
    let limits: SyncLimits

    func download(_ digest: String) async throws -> [UInt8] {
        guard ReplicaAttachmentStore.isDigest(digest) else { throw ClientError.recordNotFound }
        var call = call("GET", digest)
        call.headers = [Header("Accept", "*/*")]
        call.largestAnswer = limits.largestAttachment
        return try await session.answer(to: call).body
    }

    func upload(_ bytes: [UInt8], _ digest: String) async throws {
        guard bytes.count > limits.attachmentPiece else {
            _ = try await put(bytes, digest, range: nil)
            return
        }
        var received = try await put([], digest, range: "bytes */\(bytes.count)")
        // Each piece brings the server further, or the upload ends.
        while received < bytes.count {
            let end = min(received + limits.attachmentPiece, bytes.count)
            let range = "bytes \(received)-\(end - 1)/\(bytes.count)"
            let next = try await put(Array(bytes[received..<end]), digest, range: range)
            guard next > received else { throw ClientError.unreadableAnswer("an upload that does not get on") }
            received = next
        }
    }

    /// - Returns: bytes that the server has now.
    private func put(_ bytes: [UInt8], _ digest: String, range: String?) async throws -> Int {
        var call = call("PUT", digest)
        call.body = .bytes(bytes, type: "application/octet-stream")
        if let range { call.headers = [Header("Content-Range", range)] }
        let answer = try await session.value(of: call)
        guard let received = answer["received"]?.int64Value else {
            throw ClientError.unreadableAnswer("an upload without its progress")
        }
        return Int(received)
    }

    private func call(_ method: String, _ digest: String) -> ServerCall {
        ServerCall(method, path: ["sync", "v1", "attachments", digest], deadline: limits.deadline)
    }
}
