import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataRecords

/// Answers `$batch` of version 2 ([MS-ODATA], section 2.2.7.6): `multipart/mixed`, answered 202; reads and change sets,
/// each by itself, whatever became of those before.
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
        return try await BatchCallResponse(
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

    func address(_ target: String) -> Address? {
        guard
            let parsed = try? Version2Target(tables: service.tables, limits: service.configuration.limits.language)
                .target(target),
            case .path(let segments) = parsed.resource
        else { return nil }
        return try? AddressReader(tables: service.tables, options: parsed.options).address(segments)
    }

    func path(_ fields: WireDictionary, in table: RecordTable) -> String {
        table.source + table.version2Predicate(fields, model: service.tables.model)
    }
}

extension RecordTable {
    /// `(1)` or `(A=1,B='x')` in version 2's literals.
    fileprivate func version2Predicate(_ fields: WireDictionary, model: EntityDataModel) -> String {
        let form = Version2Form(model: model)
        let parts = keyNames.compactMap { name in
            columns[name].map { column in
                (name: name, text: form.address(fields[column.field.text] ?? .null, column.type))
            }
        }
        if parts.count == 1 { return "(\(parts[0].text))" }
        return "(\(parts.map { "\($0.name)=\($0.text)" }.joined(separator: ",")))"
    }
}
