import AdapterKit

/// The resource that tells how far a request has come that is answered later, and at the end its answer (Protocol 4.01,
/// section 11.6; Protocol 4.0, section 11.6).
struct StatusMonitor: Sendable {
    private static let segment = "$async/"

    let answers: AsyncResponses
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
            guard let progress = await answers.progress(of: id, for: owner) else { throw Self.unknown }
            switch progress {
            case .running: return accepted(id)
            case .done(let kept):
                return wantsWhole ? whole(try kept.answer(), size: kept.size) : plain(try kept.answer())
            }
        case "DELETE":
            guard await answers.cancel(id, for: owner) else { throw Self.unknown }
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
            case .stream(let pieces): .stream(BegunPieces(head, pieces))
            }
        return MountResponse(
            200,
            headers: [
                "Content-Type": "application/http", "Content-Transfer-Encoding": "binary", "OData-Version": version,
            ], body: body)
    }
}
