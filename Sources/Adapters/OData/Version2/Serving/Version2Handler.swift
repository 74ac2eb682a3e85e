import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Answers requests of version 2 for what a path addresses.
struct Version2Handler: Sendable {
    let service: ODataService
    let request: Version2Request

    var handler: ResourceHandler { ResourceHandler(service: service, request: request.plain) }
    var tables: ServiceTables { service.tables }

    func answer(_ address: Address) async throws -> Version2Answer {
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

extension Version2Answer {
    /// What a desk of version 4 answers where its answers have no format: no content, or bytes.
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
