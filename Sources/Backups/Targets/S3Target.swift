import AdapterKit
import Foundation
import SQLiteStore
import WireFormats

/// Where in an object storage backups are kept.
public struct S3Place: Sendable {
    public var bucket: String
    public var region: String
    /// What the names of all objects begin with; empty, or a name.
    public var prefix: String
    public var accessKey: Secret
    public var secretKey: Secret

    /// Nil where a name has other signs than letters, digits, `-`, `_`, `.` and, in the prefix, slashes between parts.
    public init?(bucket: String, region: String, prefix: String, accessKey: Secret, secretKey: Secret) {
        let trimmed = prefix.hasSuffix("/") ? String(prefix.dropLast()) : prefix
        guard BackupObjectName(bucket) != nil, !bucket.contains("/"), BackupObjectName(region) != nil,
            !region.contains("/"), trimmed.isEmpty || BackupObjectName(trimmed) != nil
        else { return nil }
        (self.bucket, self.region, self.prefix) = (bucket, region, trimmed)
        (self.accessKey, self.secretKey) = (accessKey, secretKey)
    }
}

/// Backups in a bucket of S3, or of a storage that speaks its protocol, with the bucket in the path.
///
/// It asks through an upstream, with that one's checks of addresses and certificates, limits and retries. Objects are written
/// and read in parts of 8 MiB; one of several parts is there once all of them are.
public struct S3Target: BackupTarget {
    private static let part = 8 << 20
    /// As many parts as an object may have, less some.
    private static let maximumParts: Int64 = 9_000

    private let upstream: any Upstream
    private let location: S3Place
    private let signature: S3Signature
    private let clock: any WallClock

    public init(_ location: S3Place, through upstream: any Upstream, clock: any WallClock) {
        (self.location, self.upstream, self.clock) = (location, upstream, clock)
        signature = S3Signature(
            accessKey: location.accessKey, secretKey: location.secretKey, region: location.region)
    }

    public var place: String {
        "\(upstream.url.origin) bucket \(location.bucket)"
            + (location.prefix.isEmpty ? "" : " below \(location.prefix)")
    }

    public func write(_ bytes: [UInt8], to name: BackupObjectName) async throws {
        guard bytes.count > Self.part else {
            _ = try await send(.put, name, body: bytes)
            return
        }
        try await writeParts(of: name, size: Int64(bytes.count)) { offset, count in
            Array(bytes[Int(offset)..<Int(offset) + count])
        }
    }

    public func write(file path: String, to name: BackupObjectName) async throws {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        let size = Int64(try file.seekToEnd())
        func bytes(_ offset: Int64, _ count: Int) throws -> [UInt8] {
            try file.seek(toOffset: UInt64(offset))
            let bytes = Array(try file.read(upToCount: count) ?? Data())
            guard bytes.count == count else { throw FileCopy.failure(path) }
            return bytes
        }
        guard size > Self.part else {
            _ = try await send(.put, name, body: try size == 0 ? [] : bytes(0, Int(size)))
            return
        }
        try await writeParts(of: name, size: size, bytes)
    }

    /// Every part, then all of them at once; where one fails, none stays.
    private func writeParts(
        of name: BackupObjectName, size: Int64, _ bytes: (Int64, Int) throws -> [UInt8]
    ) async throws {
        let begun = try document(try await send(.post, name, query: [("uploads", "")]))
        guard let upload = begun.text("UploadId") else { throw Self.unexpected("no UploadId") }
        do {
            let part = max(Int64(Self.part), (size + Self.maximumParts - 1) / Self.maximumParts)
            var list = "<CompleteMultipartUpload>"
            var (number, offset) = (1, Int64(0))
            while offset < size {
                let body = try bytes(offset, Int(min(part, size - offset)))
                let answer = try await send(
                    .put, name, query: [("partNumber", "\(number)"), ("uploadId", upload)], body: body)
                guard let tag = answer.fields["ETag"], !tag.contains(where: { "<>&".contains($0) }) else {
                    throw Self.unexpected("no ETag")
                }
                list += "<Part><PartNumber>\(number)</PartNumber><ETag>\(tag)</ETag></Part>"
                (number, offset) = (number + 1, offset + Int64(body.count))
            }
            list += "</CompleteMultipartUpload>"
            let answer = try await send(.post, name, query: [("uploadId", upload)], body: Array(list.utf8))
            // It answers 200 before it knows whether it succeeds.
            if let error = S3Document(answer.body)?.errorCode { throw failure(error, status: 200, name, answer.body) }
        } catch {
            _ = try? await send(.delete, name, query: [("uploadId", upload)])
            throw error
        }
    }

