import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

// The requests of version 4.
extension ODataService {
    /// At once, or with the address where the answer can be asked for later.
    func respond(to request: MountRequest) async throws -> MountResponse {
        let version = try ProtocolVersion(request.headers, hasBody: !request.body.isEmpty).answered
        let monitor = StatusMonitor(
            responses: asyncResponses, owner: AsyncResponses.Owner(request.caller, at: configuration.name),
            root: "\(request.origin)\(rootPath)/", request: request, version: version)
        if let id = StatusMonitor.id(in: relative(request)) { return try await monitor.answer(id) }
        guard Preferences(request.headers["Prefer"]).respondsAsynchronously else {
            return try await betweenReseeds { try await answer(request) }
        }
        try configuration.rights.admit(request.caller, effect: request.method == "GET" ? .reads : .writes)
        let id = try await asyncResponses.start(for: monitor.owner) { [self] in
            try await betweenReseeds { try await answer(request) }
        } failure: { [self] error in
            failure(error, of: request)
        }
        return monitor.accepted(id)
    }

    /// Below the root, as it came.
    private func relative(_ request: MountRequest) -> String {
        RootedTarget.relative(request.target, below: rootPath)
    }

    func answer(_ request: MountRequest) async throws -> MountResponse {
        try await answer(request, isPartOfBatch: false)
    }

    func answerPart(_ request: MountRequest) async throws -> MountResponse {
        try await answer(request, isPartOfBatch: true)
    }

    private func answer(_ request: MountRequest, isPartOfBatch: Bool) async throws -> MountResponse {
        let inner = try self.request(request)
        if case .batch = inner.target.resource {
            guard !isPartOfBatch else { throw PorticoError.nestedBatch }
            return try await BatchHandler(
                service: self, request: request, root: inner.root, version: inner.format.version
            ).answer()
        }
        try configuration.rights.admit(request.caller, effect: inner.method == "GET" ? .reads : .writes)
        return try await dispatch(inner)
    }

    func request(_ request: MountRequest) throws -> ServiceRequest {
        let version = try ProtocolVersion(request.headers, hasBody: !request.body.isEmpty).answered
        try SnapshotIsolation.refuse(request.headers)
        let (method, relative) = try QueryPost(
            method: request.method,
            relative: self.relative(request), headers: request.headers, body: request.body
        ).plain()
        let limits = configuration.limits.language
        let (cachedQuery, target) = try cachedQuery(method, relative, in: .v4) { text throws(PorticoError) in
            try TargetReader.target(text, limits: limits)
        }
        var format = try format(target, cachedQuery, accept: request.headers["Accept"])
        format.version = version
        try documents.checkVersion(of: target)
        let preferences = Preferences(request.headers["Prefer"])
        format.omitted = preferences.omitted(version: version)
        return ServiceRequest(
            method: method, relative: relative, target: target, format: format,
            preferences: preferences, headers: request.headers, body: request.body,
            root: "\(request.origin)\(rootPath)/", caller: request.caller, records: request.records,
            ages: request.ages, cachedQuery: cachedQuery, calls: calls(request.caller, method))
    }

    func dispatch(_ request: ServiceRequest) async throws -> MountResponse {
        switch request.target.resource {
        case .service:
            try ResourceHandler.only(["GET"], request)
            let responses = ResponseBuilder(format: request.format)
            return CacheableDocument(responses: responses, asked: request.headers)
                .kept(responses.json(documents.service(request.format, root: request.root)))
        case .metadata:
            try ResourceHandler.only(["GET"], request)
            let document = try documents.metadata(
                format: request.target.formatOption, accept: request.headers["Accept"], version: request.format.version)
            let responses = ResponseBuilder(format: request.format)
            return CacheableDocument(responses: responses, asked: request.headers)
                .kept(responses.text(document.body, type: document.type))
        case .path(let segments):
            let address = try address(segments, request)
            if let called = asked(for: address) {
                let handler = ResourceHandler(service: self, request: request)
                var response = try await ResourceHandler(
                    service: self, request: try handler.calling(called, address)
                ).handled(address)
                if request.method == "GET" { response.headers.tell(request.calls?.age) }
                return response
            }
            return try await aged(request, address.entities(request, of: tables)) { try await $0.answer(address) }
        case .entity: return try await aged(request, tables.entities) { try await $0.byID() }
        case .batch: throw ODataError.notImplemented("A batch in a batch")
        case .crossJoin(let sources, _):
            return try await aged(request, tables.entities) { try await CombinedReading($0).crossJoin(sources) }
        case .all(let type):
            return try await aged(request, tables.entities) { try await CombinedReading($0).all(type) }
        }
    }

