import AdapterKit
import ODataAddresses
import ODataModel
import ODataRecords

/// Single properties, whole or raw (Protocol 4.01, sections 11.2.4 and 11.4.9).
struct PropertyHandler: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }
    private var tables: ServiceTables { handler.tables }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func answer(_ place: EntityPlace, _ property: PropertyPath, _ suffix: Address.Suffix) async throws -> MountResponse
    {
        switch (request.method, suffix) {
        case ("GET", _): return try await read(place, property, suffix)
        case ("PUT", .none), ("PATCH", .none):
            return try await write(place, property, try body(property), merging: request.method == "PATCH")
        case ("PUT", .value): return try await write(place, property, try rawBody(property), merging: false)
        case ("DELETE", .none), ("DELETE", .value): return try await write(place, property, .null, merging: false)
        default:
            throw ODataError.methodNotAllowed(
                "A property is read, set and cleared.", allowed: "GET, HEAD, PUT, PATCH, DELETE, OPTIONS")
        }
    }

    private func read(
        _ place: EntityPlace, _ property: PropertyPath, _ suffix: Address.Suffix
    ) async throws -> MountResponse {
        let record = try await handler.finder.found(place)
        let value = Self.value(record[property.column.field], property.inner)
        let headers: MountHeaders = ["ETag": EntityTag.text(record.revision)]
        if suffix == .count {
            return handler.answers.text(Array(String(value.arrayValue?.count ?? 0).utf8), type: "text/plain")
        }
        guard !value.isNull || property.type.isCollection else { return handler.answers.nothing(headers: headers) }
        if suffix == .value { return raw(value, property, headers) }
        var output = JSONOutput()
        output.beginObject()
        let path = place.table.source + place.table.keyPredicate(record.fields, model: tables.model)
        handler.writer.context("\(path)/\(property.path)", to: &output)
        let values = ValueWriter(model: tables.model, format: request.format)
        if case .complex(let name) = property.type.type, !property.type.isCollection {
            values.members(value, name, to: &output)
        } else {
            output.key("value")
            values.write(value.isNull ? [] : value, property.type, to: &output)
        }
        output.endObject()
        return handler.answers.json(output.bytes, headers: headers)
    }

    private func raw(_ value: WireValue, _ property: PropertyPath, _ headers: MountHeaders) -> MountResponse {
        if let bytes = value.dataValue {
            return handler.answers.stored(bytes, StoredContent(property.mediaType(in: tables)), headers: headers)
        }
        let text = StoredForm(model: tables.model).text(of: value, type: property.type)
        guard let text else {
            var output = JSONOutput()
            output.value(value)
            return handler.answers.text(output.bytes, type: "application/geo+json", headers: headers)
        }
        return handler.answers.text(Array(text.utf8), type: "text/plain;charset=utf-8", headers: headers)
    }

    private func write(
        _ place: EntityPlace, _ property: PropertyPath, _ value: WireValue, merging: Bool
    ) async throws -> MountResponse {
        try handler.capable(place.table, .update)
        let record = try await handler.finder.found(place)
        try WriteConditions(request.headers).check(record)
        guard !value.isNull || property.type.isNullable else {
            throw PorticoError(.requestInvalid, "\(property.path) cannot be null.", target: property.path)
        }
        let type = tables.model.structured(place.table.type(of: record)) ?? place.type
        guard !type.isKey(property.column.property) else {
            throw PorticoError(.requestInvalid, "A key does not change.", target: property.path)
        }
        let whole = Self.setting(record[property.column.field], property.inner[...], value, merging: merging)
        var fields = WireDictionary()
        for (name, value) in ServerValues.changeable(type, [property.column.property: whole]) {
            if let column = place.table.columns[name] { fields[column.field.text] = value }
        }
        var changes = ChangeSet()
        changes.add(
            RecordChange(place.table.entity, .update(record.id, fields), if: .revision(record.revision)))
        try await EntityWriting(handler).apply(changes)
        return try await done(place, property)
    }

    private func done(_ place: EntityPlace, _ property: PropertyPath) async throws -> MountResponse {
        guard request.preferences.returned == .representation else {
            let record = try await handler.finder.found(place)
            return handler.answers.nothing(headers: ["ETag": EntityTag.text(record.revision)])
        }
        return try await read(place, property, .none)
    }

    /// `{"value": …}`, or for a complex property its members.
    private func body(_ property: PropertyPath) throws -> WireValue {
        let json = try EntityWriting(handler).json()
        var value = json["value"]
        if value == nil, case .complex = property.type.type { value = json }
        guard let value else {
            throw PorticoError(.requestInvalid, "The body has the member `value`.", target: "value")
        }
        return try ValueReader(model: tables.model).value(value, property.type, at: property.path)
    }

    private func rawBody(_ property: PropertyPath) throws -> WireValue {
        if tables.model.primitive(behind: property.type.type) == .binary { return .data(request.body) }
        guard let text = String(validating: request.body, as: UTF8.self),
            let value = StoredForm(model: tables.model).value(text: text, type: property.type)
        else {
            throw PorticoError(
                .requestInvalid, "\(property.path) is of type \(property.type).", target: property.path)
        }
        return value
    }

    private static func value(_ whole: WireValue, _ path: [String]) -> WireValue {
        path.reduce(whole) { $0[$1] ?? .null }
    }

    private static func setting(
        _ whole: WireValue, _ path: ArraySlice<String>, _ value: WireValue, merging: Bool
    ) -> WireValue {
        guard let name = path.first else {
            guard merging, case .dictionary(let sent) = value, case .dictionary(var existing) = whole else {
                return value
            }
            for member in sent { existing[member.key] = member.value }
            return .dictionary(existing)
        }
        var members = whole.dictionaryValue ?? [:]
        members[name] = setting(members[name] ?? .null, path.dropFirst(), value, merging: merging)
        return .dictionary(members)
    }
}