    public func read(_ name: BackupObjectName, limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        try await forEachPart(of: name) { part in
            guard bytes.count + part.count <= limit else {
                throw PorticoError(.requestTooLarge, "An object of the backup is too large.", logDetail: name.text)
            }
            bytes += part
        }
        return bytes
    }

    public func read(_ name: BackupObjectName, into path: String) async throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw FileCopy.failure(path) }
        defer { close(file) }
        do {
            try await forEachPart(of: name) { part in
                try part.withUnsafeBytes { try FileCopy.append($0, to: file, path) }
            }
            guard fsync(file) == 0 else { throw FileCopy.failure(path) }
        } catch {
            unlink(path)
            throw error
        }
    }

    /// By ranges, all of one object: it is the same as long as its tag is.
    private func forEachPart(of name: BackupObjectName, _ take: ([UInt8]) throws -> Void) async throws {
        var (offset, total, tag) = (Int64(0), Int64.max, String?.none)
        while offset < total {
            let answer = try await send(
                .get, name, fields: [("Range", "bytes=\(offset)-\(offset + Int64(Self.part) - 1)")])
            switch answer.status {
            case 206:
                guard let size = answer.fields["Content-Range"]?.split(separator: "/").last.flatMap({ Int64($0) }),
                    !answer.body.isEmpty, total == .max || total == size, tag == nil || tag == answer.fields["ETag"]
                else { throw Self.unexpected("an object changed while it was read") }
                (total, tag) = (size, answer.fields["ETag"])
                try take(answer.body)
                offset += Int64(answer.body.count)
            // The whole, from a storage without ranges; and a range of an empty object is none.
            case 200 where offset == 0:
                try take(answer.body)
                return
            case 416 where offset == 0: return
            default: throw failure(S3Document(answer.body)?.errorCode, status: answer.status, name, answer.body)
            }
        }
    }

    public func list(_ folder: BackupObjectName) async throws -> [BackupObject] {
        var found: [BackupObject] = []
        var next: String?
        // What a storage that answers for ever would say.
        for _ in 0..<100_000 {
            var query = [("list-type", "2"), ("prefix", key(folder) + "/"), ("max-keys", "1000")]
            if let next { query.append(("continuation-token", next)) }
            let answer = try document(try await send(.get, nil, query: query))
            for object in answer.elements("Contents") {
                guard let text = object["Key"]?.stringValue, text.hasPrefix(keyPrefix),
                    let name = BackupObjectName(String(text.dropFirst(keyPrefix.count))),
                    let size = object["Size"]?.stringValue.flatMap({ Int64($0) })
                else { continue }
                found.append(BackupObject(name, size: size))
            }
            guard answer.text("IsTruncated") == "true", let token = answer.text("NextContinuationToken"), token != next
            else { return found.sorted { $0.name < $1.name } }
            next = token
        }
        throw Self.unexpected("the list has no end")
    }

    public func remove(_ name: BackupObjectName) async throws { _ = try await send(.delete, name) }

    private var keyPrefix: String { location.prefix.isEmpty ? "" : location.prefix + "/" }

    private func key(_ name: BackupObjectName) -> String { keyPrefix + name.text }

    // MARK: Requests

    /// Throws where the storage refuses, but for an answer to a request with a range. `name`: nil: the bucket.
    private func send(
        _ method: UpstreamRequest.Method, _ name: BackupObjectName?, query: [(String, String)] = [],
        fields: [(String, String)] = [], body: [UInt8] = []
    ) async throws -> UpstreamResponse {
        let origin = upstream.url.origin
        // The address's path ends in a slash, and all of it is made of signs that are not escaped.
        let path = upstream.url.path + location.bucket + (name.map { "/" + key($0) } ?? "")
        let pairs = query.map { (name: $0.0, value: $0.1) }
        let canonical = S3Signature.canonical(pairs)
        guard let address = upstream.url.at(path: String(path) + (canonical.isEmpty ? "" : "?" + canonical)) else {
            throw Self.unexpected("no address")
        }
        var request = UpstreamRequest(method, address, body: body)
        let host = String(origin.description.dropFirst(origin.isSecure ? 8 : 7))
        request.fields = UpstreamHeaders(
            signature.fields(
                method.rawValue, host: host, path: String(path), query: pairs, body: body, at: clock.now())
                + fields.map { (name: $0.0, value: $0.1) })
        if !body.isEmpty { request.fields["Content-Type"] = "application/octet-stream" }
        request.isIdempotent = method != .post
        request.deadline = .seconds(120)
        request.answerLimit = 2 * Self.part
        let answer: UpstreamResponse
        do {
            answer = try await upstream.send(request)
        } catch {
            try Task.checkCancellation()
            throw PorticoError(
                error.kind == .timedOut ? .upstreamTimeout : .upstreamFailed,
                "The object storage \(origin) cannot be used: \(Self.words(error.kind)).", logDetail: error.detail)
        }
        let hasRange = fields.contains { $0.0 == "Range" }
        guard answer.isSuccess || hasRange && answer.status == 416 else {
            throw failure(S3Document(answer.body)?.errorCode, status: answer.status, name, answer.body)
        }
        return answer
    }

    private static func words(_ kind: UpstreamFailure.Kind) -> String {
        switch kind {
        case .destinationRefused: "its address is in no public network, and the upstream's networks do not allow it"
        case .unreachable: "it cannot be reached"
        case .timedOut: "it does not answer in time"
        case .circuitOpen: "it has failed too often, and is not asked for a while"
        case .overloaded: "too many calls of it are under way"
        default: "the connection broke off"
        }
    }

    private func document(_ answer: UpstreamResponse) throws -> S3Document {
        guard let document = S3Document(answer.body) else { throw Self.unexpected("no XML document") }
        if let code = document.errorCode { throw failure(code, status: answer.status, nil, answer.body) }
        return document
    }

    private static func unexpected(_ detail: String) -> PorticoError {
        PorticoError(
            .upstreamFailed, "The object storage answered something else than S3 does.", logDetail: detail)
    }

    private func failure(
        _ code: String?, status: Int, _ name: BackupObjectName?, _ body: [UInt8]
    ) -> PorticoError {
        let detail = "status \(status), \(code ?? "no code"), \(name?.text ?? "bucket")"
        func error(_ message: String) -> PorticoError { PorticoError(.upstreamFailed, message, logDetail: detail) }
        switch code {
        case "NoSuchBucket": return error("The bucket \(location.bucket) is not there: make it, or correct its name.")
        case "NoSuchKey", "NoSuchUpload":
            return PorticoError(.recordNotFound, "An object of the backup is missing.", logDetail: detail)
        case "InvalidAccessKeyId": return error("The object storage does not know the access key.")
        case "SignatureDoesNotMatch": return error("The secret key does not belong to the access key.")
        case "AccessDenied", "AllAccessDisabled":
            return error("The access key may not use the bucket \(location.bucket).")
        case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException":
            return error("The bucket \(location.bucket) is in another region than \(location.region).")
        case "RequestTimeTooSkewed":
            return error("The clock of this machine is wrong: the object storage refuses its time.")
        case "QuotaExceeded", "XMinioStorageFull", "InsufficientStorage":
            return PorticoError(.storeFull, "The object storage has no room left.", logDetail: detail)
        default: break
        }
        switch status {
        case 404: return PorticoError(.recordNotFound, "An object of the backup is missing.", logDetail: detail)
        case 403: return error("The access key may not use the bucket \(location.bucket).")
        case 507: return PorticoError(.storeFull, "The object storage has no room left.", logDetail: detail)
        default: return error("The object storage answered with the status \(status).")
        }
    }
}

/// An answer of S3 in XML: an element with elements in it.
struct S3Document {
    private let name: String
    private let content: WireValue

    /// Nil for what is no XML document.
    init?(_ bytes: [UInt8]) {
        let limits = ReadingLimits(depth: 16)
        guard !bytes.isEmpty, let value = try? XMLFormat(untypedRoot: .named).read(bytes, limits: limits),
            let root = value.dictionaryValue?.entries.first
        else { return nil }
        // Its namespace in front, in braces.
        name = String(root.key.split(separator: "}").last ?? "")
        content = root.value
    }

    /// The elements of that name.
    func elements(_ name: String) -> [WireValue] {
        // Elements of a name that stand apart are members of the content, in their order.
        let apart = content["$"]?.arrayValue?.compactMap { $0[name] } ?? []
        guard let value = content[name] else { return apart }
        return value.arrayValue ?? [value]
    }

    func text(_ name: String) -> String? { elements(name).first?.stringValue }

    /// Of a document that says that something failed.
    var errorCode: String? { name == "Error" ? text("Code") : nil }
}
