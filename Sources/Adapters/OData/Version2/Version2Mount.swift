import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// A service in OData 2.0 at one of its roots: the generic path and SAP's paths.
///
/// Requests are translated to version 4 and run through the same handlers. A ``Version2Format`` reads the bodies and
/// writes the responses.
struct Version2Mount: Sendable {
    let service: ODataService
    /// `/odata/v2/admissions`
    let rootPath: String

    func answer(_ request: MountRequest) async throws -> MountResponse {
        try await answer(request, isPartOfBatch: false)
    }

    func answerPart(_ request: MountRequest) async throws -> MountResponse {
        try await answer(request, isPartOfBatch: true)
    }

    private func answer(_ request: MountRequest, isPartOfBatch: Bool) async throws -> MountResponse {
        try Version2Protocol.check(request.headers)
        let inner = try Version2RequestReader(service: service, rootPath: rootPath).request(request)
        if case .batch = inner.plain.target.resource {
            guard !isPartOfBatch else { throw PorticoError.nestedBatch }
            // Callers who may not read are rejected here; each part's own access is checked with it.
            try service.configuration.rights.admit(request.caller, effect: .reads)
            return try await Version2Batch(mount: self, request: request, root: inner.plain.root).answer()
        }
        try service.configuration.rights.admit(
            request.caller, effect: inner.plain.method == "GET" ? .reads : .writes)
        return try inner.write(try await dispatch(inner))
    }

    private func dispatch(_ request: Version2Request) async throws -> Version2Response {
        switch request.plain.target.resource {
        case .service:
            try ResourceHandler.only(["GET"], request.plain)
            try OptionRules(request.plain).checkDocument()
            let sets = service.tables.model.container.entitySets.filter(\.includedInServiceDocument)
            return Version2Response(content: .service(sets.map(\.name)))
        case .path(let segments):
            let reader = ResourcePathReader(tables: service.tables, options: request.plain.target.options)
            let find = { try reader.address(segments) }
            let address = try request.plain.cachedQuery?.resourcePath(find) ?? find()
            try OptionRules(request.plain).check(address)
            let handler = Version2Handler(service: service, request: request)
            if let called = service.asked(for: address) {
                let plain = try handler.handler.calling(called, address)
                let request = Version2Request(plain: plain, format: request.format, scope: request.scope)
                var response = try await Version2Handler(service: service, request: request).answer(address)
                if plain.method == "GET" { response.headers.tell(plain.calls?.age) }
                return response
            }
            let plain = try await request.plain.aged(by: address.entities(request.plain, of: service.tables))
            do {
                var response = try await handler.answer(address)
                response.headers.tell(plain.age)
                return response
            } catch let error as PorticoError {
                throw service.called?.reported(error) ?? error
            }
        case .metadata:
            try ResourceHandler.only(["GET"], request.plain)
            try OptionRules(request.plain).checkDocument()
            return Version2Response(content: .raw(service.documents.version2, type: "application/xml;charset=utf-8"))
        case .batch, .entity, .crossJoin, .all:
            throw PorticoError(.recordNotFound, "There is no such resource in this service.")
        }
    }
}

/// `DataServiceVersion` and `MaxDataServiceVersion` ([MS-ODATA], sections 2.2.5.3 and 2.2.5.7).
enum Version2Protocol {
    static let version = "2.0"

    /// Throws where the request is of a later version, or its sender knows no version that answers have.
    static func check(_ headers: MountHeaders) throws(PorticoError) {
        if let sent = number(headers["DataServiceVersion"]), sent > 2 { throw wrong("DataServiceVersion") }
        if let maximum = number(headers["MaxDataServiceVersion"]), maximum < 2 {
            throw wrong("MaxDataServiceVersion")
        }
    }

    /// The number before `;`; the sender's name follows it.
    private static func number(_ field: String?) -> Double? {
        field.flatMap { Double($0.mediaTypeName) }
    }