    /// The calls of other systems that the request makes; nil where the service asks none.
    func calls(_ caller: Principal, _ method: String) -> CalledRequest? {
        called == nil ? nil : CalledRequest(caller, takesKept: method == "GET")
    }

    /// The sets of the system that is asked for what the path leads to; nil where it is here. An operation that an adapter of this
    /// gateway performs is here.
    func asked(for address: ResourcePath) -> (any CalledEntities)? {
        guard let called else { return nil }
        if case .operation(let call) = address.target {
            return call.overloads.contains { operations[$0.name.description] != nil } ? nil : called
        }
        return called.isCalled(address) ? called : nil
    }

    /// With the age of the mirrored records of these entities, where the request reads.
    private func aged(
        _ request: ServiceRequest, _ entities: Set<EntityName>,
        _ answer: (ResourceHandler) async throws -> MountResponse
    ) async throws -> MountResponse {
        let request = try await request.aged(by: entities)
        do {
            var response = try await answer(ResourceHandler(service: self, request: request))
            response.headers.tell(request.age)
            return response
        } catch let error as PorticoError {
            throw called?.reported(error) ?? error
        }
    }
}

// Parsing requests, with cached results for repeated queries.
extension ODataService {
    /// The cached query and the parsed address. An address that cannot be parsed without its tokens is parsed whole, so that
    /// its error is reported.
    func cachedQuery(
        _ method: String, _ relative: String, in language: LanguageVersion,
        read: (String) throws(PorticoError) -> RequestTarget
    ) throws -> (CachedQuery?, RequestTarget) {
        let address = PageAddress(relative, changes: language == .v2 ? "!deltatoken" : "$deltatoken")
        guard method == "GET" else { return (nil, try read(relative)) }
        if address.isOfPage, relative.utf8.count <= configuration.limits.language.length,
            let cachedQuery = try? queryPlans.cachedQuery(address.cachedQuery, in: language, read: read),
            !cachedQuery.target.isOfOnePage
        {
            return (cachedQuery, address.target(cachedQuery.target))
        }
        let cachedQuery = try queryPlans.cachedQuery(relative, in: language, read: read)
        return (cachedQuery, cachedQuery.target)
    }

    /// In which of JSON's forms the answer is written.
    func format(
        _ target: RequestTarget, _ cachedQuery: CachedQuery?, accept: String?
    ) throws -> ResponseFormat {
        let negotiate = { [self] in
            isRaw(target)
                ? ResponseFormat() : try ResponseFormat.negotiate(format: target.formatOption, accept: accept)
        }
        return try cachedQuery?.format(accept, negotiate) ?? negotiate()
    }

    /// Answers that are not in OData's JSON negotiate for themselves.
    private func isRaw(_ target: RequestTarget) -> Bool {
        switch target.resource {
        case .metadata, .batch: return true
        case .path(let segments):
            switch segments.last?.form {
            case .value, .count: return true
            case .name(let name): return tables.tables.values.contains { $0.streams[name.name] != nil }
            default: return false
            }
        default: return false
        }
    }

    /// Where the path leads.
    func address(_ segments: [PathSegment], _ request: ServiceRequest) throws -> ResourcePath {
        let find = {
            try ResourcePathReader(tables: self.tables, options: request.target.options).address(segments)
        }
        let address = try request.cachedQuery?.resourcePath(find) ?? find()
        try OptionRules(request).check(address)
        return address
    }
}

extension RequestTarget {
    /// Whether it has a `$skiptoken` or a `$deltatoken`.
    fileprivate var isOfOnePage: Bool {
        options.contains { option in
            switch option.form {
            case .skipToken, .deltaToken: true
            default: false
            }
        }
    }
}

