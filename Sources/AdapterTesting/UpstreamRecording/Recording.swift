import AdapterKit
import Foundation
import WireFormats

/// Answers of an upstream in files, one for each request: written while it is there, read instead of it later.
///
/// A file's name begins with the method and the path and ends with a digest of what the request asks for: method, path,
/// query, `Accept` and body. Credentials are no part of it, and no field that could hold one is written; nor is a member or
/// an element of the body of one of the ``secretNames``, nor a `wsse:Security` header of SOAP.
///
/// The same request is answered in another way once something was changed. Each call that changes something begins a new
/// state, whose number is in the file's name. In a state an answer is the last one of this state, or else of the nearest state
/// before.
public struct Recording: Sendable {
    /// The folder of the files.
    public var folder: String
    /// Members of JSON bodies and elements of XML bodies whose values are replaced, in lower case, in addition to the usual
    /// ones.
    public var secretNames: Set<String>

    /// Members that are always replaced.
    static let usualSecrets: Set<String> = [
        "password", "passwd", "secret", "token", "access_token", "accesstoken", "refresh_token", "refreshtoken",
        "id_token", "client_secret", "clientsecret", "assertion", "apikey", "api_key", "authorization", "cookie",
        "session", "sessionid",
    ]
    /// Fields of answers that are written. All others might hold a credential.
    static let keptFields: Set<String> = [
        "content-type", "content-language", "etag", "last-modified", "cache-control", "expires", "age", "vary",
        "location", "retry-after", "date",
    ]
    static let replacement: WireValue = "scrubbed"
    /// After so many changes the last state is kept up.
    static let mostStates = 1_000

    public init(folder: String, secretNames: Set<String> = []) {
        self.folder = folder
        self.secretNames = Set(secretNames.map { $0.lowercased() })
    }

    /// `state`: how many changes were made before. An answer that nothing has changed is none of its own.
    func write(_ response: UpstreamResponse, to request: UpstreamRequest, in state: Int = 0) throws {
        guard response.status != 304 else { return }
        let fields = response.fields.all.filter { Self.keptFields.contains($0.name.lowercased()) }
        let document: WireValue = [
            "method": .string(request.method.rawValue), "path": .string(String(request.address.path)),
            "status": .int64(Int64(response.status)),
            "fields": .array(fields.map { ["name": .string($0.name), "value": .string($0.value)] }),
            "body": .string(String(decoding: Base64.encode(scrubbed(response.body)), as: UTF8.self)),
        ]
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try Data(JSONFormat().write(document)).write(to: file(request, in: state), options: .atomic)
    }

    /// Nil where nothing was recorded for the request.
    func read(_ request: UpstreamRequest, in state: Int = 0) -> UpstreamResponse? {
        for state in stride(from: state, through: 0, by: -1) {
            let file = file(request, in: state)
            guard FileManager.default.fileExists(atPath: file.path) else { continue }
            return read(request, from: file)
        }
        return nil
    }

    private func read(_ request: UpstreamRequest, from file: URL) -> UpstreamResponse? {
        guard let data = try? Data(contentsOf: file), let document = try? JSONFormat().read(Array(data)),
            let status = document["status"]?.int64Value, (100...599).contains(status),
            let body = document["body"]?.stringValue.flatMap({ Data(base64Encoded: $0) })
        else { return nil }
        let fields = (document["fields"]?.arrayValue ?? []).compactMap { field -> (name: String, value: String)? in
            guard let name = field["name"]?.stringValue, let value = field["value"]?.stringValue else { return nil }
            return (name, value)
        }
        let headers = UpstreamHeaders(fields)
        let isUnchanged = headers["ETag"].map { $0 == request.fields["If-None-Match"] } ?? false
        return UpstreamResponse(
            address: request.address, status: isUnchanged ? 304 : Int(status), fields: headers,
            body: isUnchanged ? [] : Array(body))
    }

    private func file(_ request: UpstreamRequest, in state: Int) -> URL {
        // FNV-1a of 64 bits: what tells the requests of one recording apart, not a protection.
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for part in [
            Array(request.method.rawValue.utf8), Array(request.address.target.utf8),
            Array((request.fields["Accept"] ?? "").utf8), scrubbed(request.body),
        ] {
            for byte in part + [0] { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        let path = request.address.path.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
        let name =
            "\(request.method.rawValue)\(String(path.prefix(80)))-\(Hexadecimal.text(digest.bigEndianBytes))"
            + (state == 0 ? ".json" : "-\(state).json")
        return URL(fileURLWithPath: folder, isDirectory: true).appendingPathComponent(name)
    }

    /// A JSON or XML document without the values of secret members and elements; other bodies as they are.
    private func scrubbed(_ body: [UInt8]) -> [UInt8] {
        if body.first(where: { $0 > 0x20 }) == UInt8(ascii: "<") {
            return XMLScrubbing { isSecret($0) || $0 == "wsse:security" }.scrubbed(body)
        }
        guard body.first == UInt8(ascii: "{") || body.first == UInt8(ascii: "["),
            let value = try? JSONFormat().read(body)
        else { return body }
        var hasChanged = false
        let clean = scrubbed(value, &hasChanged)
        return hasChanged ? (try? JSONFormat().write(clean)) ?? [] : body
    }

    private func scrubbed(_ value: WireValue, _ hasChanged: inout Bool) -> WireValue {
        switch value {
        case .array(let items): return .array(items.map { scrubbed($0, &hasChanged) })
        case .dictionary(let members):
            var clean = WireDictionary()
            for member in members {
                if isSecret(member.key.lowercased()) {
                    hasChanged = true
                    clean[member.key] = Self.replacement
                } else {
                    clean[member.key] = scrubbed(member.value, &hasChanged)
                }
            }
            return .dictionary(clean)
        default: return value
        }
    }
}

extension Recording {
    private func isSecret(_ name: String) -> Bool { Self.usualSecrets.contains(name) || secretNames.contains(name) }
}

extension UInt64 {
    fileprivate var bigEndianBytes: [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> UInt64($0)) }
    }
}
