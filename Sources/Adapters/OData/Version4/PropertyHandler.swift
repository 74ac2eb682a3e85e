import AdapterKit
import ODataEngine
import ODataModel

/// Handles requests for single properties and their raw values (Protocol 4.01, sections 11.2.4 and 11.4.9).
struct PropertyHandler: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }
    private var tables: ServiceTables { handler.tables }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func answer(_ entityPath: EntityPath, _ property: PropertyPath, _ suffix: ResourcePath.Suffix) async throws
        -> MountResponse
    {
        switch (request.method, suffix) {
        case ("GET", _): return try await read(entityPath, property, suffix)
        case ("PUT", .none), ("PATCH", .none):
            return try await write(entityPath, property, try body(property), merging: request.method == "PATCH")
        case ("PUT", .value): return try await write(entityPath, property, try rawBody(property), merging: false)
        case ("DELETE", .none), ("DELETE", .value): return try await write(entityPath, property, .null, merging: false)
        default:
            throw ODataError.methodNotAllowed(
                "A property is read, set and cleared.", allowed: "GET, HEAD, PUT, PATCH, DELETE, OPTIONS")
        }
    }

    private func read(
        _ entityPath: EntityPath, _ property: PropertyPath, _ suffix: ResourcePath.Suffix
    ) async throws -> MountResponse {
        let record = try await handler.finder.found(entityPath)
        let value = Self.value(record[property.column.field], property.inner)
        let headers: MountHeaders = ["ETag": EntityTag.text(record.revision)]
        if suffix == .count {
            return handler.responses.text(Array(String(value.arrayValue?.count ?? 0).utf8), type: "text/plain")
        }
        guard !value.isNull || property.type.isCollection else { return handler.responses.nothing(headers: headers) }
        if suffix == .value { return raw(value, property, headers) }
        var output = JSONOutput()
        output.beginObject()
        let path = entityPath.table.source + entityPath.table.keyPredicate(record.fields, model: tables.model)
        handler.writer.context("\(path)/\(property.path)", to: &output)
        let values = ValueWriter(model: tables.model, format: request.format)
        if case .complex(let name) = property.type.type, !property.type.isCollection {
            values.members(value, name, to: &output)
        } else {
            output.key("value")
            values.write(value.isNull ? [] : value, property.type, to: &output)
        }
        output.endObject()
        return handler.responses.json(output.bytes, headers: headers)
    }

    private func raw(_ value: WireValue, _ property: PropertyPath, _ headers: MountHeaders) -> MountResponse {
        if let bytes = value.dataValue {
            return handler.responses.stored(bytes, StoredContent(property.mediaType(in: tables)), headers: headers)
        }
        let text = StoredValueCodec(model: tables.model).text(of: value, type: property.type)
        guard let text else {
            var output = JSONOutput()
            output.value(value)
            return handler.responses.text(output.bytes, type: "application/geo+json", headers: headers)
        }
        return handler.responses.text(Array(text.utf8), type: "text/plain;charset=utf-8", headers: headers)
    }

    private func write(
        _ entityPath: EntityPath, _ property: PropertyPath, _ value: WireValue, merging: Bool
    ) async throws -> MountResponse {
        try handler.capable(entityPath.table, .update)
        let record = try await handler.finder.found(entityPath)
        try WriteConditions(request.headers).check(record)
        guard !value.isNull || property.type.isNullable else {
            throw PorticoError(.requestInvalid, "\(property.path) cannot be null.", target: property.path)
        }
        let type = tables.model.structured(entityPath.table.type(of: record)) ?? entityPath.type
        guard !type.isKey(property.column.property) else {
            throw PorticoError(.requestInvalid, "A key does not change.", target: property.path)
        }
        let whole = Self.setting(record[property.column.field], property.inner[...], value, merging: merging)
        var fields = WireDictionary()
        for (name, value) in ServerValues.changeable(type, [property.column.property: whole]) {
            if let column = entityPath.table.columns[name] { fields[column.field.text] = value }
        }
        if request.preferences.returned == .representation {
            try await request.records.requireAccess(.reads, to: [entityPath.table.entity])
        }
        var changes = ChangeSet()
        changes.add(
            RecordChange(entityPath.table.entity, .update(record.id, fields), if: .revision(record.revision)))
        try await EntityWriting(handler).apply(changes)
        return try await done(entityPath, property)
    }

    private func done(_ entityPath: EntityPath, _ property: PropertyPath) async throws -> MountResponse {
        guard request.preferences.returned == .representation else {
            let record = try await handler.finder.found(entityPath)
            return handler.responses.nothing(headers: ["ETag": EntityTag.text(record.revision)])
        }
        return try await read(entityPath, property, .none)
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
            let value = StoredValueCodec(model: tables.model).value(text: text, type: property.type)
        else {
            throw PorticoError.ofOtherType(property.type, tables.model, at: property.path)
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

/// Handles streams: of media entities (`$value`) and of stream properties (Protocol 4.01, sections 11.4.7 and 11.4.8).
struct StreamHandler: Sendable {
    /// The media type of bytes without a declared type.
    static let standardType = StoredContent.unknownType

    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func answer(_ entityPath: EntityPath, _ name: String) async throws -> MountResponse {
        guard let fields = entityPath.table.streams[name] else {
            throw PorticoError(.recordNotFound, "There is no such stream.", target: name)
        }
        let record = try await handler.finder.found(entityPath)
        switch request.method {
        case "GET": return read(record, fields, name)
        case "PUT": return try await write(record, entityPath, fields, .data(request.body), .string(contentType))
        case "DELETE": return try await write(record, entityPath, fields, .null, .null)
        default:
            throw ODataError.methodNotAllowed(
                "A stream is read, set and cleared.", allowed: "GET, HEAD, PUT, DELETE, OPTIONS")
        }
    }

    private var contentType: String { request.headers["Content-Type"] ?? Self.standardType }

    private func read(_ record: Record, _ fields: StreamFields, _ name: String) -> MountResponse {
        let tag = EntityTag.text(record.revision)
        guard let bytes = record[fields.content].dataValue else {
            return handler.responses.nothing(headers: ["ETag": tag])
        }
        let content = StoredContent(record[fields.mediaType].stringValue)
        let headers: MountHeaders = ["ETag": tag]
        if let field = request.headers["If-None-Match"], EntityReading.matches(field, tag) {
            return handler.responses.nothing(304, headers: headers.replacing(content.protection))
        }
        return handler.responses.stored(bytes, content, headers: headers)
    }

    private func write(
        _ record: Record, _ entityPath: EntityPath, _ fields: StreamFields, _ content: WireValue, _ type: WireValue
    ) async throws -> MountResponse {
        try handler.capable(entityPath.table, .update)
        try WriteConditions(request.headers).check(record)
        var changes = ChangeSet()
        changes.add(
            RecordChange(
                entityPath.table.entity,
                .update(record.id, [fields.content.text: content, fields.mediaType.text: type]),
                if: .revision(record.revision)))
        try await EntityWriting(handler).apply(changes)
        return handler.responses.nothing()
    }
}

extension PropertyPath {
    /// The media type of a binary property: its annotation `Core.MediaType`.
    func mediaType(in tables: ServiceTables) -> String {
        let declared = tables.tables.values.lazy
            .filter { $0.columns[column.property] == column }
            .compactMap { table in
                table.family.lazy.compactMap { tables.model.structured($0)?.property(column.property) }.first
            }
        return declared.first?.annotations[CoreTerm.mediaType]?.stringValue ?? StreamHandler.standardType
    }
}
