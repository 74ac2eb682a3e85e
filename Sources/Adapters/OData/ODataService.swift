import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// One service: takes its requests apart and hands them to whoever answers their kind.
struct ODataService: Sendable {
    let configuration: ServiceConfiguration
    let documents: ServiceDocuments
    let operations: ServiceOperationTable
    let clock: any WallClock
    let gate: ReseedGate
    /// All of the service's records, for loading the seed.
    let own: any RecordStore

    var tables: ServiceTables { configuration.tables }
    private var rootPath: String { "/odata/v4/\(configuration.name)" }

    func answer(_ request: DoorRequest) async throws -> DoorAnswer {
        let inner = try self.request(request)
        try configuration.access.admit(request.caller, effect: inner.method == "GET" ? .reads : .writes)
        return try await dispatch(inner)
    }

    func request(_ request: DoorRequest) throws -> ServiceRequest {
        let version = try ProtocolVersion(request.headers).answered
        let (method, relative) = try QueryPost(
            method: request.method,
            relative: String(request.target.dropFirst(rootPath.utf8.count).drop { $0 == "/" }),
            headers: request.headers, body: request.body
        ).plain()
        let target = try TargetReader.target(relative)
        var format = ResponseFormat()
        if !isRaw(target) {
            format = try ResponseFormat.negotiate(format: target.formatOption, accept: request.headers["Accept"])
        }
        format.version = version
        return ServiceRequest(
            method: method, relative: relative, target: target, format: format,
            preferences: Preferences(request.headers["Prefer"]), headers: request.headers, body: request.body,
            root: "\(request.origin)\(rootPath)/", caller: request.caller, records: request.records)
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

    func dispatch(_ request: ServiceRequest) async throws -> DoorAnswer {
        switch request.target.resource {
        case .service:
            try ResourceDesk.only(["GET"], request)
            return Answers(format: request.format).json(documents.service(request.format, root: request.root))
        case .metadata:
            try ResourceDesk.only(["GET"], request)
            let document = try documents.metadata(
                format: request.target.formatOption, accept: request.headers["Accept"])
            return Answers(format: request.format).text(document.body, type: document.type)
        case .path(let segments):
            let reader = AddressReader(tables: tables, options: request.target.options)
            return try await ResourceDesk(service: self, request: request).answer(try reader.address(segments))
        case .entity: return try await ResourceDesk(service: self, request: request).byID()
        case .batch: throw ODataError.notImplemented("$batch")
        case .crossJoin: throw ODataError.notImplemented("$crossjoin")
        case .all: throw ODataError.notImplemented("$all")
        }
    }
}

/// `OData-Version` and `OData-MaxVersion` (Protocol 4.01, sections 8.1.5 and 8.2.7).
struct ProtocolVersion {
    let answered: String

    init(_ headers: DoorHeaders) throws(PorticoError) {
        if let sent = headers["OData-Version"], sent != "4.0", sent != "4.01" {
            throw PorticoError(.requestInvalid, "This service speaks OData 4.0 and 4.01.", target: "OData-Version")
        }
        guard let maximum = headers["OData-MaxVersion"] else {
            answered = "4.01"
            return
        }
        guard let number = Double(maximum), number >= 4 else {
            throw PorticoError(.requestInvalid, "This service speaks OData 4.0 and 4.01.", target: "OData-MaxVersion")
        }
        answered = number < 4.01 ? "4.0" : "4.01"
    }
}