    private static func wrong(_ field: String) -> PorticoError {
        PorticoError(.requestInvalid, "This address speaks OData 2.0.", target: field)
    }
}

/// Handles a request of version 2 by the resource that its path addresses.
struct Version2Handler: Sendable {
    let service: ODataService
    let request: Version2Request

    var handler: ResourceHandler { ResourceHandler(service: service, request: request.plain) }
    var tables: ServiceTables { service.tables }

    func answer(_ address: ResourcePath) async throws -> Version2Response {
        if case .operation(let call) = address.target {
            return try await Version2Operations(self).answer(call, address.suffix)
        }
        guard request.plain.method == "GET" else { return try await Version2Writing(self).answer(address) }
        return try await Version2Reading(self).answer(address)
    }

    /// The level of rows that a query of this request gave.
    func level(_ shape: ResultShape, _ options: [QueryOption]) throws -> Version2Level {
        guard let level = Version2Level(shape, options: options, model: tables.model) else {
            throw PorticoError(.serverInternal, "The query answers no entities.")
        }
        return level
    }
}

extension Version2Response {
    /// A response of a version 4 handler that has no format: no content, or bytes.
    init(plain answer: MountResponse) {
        var headers = answer.headers
        for name in ["OData-Version", "OData-EntityId", "Preference-Applied"] { headers[name] = nil }
        guard case .bytes(let bytes) = answer.body, !bytes.isEmpty, let type = headers["Content-Type"] else {
            self.init(status: answer.status, headers: headers, content: .nothing)
            return
        }
        self.init(status: answer.status, headers: headers, content: .raw(bytes, type: type))
    }
}

/// Writes errors as version 2's error document, in the format that the client most likely accepts.
enum Version2Failure {
    static func answer(
        _ failure: Version2Error, status: Int, to headers: MountHeaders, target: String, adding: MountHeaders = [:]
    ) -> MountResponse {
        let format = Version2Formats.likeliest(format: formatOption(target), accept: headers["Accept"])
        let document = format.document(failure)
        var fields = adding
        fields["Content-Type"] = document.mediaType
        fields["DataServiceVersion"] = Version2Protocol.version
        return MountResponse(status, headers: fields, body: document.bytes)
    }

    /// `$format` of an address that perhaps cannot be parsed.
    private static func formatOption(_ target: String) -> String? {
        let query = target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        for piece in query.split(separator: "&") {
            for name in ["$format=", "%24format="] where piece.hasPrefix(name) {
                return String(piece.dropFirst(name.count)).replacing("%2F", with: "/")
            }
        }
        return nil
    }
}

/// Negotiates the format of a response and finds the format of a body.
enum Version2Formats {
    /// The first is for those who ask for none.
    static let all: [any Version2Format] = [AtomFormat(), Version2JSONFormat()]

    /// By `$format`, or else by `Accept`. Throws `request.notAcceptable` where neither names one that there is.
    static func answer(format: String?, accept: String?) throws(PorticoError) -> any Version2Format {
        if let chosen = chosen(format: format, accept: accept) { return chosen }
        throw PorticoError(
            .notAcceptable, "The answer can be had as application/atom+xml and as application/json.",
            target: format == nil ? nil : "$format")
    }

    /// The same for errors, which always have a format.
    static func likeliest(format: String?, accept: String?) -> any Version2Format {
        chosen(format: format, accept: accept) ?? chosen(format: nil, accept: accept) ?? all[0]
    }

    /// Of a request's body. Throws `request.unsupportedMediaType`.
    static func body(_ contentType: String?) throws(PorticoError) -> any Version2Format {
        let type = (contentType ?? "").mediaTypeName
        guard let format = all.first(where: { $0.takes(type) }) else {
            throw PorticoError(
                .unsupportedMediaType, "The body can be sent as application/atom+xml and as application/json.")
        }
        return format
    }

