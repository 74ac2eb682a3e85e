import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Answers requests for what a path addresses, each kind with those methods that it has.
struct ResourceHandler: Sendable {
    let service: ODataService
    let request: ServiceRequest

    var tables: ServiceTables { service.tables }
    var answers: Answers { Answers(format: request.format) }
    var finder: RecordFinder { RecordFinder(tables: tables, records: request.records) }
    var writer: ResultWriter { ResultWriter(tables: tables, format: request.format, root: request.root) }
    var limits: ServiceLimits { service.configuration.limits }
    var links: EntityLinks {
        EntityLinks(
            tables: tables, records: request.records, root: request.root, language: request.language,
            limits: limits.language)
    }

    func answer(_ address: Address) async throws -> MountResponse {
        switch (address.target, address.suffix) {
        case (.entities(let place), .none): return try await entities(place)
        case (.entities(let place), .count):
            try Self.only(["GET"], request)
            return try await CollectionReading(self).count(place)
        case (.entities(let place), .ref): return try await ReferenceHandler(self).collection(place)
        case (.entity(let place), .ref): return try await ReferenceHandler(self).single(place)
        case (.entity(let place), _): return try await entity(place)
        case (.property(let place, let property), let suffix):
            return try await PropertyHandler(self).answer(place, property, suffix)
        case (.stream(let place, let name), _): return try await StreamHandler(self).answer(place, name)
        case (.operation(let call), let suffix): return try await OperationHandler(self).answer(call, suffix)
        default: throw PorticoError(.recordNotFound, "There is no such resource in this service.")
        }
    }

    /// `$entity?$id=…`
    func byID() async throws -> MountResponse {
        try Self.only(["GET"], request)
        for option in request.target.options {
            if case .id(let text) = option.form { return try await entity(try links.place(at: text)) }
        }
        throw PorticoError(.requestInvalid, "$entity needs $id.")
    }

    private func entities(_ place: EntityCollectionPath) async throws -> MountResponse {
        switch request.method {
        case "GET": return try await CollectionReading(self).page(place)
        case "POST":
            try capable(place.table, .insert)
            return try await EntityWriting(self).create(in: place)
        case "PATCH": return try await CollectionDelta(self, place).answer()
        default:
            throw ODataError.methodNotAllowed(
                "A collection is read, added to and changed.", allowed: "GET, HEAD, POST, PATCH, OPTIONS")
        }
    }

    private func entity(_ place: EntityPlace) async throws -> MountResponse {
        switch request.method {
        case "GET": return try await EntityReading(self).entity(place)
        case "PATCH", "PUT":
            try capable(place.table, .update)
            return try await EntityWriting(self).change(place, replacing: request.method == "PUT")
        case "DELETE":
            guard !place.table.isSingleton else {
                throw ODataError.methodNotAllowed("A singleton stays.", allowed: "GET, HEAD, PATCH, PUT, OPTIONS")
            }
            try capable(place.table, .delete)
            return try await EntityWriting(self).delete(place)
        default:
            throw ODataError.methodNotAllowed(
                "An entity is not posted to.", allowed: "GET, HEAD, PATCH, PUT, DELETE, OPTIONS")
        }
    }

    /// Throws where the model's capabilities say that a set does not take it.
    func capable(_ table: RecordTable, _ action: SetCapabilities.Action) throws {
        guard !SetCapabilities(table, of: tables.model).allow(action) else { return }
        throw ODataError.methodNotAllowed("\(table.source) does not take this.", allowed: "GET, HEAD, OPTIONS")
    }

    static func only(_ methods: [String], _ request: ServiceRequest) throws {
        guard methods.contains(request.method) else {
            throw ODataError.methodNotAllowed(
                "This resource does not take \(request.method).",
                allowed: (methods + ["OPTIONS"]).joined(separator: ", "))
        }
    }
}
