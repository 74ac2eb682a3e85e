import AdapterKit
import HTTPTypes
import RecordStorage
import ValueTree

/// `POST /admin/v1/adapters/{adapter}/import`: loads a file of records through the adapter's operation `import`, all of
/// it or nothing. With `?first=` the file is a part of a larger one.
struct ImportEndpoint: Endpoint {
    static let operation: OperationName = "import"

    let served: ServedAdapter
    let operation: Operation
    let services: GatewayServices

    var properties: EndpointProperties {
        EndpointProperties(
            name: "admin.\(served.declaration.name).import", access: .login, effect: .writes,
            bodyLimit: services.limits.importFile)
    }

    var description: EndpointDescription {
        EndpointDescription(summary: operation.summary, tag: "Administration")
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let bytes = try await services.bodies.bytes(of: request.request, limit: services.limits.importFile)
        let rows = try ImportedRows(
            bytes, contentType: request.request.headers[.contentType], first: try first(of: request),
            bodies: services.bodies)
        var input: WireDictionary = ["rows": .array(try rows.values(of: rowShape))]
        // What an adapter asks for beside the rows, such as which of its sets they are for.
        for member in operation.input.members where member.name.text != "rows" {
            if let text = request.request.target[member.name.text] { input[member.name.text] = .string(text) }
        }
        input = Coercion.typed.coerce(input, to: operation.input)
        do {
            let answer = try await services.calls.answer(operation, of: served, input: input, request: request)
            return try services.answers.write(
                answer, of: operation, to: request.request, presentation: Presentation(), version: nil)
        } catch let error as PorticoError {
            throw rows.renamed(error)
        }
    }

    /// Where these rows are in the operator's file, as `?first=` says for a part of one.
    private func first(of request: AuthenticatedRequest) throws(PorticoError) -> Int? {
        guard let text = request.request.target["first"] else { return nil }
        guard let first = Int(text), Self.places.contains(first) else {
            throw PorticoError(.requestInvalid, "first is the number of a line or row.", target: "first")
        }
        return first
    }

    /// Lines and rows can be counted on from any of them.
    private static let places = 1...(1 << 52)

    private var rowShape: Shape {
        guard case .list(let row)? = operation.input.member("rows")?.shape else { return .any }
        return row
    }
}
