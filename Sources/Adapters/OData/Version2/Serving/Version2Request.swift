import AdapterKit
import ODataLanguage
import ODataRecords

/// One request of version 2: as the desks of both versions have it, and how its answer is to be written.
struct Version2Request: Sendable {
    let plain: ServiceRequest
    let format: any Version2Format
    let scope: Version2Scope

    /// The answer in the format that was asked for, with the header fields that all of version 2's have.
    func write(_ answer: Version2Answer) throws(PorticoError) -> MountResponse {
        var headers = answer.headers
        headers["DataServiceVersion"] = Version2Protocol.version
        switch answer.content {
        case .nothing: return MountResponse(answer.status, headers: headers)
        case .raw(let bytes, let type):
            headers["Content-Type"] = type
            return MountResponse(answer.status, headers: headers, body: bytes)
        case .stored(let bytes, let content):
            return MountResponse(answer.status, stored: bytes, as: content, headers: headers)
        case .written(let body, let type):
            headers["Content-Type"] = type
            return MountResponse(answer.status, headers: headers, body: body)
        default:
            let document = try format.document(answer.content, in: scope)
            headers["Content-Type"] = document.mediaType
            return MountResponse(answer.status, headers: headers, body: document.bytes)
        }
    }
}

/// Reads requests: the method that is meant, the address, the formats.
struct Version2RequestReader: Sendable {
    let service: ODataService
    let rootPath: String

    func request(_ request: MountRequest) throws -> Version2Request {
        let relative = RootedTarget.relative(request.target, below: rootPath)
        let method = try Self.method(request)
        let reader = Version2Target(tables: service.tables, limits: service.configuration.limits.language)
        let (cachedQuery, target) = try service.cachedQuery(
            method, relative, in: .v2, read: reader.target)
        let root = "\(request.origin)\(rootPath)/"
        let plain = ServiceRequest(
            method: method, relative: relative, target: target, format: ResponseFormat(),
            preferences: Preferences(nil), headers: request.headers, body: request.body, root: root,
            caller: request.caller, records: request.records, cachedQuery: cachedQuery, language: .v2)
        let scope = Version2Scope(
            model: service.tables.model, root: root, relative: relative, now: service.clock.now())
        return Version2Request(plain: plain, format: try format(target, cachedQuery, request.headers), scope: scope)
    }

    /// Answers that are the same in every format are given whatever was asked for.
    private func format(
        _ target: RequestTarget, _ cachedQuery: CachedQuery?, _ headers: MountHeaders
    ) throws -> any Version2Format {
        let accept = headers["Accept"]
        let negotiate = { try format(target, accept: accept) }
        return try cachedQuery?.version2.format(accept, negotiate) ?? negotiate()
    }

    private func format(_ target: RequestTarget, accept: String?) throws(PorticoError) -> any Version2Format {
        switch target.resource {
        case .metadata, .batch: return Version2Formats.likeliest(format: nil, accept: nil)
        case .path(let segments):
            switch segments.last?.form {
            case .value, .count: return Version2Formats.likeliest(format: nil, accept: nil)
            default: break
            }
        default: break
        }
        return try Version2Formats.answer(format: target.formatOption, accept: accept)
    }

    /// `X-HTTP-Method` says what a `POST` means, for what only lets `GET` and `POST` through. `MERGE` is what `PATCH`
    /// was called before there was one.
    private static func method(_ request: MountRequest) throws(PorticoError) -> String {
        var method = request.method
        if let meant = request.headers["X-HTTP-Method"] ?? request.headers["X-HTTP-Method-Override"] {
            guard method == "POST", ["PUT", "MERGE", "PATCH", "DELETE"].contains(meant.uppercased()) else {
                throw PorticoError(
                    .requestInvalid, "X-HTTP-Method makes PUT, MERGE, PATCH or DELETE of a POST.",
                    target: "X-HTTP-Method")
            }
            method = meant.uppercased()
        }
        return method == "MERGE" ? "PATCH" : method
    }
}