/// A document that changes with the model alone: adds an entity tag and handles `If-None-Match` (RFC 9110, section
/// 13.1.2).
struct CacheableDocument: Sendable {
    private static let caching = "private, no-cache"

    let responses: ResponseBuilder
    let asked: MountHeaders

    func kept(_ whole: MountResponse) -> MountResponse {
        guard case .bytes(let bytes) = whole.body else { return whole }
        let tag = EntityTag.text(Revision(Self.number(bytes)))
        if let field = asked["If-None-Match"], EntityReading.matches(field, tag) {
            return responses.nothing(304, headers: ["ETag": tag, "Cache-Control": Self.caching])
        }
        var answer = whole
        answer.headers["ETag"] = tag
        answer.headers["Cache-Control"] = Self.caching
        return answer
    }

    /// FNV-1a, without its lowest bit.
    private static func number(_ bytes: [UInt8]) -> Int64 {
        Int64(bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } >> 1)
    }
}

/// The status monitor resource of an asynchronous request: 202 while it runs, then its response (Protocol 4.01, section
/// 11.6; Protocol 4.0, section 11.6).
struct StatusMonitor: Sendable {
    private static let segment = "$async/"

    let responses: AsyncResponses
    let owner: AsyncResponses.Owner
    /// `https://host/odata/v4/service/`
    let root: String
    let request: MountRequest
    let version: String

    /// The name in a monitor's address; nil for every other one.
    static func id(in relative: String) -> String? {
        guard relative.hasPrefix(segment) else { return nil }
        return String(relative.dropFirst(segment.count).prefix { $0 != "?" })
    }

    /// Says that the answer comes later.
    func accepted(_ id: String) -> MountResponse {
        MountResponse(
            202,
            headers: [
                "Location": "\(root)\(Self.segment)\(id)", "Preference-Applied": "respond-async", "Retry-After": "1",
                "OData-Version": version,
            ])
    }

    func answer(_ id: String) async throws -> MountResponse {
        switch request.method {
        case "GET":
            guard let progress = await responses.progress(of: id, for: owner) else { throw Self.unknown }
            switch progress {
            case .running: return accepted(id)
            case .done(let kept):
                return wantsWhole ? whole(try kept.answer(), size: kept.size) : plain(try kept.answer())
            }
        case "DELETE":
            guard await responses.cancel(id, for: owner) else { throw Self.unknown }
            return MountResponse(204, headers: ["OData-Version": version])
        default:
            throw ODataError.methodNotAllowed(
                "A request under way is asked for and cancelled.", allowed: "GET, HEAD, DELETE, OPTIONS")
        }
    }

    private static var unknown: PorticoError { PorticoError(.recordNotFound, "There is no such request.") }

    /// OData 4.0 has the answer as a message in the body; later clients ask for that.
    private var wantsWhole: Bool {
        guard let accept = request.headers["Accept"], !accept.isEmpty else { return version == "4.0" }
        return accept.lowercased().contains("application/http")
    }

    private func plain(_ answer: MountResponse) -> MountResponse {
        var plain = answer
        plain.headers["AsyncResult"] = String(answer.status)
        plain.status = 200
        return plain
    }

    private func whole(_ answer: MountResponse, size: Int) -> MountResponse {
        let head = MultipartWriter.head(of: answer, size: size)
        let body: MountResponse.Body =
            switch answer.body {
            case .bytes(let bytes): .bytes(head + bytes)
            case .stream(let pieces): .stream(PrefetchedBody(head, pieces))
            }
        return MountResponse(
            200,
            headers: [
                "Content-Type": "application/http", "Content-Transfer-Encoding": "binary", "OData-Version": version,
            ], body: body)
    }
}

// What a path addresses, each kind with those methods that it has.
extension ResourceHandler {
    var writer: ResultWriter {
        ResultWriter(
            tables: tables, format: request.format, root: request.root,
            asOf: (request.age ?? request.calls?.age)?.asOf)
    }

