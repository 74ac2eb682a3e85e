import AdapterKit
import Foundation
import Synchronization

@testable import Backups

/// A small object storage that speaks S3's protocol, checks signatures, and lists two objects at a time.
final class MemoryStorage: Upstream {
    private struct State {
        var objects: [String: [UInt8]] = [:]
        var uploads: [String: [Int: [UInt8]]] = [:]
        var requests = 0
    }

    static let place = S3Place(
        bucket: "bucket", region: "eu-central-1", prefix: "portico/one", accessKey: Secret("access"),
        secretKey: Secret("secret"))

    let name: UpstreamName = "storage"
    let url = UpstreamAddress("http://127.0.0.1:9000/")!
    let actsForCallers = false
    private let bucket: String
    private let state = Mutex(State())

    init(bucket: String = "bucket") { self.bucket = bucket }

    /// Of uploads that were not completed.
    var unfinished: Int { state.withLock { $0.uploads.count } }

    func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamStream {
        throw UpstreamFailure(.broken, of: name)
    }

    func send(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamResponse {
        let (status, fields, body) = answer(request)
        return UpstreamResponse(address: request.address, status: status, fields: UpstreamHeaders(fields), body: body)
    }

    private typealias Answer = (Int, [(name: String, value: String)], [UInt8])

    private static func error(_ status: Int, _ code: String) -> Answer {
        (status, [], Array("<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>m</Message></Error>".utf8))
    }

    private static func document(_ name: String, _ content: String) -> Answer {
        let namespace = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""
        return (200, [], Array("<?xml version=\"1.0\"?><\(name) \(namespace)>\(content)</\(name)>".utf8))
    }

    private func answer(_ request: UpstreamRequest) -> Answer {
        let path = String(request.address.path)
        let query = request.address.target.dropFirst(path.utf8.count + 1).split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: Self.unescape(parts[0]), value: parts.count > 1 ? Self.unescape(parts[1]) : "")
        }
        guard let date = request.fields["x-amz-date"], let time = Self.time(date) else {
            return Self.error(403, "AccessDenied")
        }
        let expected = S3Signature(accessKey: Secret("access"), secretKey: Secret("secret"), region: "eu-central-1")
            .fields(
                request.method.rawValue, host: "127.0.0.1:9000", path: path, query: query, body: request.body, at: time)
        guard request.fields["Authorization"] == expected.first(where: { $0.name == "Authorization" })?.value else {
            return Self.error(403, "SignatureDoesNotMatch")
        }
        guard path == "/\(bucket)" || path.hasPrefix("/\(bucket)/") else { return Self.error(404, "NoSuchBucket") }
        func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
        let key = String(path.dropFirst(bucket.utf8.count + 2))
        return state.withLock { state in
            state.requests += 1
            switch request.method {
            case .get where key.isEmpty:
                return Self.list(state.objects, value("prefix") ?? "", after: value("continuation-token"))
            case .get:
                guard let object = state.objects[key] else { return Self.error(404, "NoSuchKey") }
                return Self.range(of: object, request.fields["Range"])
            case .put:
                if let upload = value("uploadId"), let number = value("partNumber").flatMap({ Int($0) }) {
                    guard state.uploads[upload] != nil else { return Self.error(404, "NoSuchUpload") }
                    state.uploads[upload]?[number] = request.body
                    return (200, [("ETag", "\"\(number)\"")], [])
                }
                state.objects[key] = request.body
                return (200, [("ETag", "\"whole\"")], [])
            case .post:
                if value("uploads") != nil {
                    state.uploads["u\(state.requests)"] = [:]
                    return Self.document("InitiateMultipartUploadResult", "<UploadId>u\(state.requests)</UploadId>")
                }
                guard let upload = value("uploadId"), let parts = state.uploads.removeValue(forKey: upload) else {
                    return Self.error(404, "NoSuchUpload")
                }
                state.objects[key] = parts.sorted { $0.key < $1.key }.flatMap(\.value)
                return Self.document("CompleteMultipartUploadResult", "<Key>\(key)</Key>")
            case .delete:
                if let upload = value("uploadId") { state.uploads[upload] = nil } else { state.objects[key] = nil }
                return (204, [], [])
            default: return Self.error(405, "MethodNotAllowed")
            }
        }
    }

    private static func list(_ objects: [String: [UInt8]], _ prefix: String, after token: String?) -> Answer {
        let keys = objects.keys.filter { $0.hasPrefix(prefix) && $0 > (token ?? "") }.sorted()
        let page = keys.prefix(2)
        let isTruncated = keys.count > 2
        let contents = page.map { "<Contents><Key>\($0)</Key><Size>\(objects[$0]?.count ?? 0)</Size></Contents>" }
        let next = isTruncated ? "<NextContinuationToken>\(page.last ?? "")</NextContinuationToken>" : ""
        return document(
            "ListBucketResult",
            "<Name>bucket</Name><IsTruncated>\(isTruncated)</IsTruncated>\(contents.joined())\(next)")
    }

    private static func range(of object: [UInt8], _ range: String?) -> Answer {
        guard let bounds = range?.dropFirst(6).split(separator: "-").compactMap({ Int($0) }), bounds.count == 2 else {
            return (200, [], object)
        }
        guard bounds[0] < object.count else { return error(416, "InvalidRange") }
        let end = min(bounds[1], object.count - 1)
        return (
            206, [("Content-Range", "bytes \(bounds[0])-\(end)/\(object.count)"), ("ETag", "\"whole\"")],
            Array(object[bounds[0]...end])
        )
    }

    private static func unescape(_ text: Substring) -> String { text.removingPercentEncoding ?? "" }

    private static func time(_ stamp: String) -> WireDate? {
        let digits = Array(stamp)
        guard digits.count == 16 else { return nil }
        func part(_ range: Range<Int>) -> String { String(digits[range]) }
        return WireDate(
            rfc3339: "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))T\(part(9..<11)):\(part(11..<13)):\(part(13..<15))Z")
    }
}
