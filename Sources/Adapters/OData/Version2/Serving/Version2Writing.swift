import AdapterKit
import ODataAddresses
import ODataModel
import ODataRecords

/// Everything but `GET` ([MS-ODATA], section 2.2.7): the body becomes what version 4's JSON would have said, and the
/// desks of version 4 do the rest.
struct Version2Writing: Sendable {
    private let own: Version2Handler
    private var request: ServiceRequest { own.request.plain }

    init(_ own: Version2Handler) {
        self.own = own
    }

    func answer(_ address: Address) async throws -> Version2Answer {
        var address = address
        let plain = request.saying(try content(&address))
        let handler = ResourceHandler(service: own.service, request: plain)
        switch (address.target, address.suffix, plain.method) {
        case (.entities(let place), .none, "POST"): return try await create(place, handler)
        case (.entity(let place), .none, "PUT"), (.entity(let place), .none, "PATCH"):
            var answer = Version2Answer(plain: try await handler.answer(address))
            if let record = try await handler.finder.record(place) {
                answer.headers["sap-message"] = message(plain.content, place.table, record.fields)
            }
            return answer
        default: return Version2Answer(plain: try await handler.answer(address))
        }
    }

    private func create(_ place: EntityCollectionPath, _ handler: ResourceHandler) async throws -> Version2Answer {
        try handler.capable(place.table, .insert)
        let (created, _) = try await EntityWriting(handler).insert(into: place)
        let entry = EntityPlace(table: place.table, type: place.table.type, origin: .key(created.id))
        var headers: MountHeaders = [:]
        if let record = try await handler.finder.record(entry) {
            headers["sap-message"] = message(handler.request.content, place.table, record.fields)
        }
        return try await Version2Reading(own).entry(at: entry, status: 201, headers: headers)
    }

    private func message(_ content: WireValue?, _ table: RecordTable, _ fields: WireDictionary) -> String? {
        let name = table.discriminator.flatMap { fields[$0.text]?.stringValue }.flatMap { QualifiedName($0) }
        let type = name.flatMap { own.tables.model.structured($0) } ?? table.type
        return content.flatMap { SAPMessage(tables: own.tables).untaken($0, of: type, table, fields) }
    }

    /// Nil where there is none to read.
    private func content(_ address: inout Address) throws -> WireValue? {
        guard ["POST", "PUT", "PATCH"].contains(request.method) else { return nil }
        switch (address.target, address.suffix) {
        case (.entities, .ref), (.entity, .ref):
            return ["@odata.id": .string(try format().link(request.body))]
        case (.entities(let place), .none):
            if place.table.streams["$value"] != nil, (try? format()) == nil { return nil }
            return try entity(place.type)
        case (.entity(let place), .none): return try entity(place.type)
        case (.property(_, let property), .none):
            let name = property.inner.last ?? property.column.property
            return ["value": try format().property(request.body, name, property.type, in: own.request.scope)]
        case (.property(let place, let property), .value):
            guard let value = try raw(property) else { return nil }
            address = Address(target: .property(place, property), suffix: .none)
            return ["value": value]
        default: return nil
        }
    }

    private func format() throws(PorticoError) -> any Version2Format {
        try Version2Formats.body(request.headers["Content-Type"])
    }

    private func entity(_ type: StructuredType) throws -> WireValue {
        try format().entity(request.body, of: type, in: own.request.scope).version4(type, own.tables.model)
    }

    /// `$value`'s text; nil for bytes, which are taken as they come.
    private func raw(_ property: PropertyPath) throws(PorticoError) -> WireValue? {
        let form = Version2Form(model: own.tables.model)
        guard own.tables.model.primitive(behind: property.type.type) != .binary else { return nil }
        guard let text = String(validating: request.body, as: UTF8.self),
            let value = form.value(text: text, property.type)
        else {
            throw PorticoError(
                .requestInvalid, "\(property.path) is of type \(property.type).", target: property.path)
        }
        return form.version4(value, property.type)
    }
}