    /// With entities that another system is asked for. Throws for what other systems are not asked.
    func calling(_ sets: any CalledEntities, _ address: ResourcePath) throws -> ServiceRequest {
        if DeltaReading(self).isAskedForChanges {
            throw ODataError.notImplemented("Asking another system for changes")
        }
        switch (address.target, address.suffix) {
        case (.operation(let call), _):
            guard call.overloads.first?.kind == .function else {
                throw ODataError.notImplemented("An action of the system \(sets.name)")
            }
            try Self.only(["GET"], request)
            return request
        case (_, _) where request.method == "GET": return request
        case (.entities(let path), .none):
            guard request.method == "POST", case .all = path.origin else { break }
            try sets.checkWritten(path.table)
            return request.with(try changing(sets))
        case (.entity(let path), .none):
            guard case .key = path.origin else { break }
            try sets.checkWritten(path.table)
            return request.with(try changing(sets))
        default: break
        }
        throw ODataError.notImplemented("This change of entities of the system \(sets.name)")
    }

    private func changing(_ sets: any CalledEntities) throws -> any ChangedElsewhere {
        guard let calls = request.calls else { throw ODataError.notImplemented("This change") }
        return sets.records(over: request.records, runner, for: calls)
    }

    func answer(_ address: ResourcePath) async throws -> MountResponse {
        if request.method == "GET" || request.records is any ChangedElsewhere { return try await handled(address) }
        if case .operation = address.target { return try await handled(address) }
        return try await ResourceHandler(service: service, request: request.addressing(service.own)).handled(address)
    }

    fileprivate func handled(_ address: ResourcePath) async throws -> MountResponse {
        switch (address.target, address.suffix) {
        case (.entities(let collectionPath), .none): return try await entities(collectionPath)
        case (.entities(let collectionPath), .count):
            try Self.only(["GET"], request)
            return try await CollectionReading(self).count(collectionPath)
        case (.entities(let collectionPath), .ref): return try await ReferenceHandler(self).collection(collectionPath)
        case (.entity(let entityPath), .ref): return try await ReferenceHandler(self).single(entityPath)
        case (.entity(let entityPath), _): return try await entity(entityPath)
        case (.property(let entityPath, let property), let suffix):
            return try await PropertyHandler(self).answer(entityPath, property, suffix)
        case (.stream(let entityPath, let name), _): return try await StreamHandler(self).answer(entityPath, name)
        case (.operation(let call), let suffix): return try await OperationHandler(self).answer(call, suffix)
        default: throw PorticoError(.recordNotFound, "There is no such resource in this service.")
        }
    }

    /// `$entity?$id=…`
    func byID() async throws -> MountResponse {
        try Self.only(["GET"], request)
        for option in request.target.options {
            if case .id(let text) = option.form { return try await entity(try links.entityPath(at: text)) }
        }
        throw PorticoError(.requestInvalid, "$entity needs $id.")
    }

    private func entities(_ collectionPath: EntityCollectionPath) async throws -> MountResponse {
        switch request.method {
        case "GET": return try await CollectionReading(self).page(collectionPath)
        case "POST":
            try capable(collectionPath.table, .insert)
            return try await EntityWriting(self).create(in: collectionPath)
        case "PATCH": return try await CollectionDelta(self, collectionPath).answer()
        default:
            throw ODataError.methodNotAllowed(
                "A collection is read, added to and changed.", allowed: "GET, HEAD, POST, PATCH, OPTIONS")
        }
    }

    private func entity(_ entityPath: EntityPath) async throws -> MountResponse {
        switch request.method {
        case "GET": return try await EntityReading(self).entity(entityPath)
        case "PATCH", "PUT":
            try capable(entityPath.table, .update)
            return try await EntityWriting(self).change(entityPath, replacing: request.method == "PUT")
        case "DELETE":
            guard !entityPath.table.isSingleton else {
                throw ODataError.methodNotAllowed("A singleton stays.", allowed: "GET, HEAD, PATCH, PUT, OPTIONS")
            }
            try capable(entityPath.table, .delete)
            return try await EntityWriting(self).delete(entityPath)
        default:
            throw ODataError.methodNotAllowed(
                "An entity is not posted to.", allowed: "GET, HEAD, PATCH, PUT, DELETE, OPTIONS")
        }
    }
}