    private static func chosen(format: String?, accept: String?) -> (any Version2Format)? {
        if let format {
            let name = format.mediaTypeName
            return all.first { $0.isNamed(name) || $0.takes(name) }
        }
        guard let accept, !accept.isEmpty else { return all[0] }
        let ranges = accept.split(separator: ",").map { (type: $0.mediaTypeName, weight: weight($0)) }
            .filter { $0.weight > 0 }.sorted { $0.weight > $1.weight }
        for range in ranges {
            if ["*/*", "application/*"].contains(range.type) { return all[0] }
            if let format = all.first(where: { $0.takes(range.type) }) { return format }
        }
        return nil
    }

    private static func weight(_ range: Substring) -> Double {
        for piece in range.split(separator: ";").dropFirst() {
            let text = piece.filter { !$0.isFieldWhitespace }
            if text.hasPrefix("q=") { return Double(text.dropFirst(2)) ?? 0 }
        }
        return 1
    }
}

/// Handles `$batch` of version 2 ([MS-ODATA], section 2.2.7.6): `multipart/mixed`, status 202. Reads and change sets
/// run independently of failures before them.
struct Version2Batch: Sendable {
    let mount: Version2Mount
    let request: MountRequest
    /// `https://host/odata/v2/service/`
    let root: String

    func answer() async throws -> MountResponse {
        guard request.method == "POST" else {
            throw ODataError.methodNotAllowed("A batch is sent with POST.", allowed: "POST")
        }
        let type = request.headers["Content-Type"] ?? ""
        guard type.lowercased().hasPrefix("multipart/mixed") else {
            throw PorticoError(.unsupportedMediaType, "A batch is multipart/mixed.")
        }
        let limits = mount.service.configuration.limits
        let steps = try MultipartReader(request.body, limits: limits.batch).steps(contentType: type)
        let run = BatchRun(mount: mount, request: request, root: root, most: limits.heldBytes)
        return try await BatchResponse(
            status: 202, most: limits.wholeBytes, time: .seconds(limits.streamSeconds)
        ).made(
            of: BatchExecution(steps, run, goesOn: true, fillsUp: false),
            MultipartWriter(headers: ["DataServiceVersion": Version2Protocol.version]))
    }
}

extension Version2Mount: BatchTarget {
    static let inheritedFields = ["DataServiceVersion", "MaxDataServiceVersion", "Accept-Language"]

    func failure(_ error: any Error, of request: MountRequest) -> MountResponse {
        let failure =
            error as? ODataError
            ?? ODataError(error as? PorticoError ?? PorticoError(.serverInternal, "The request failed."))
        return Version2Failure.answer(
            Version2Error(error: failure.error, details: failure.details, requestID: request.requestID),
            status: failure.status ?? BatchFailure.status(failure.error.code), to: request.headers,
            target: request.target, adding: failure.headers)
    }

    func address(_ target: String) -> ResourcePath? {
        guard
            let parsed = try? Version2Target(tables: service.tables, limits: service.configuration.limits.language)
                .target(target),
            case .path(let segments) = parsed.resource
        else { return nil }
        return try? ResourcePathReader(tables: service.tables, options: parsed.options).address(segments)
    }

    func path(_ fields: WireDictionary, in table: RecordTable) -> String {
        table.source + table.version2Predicate(fields, model: service.tables.model)
    }
}

extension RecordTable {
    /// `(1)` or `(A=1,B='x')` in version 2's literals.
    fileprivate func version2Predicate(_ fields: WireDictionary, model: EntityDataModel) -> String {
        let form = Version2ValueCodec(model: model)
        let parts = keyNames.compactMap { name in
            columns[name].map { column in
                (name: name, text: form.address(fields[column.field.text] ?? .null, column.type))
            }
        }
        if parts.count == 1 { return "(\(parts[0].text))" }
        return "(\(parts.map { "\($0.name)=\($0.text)" }.joined(separator: ",")))"
    }
}
