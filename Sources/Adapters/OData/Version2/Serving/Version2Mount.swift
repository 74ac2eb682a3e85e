import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataRecords

/// A service in OData 2.0, at one of its roots: the generic one and those that SAP's services have.
///
/// Requests become the trees of version 4 and run through the same desks; what differs is how bodies are read and
/// answers are written, which a ``Version2Format`` does.
struct Version2Mount: Sendable {
    let service: ODataService
    /// `/odata/v2/admissions`
    let rootPath: String

    func answer(_ request: MountRequest) async throws -> MountResponse {
        try Version2Protocol.check(request.headers)
        let inner = try Version2RequestReader(service: service, rootPath: rootPath).request(request)
        if case .batch = inner.plain.target.resource {
            // Who may not even read is told at once; what each part needs is asked with it.
            try service.configuration.access.authorize(request.caller, effect: .reads)
            return try await Version2Batch(mount: self, request: request, root: inner.plain.root).answer()
        }
        try service.configuration.access.authorize(
            request.caller, effect: inner.plain.method == "GET" ? .reads : .writes)
        return try inner.write(try await dispatch(inner))
    }

    private func dispatch(_ request: Version2Request) async throws -> Version2Answer {
        switch request.plain.target.resource {
        case .service:
            try ResourceHandler.only(["GET"], request.plain)
            try OptionRules(request.plain).checkDocument()
            let sets = service.tables.model.container.entitySets.filter(\.includedInServiceDocument)
            return Version2Answer(content: .service(sets.map(\.name)))
        case .path(let segments):
            let reader = AddressReader(tables: service.tables, options: request.plain.target.options)
            let find = { try reader.address(segments) }
            let address = try request.plain.cachedQuery?.place(find) ?? find()
            try OptionRules(request.plain).check(address)
            return try await Version2Handler(service: service, request: request).answer(address)
        case .metadata:
            try ResourceHandler.only(["GET"], request.plain)
            try OptionRules(request.plain).checkDocument()
            return Version2Answer(content: .raw(service.documents.version2, type: "application/xml;charset=utf-8"))
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

    /// The number before `;`, behind which the sender's name stands.
    private static func number(_ field: String?) -> Double? {
        field.flatMap { Double($0.prefix { $0 != ";" }.filter { $0 != " " }) }
    }

    private static func wrong(_ field: String) -> PorticoError {
        PorticoError(.requestInvalid, "This address speaks OData 2.0.", target: field)
    }
}
