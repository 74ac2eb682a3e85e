import AdapterKit
import ODataEngine
import ODataLanguage

/// Handles `$batch` of version 4 (Protocol 4.01, section 11.7).
struct BatchHandler: Sendable {
    let service: ODataService
    let request: MountRequest
    /// `https://host/odata/v4/service/`
    let root: String
    let version: String

    private var limits: ServiceLimits { service.configuration.limits }

    func answer() async throws -> MountResponse {
        guard request.method == "POST" else {
            throw ODataError.methodNotAllowed("A batch is sent with POST.", allowed: "POST")
        }
        let type = (request.headers["Content-Type"] ?? "").lowercased()
        if type.hasPrefix("multipart/mixed") {
            let reader = MultipartReader(request.body, limits: limits.batch)
            let steps = try reader.steps(contentType: request.headers["Content-Type"] ?? "")
            return try await answer.made(
                of: BatchExecution(steps, run, goesOn: continues ?? false, fillsUp: false),
                MultipartWriter(headers: ["OData-Version": version]))
        }
        guard type.hasPrefix("application/json") else {
            throw PorticoError(.unsupportedMediaType, "A batch is multipart/mixed or application/json.")
        }
        guard version != "4.0" else {
            throw PorticoError(.requestInvalid, "Batches in JSON came with OData 4.01.", target: "OData-MaxVersion")
        }
        let steps = try JSONBatchReader(bytes: request.body, limits: limits.batch).steps()
        return try await answer.made(
            of: BatchExecution(steps, run, goesOn: continues ?? true, fillsUp: true), JSONBatchWriter())
    }

    private var answer: BatchResponse { BatchResponse(most: limits.wholeBytes, time: .seconds(limits.streamSeconds)) }

    private var run: BatchRun { BatchRun(mount: service, request: request, root: root, most: limits.heldBytes) }
    /// By default, a batch in JSON goes on after a failure (JSON Format 4.01, section 19.5), one of parts ends
    /// with it (Protocol 4.01, section 11.7.7.2).
    private var continues: Bool? { Preferences(request.headers["Prefer"]).continuesOnError }
}

extension ODataService: BatchTarget {
    static let inheritedFields = ["OData-MaxVersion", "OData-Version"]

    func failure(_ error: any Error, of request: MountRequest) -> MountResponse {
        var answer = BatchFailure.answer(error, requestID: request.requestID)
        answer.headers["Content-Language"] = "en"
        answer.headers["OData-Version"] = ProtocolVersion.failing(request.headers)
        return answer
    }

    func address(_ target: String) -> ResourcePath? {
        guard let parsed = try? TargetReader.target(target, limits: configuration.limits.language),
            case .path(let segments) = parsed.resource
        else { return nil }
        return try? ResourcePathReader(tables: tables, options: parsed.options).address(segments)
    }

    func path(_ fields: WireDictionary, in table: RecordTable) -> String {
        table.source + table.keyPredicate(fields, model: tables.model)
    }
}
