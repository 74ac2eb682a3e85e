import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Handles all methods but `GET` ([MS-ODATA], section 2.2.7): translates the body to version 4's JSON and runs version
/// 4's handlers.
struct Version2Writing: Sendable {
    private let own: Version2Handler
    private var request: ServiceRequest { own.request.plain }

    init(_ own: Version2Handler) {
        self.own = own
    }

    func answer(_ address: ResourcePath) async throws -> Version2Response {
        var address = address
        let content = try content(&address)
        let plain = request.saying(try await restored(content, at: address))
        let handler = ResourceHandler(service: own.service, request: plain)
        switch (address.target, address.suffix, plain.method) {
        case (.entities(let collectionPath), .none, "POST"): return try await create(collectionPath, handler)
        case (.entity(let entityPath), .none, "PUT"), (.entity(let entityPath), .none, "PATCH"):
            var answer = Version2Response(plain: try await handler.answer(address))
            // A caller that may not read it learns nothing of what it has.
            if let record = try? await handler.finder.record(entityPath) {
                answer.headers["sap-message"] = message(plain.content, entityPath.table, record.fields)
            }
            return answer
        default: return Version2Response(plain: try await handler.answer(address))
        }
    }

    /// With the entity's own instants where they are what JSON has of them, which carries milliseconds: an entity that is read,
    /// changed in another property and sent back keeps them.
    private func restored(_ content: WireValue?, at address: ResourcePath) async throws -> WireValue? {
        guard let members = content?.dictionaryValue, case .entity(let entityPath) = address.target,
            address.suffix == .none, try format() is Version2JSONFormat
        else { return content }
        let instants = instants(members, of: entityPath.table)
        guard !instants.isEmpty, let record = try? await own.handler.finder.record(entityPath) else { return content }
        let form = Version2ValueCodec(model: own.tables.model)
        let restored = members.map { member in
            guard let (column, sent) = instants[member.key], case .date(let known) = record[column.field],
                sent != known,
                form.json(.date(sent), column.type) == form.json(.date(known), column.type)
            else { return member }
            return WireDictionary.Entry(key: member.key, value: form.version4(.date(known), column.type))
        }
        return .dictionary(WireDictionary(uncheckedUniqueKeys: restored))
    }

    /// The sent instants that may have been read as JSON, by property.
    private func instants(
        _ members: WireDictionary, of table: RecordTable
    ) -> [String: (column: RecordColumn, sent: WireDate)] {
        let stored = StoredValueCodec(model: own.tables.model)
        var instants: [String: (column: RecordColumn, sent: WireDate)] = [:]
        for member in members {
            guard let column = table.columns[member.key], !column.type.isCollection,
                let text = member.value.stringValue,
                case .date(let sent)? = stored.value(text: text, type: column.type),
                sent.fraction.utf8.count <= Self.digitsOfJSON
            else { continue }
            instants[member.key] = (column, sent)
        }
        return instants
    }

    /// Of a second.
    private static let digitsOfJSON = 3

    private func create(_ collectionPath: EntityCollectionPath, _ handler: ResourceHandler) async throws
        -> Version2Response
    {
        try handler.capable(collectionPath.table, .insert)
        let (created, _) = try await EntityWriting(handler).insert(into: collectionPath) { _ in
            try await handler.request.records.requireAccess(.reads, to: [collectionPath.table.entity])
        }
        let entry = EntityPath(table: collectionPath.table, type: collectionPath.table.type, origin: .key(created.id))
        var headers: MountHeaders = [:]
        if let record = try await handler.finder.record(entry) {
            headers["sap-message"] = message(handler.request.content, collectionPath.table, record.fields)
        }
        return try await Version2Reading(own).entry(at: entry, status: 201, headers: headers)
    }

    private func message(_ content: WireValue?, _ table: RecordTable, _ fields: WireDictionary) -> String? {
        let name = table.discriminator.flatMap { fields[$0.text]?.stringValue }.flatMap { QualifiedName($0) }
        let type = name.flatMap { own.tables.model.structured($0) } ?? table.type
        return content.flatMap { SAPMessage(tables: own.tables).untaken($0, of: type, table, fields) }
    }

    /// Nil where there is none to read.
    private func content(_ address: inout ResourcePath) throws -> WireValue? {
        guard ["POST", "PUT", "PATCH"].contains(request.method) else { return nil }
        switch (address.target, address.suffix) {
        case (.entities, .ref), (.entity, .ref):
            return ["@odata.id": .string(try format().link(request.body))]
        case (.entities(let collectionPath), .none):
            if collectionPath.table.streams["$value"] != nil, (try? format()) == nil { return nil }
            return try entity(collectionPath.type)
        case (.entity(let entityPath), .none): return try entity(entityPath.type)
        case (.property(_, let property), .none):
            let name = property.inner.last ?? property.column.property
            return ["value": try format().property(request.body, name, property.type, in: own.request.scope)]
        case (.property(let entityPath, let property), .value):
            guard let value = try raw(property) else { return nil }
            address = ResourcePath(target: .property(entityPath, property), suffix: .none)
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
        let form = Version2ValueCodec(model: own.tables.model)
        guard own.tables.model.primitive(behind: property.type.type) != .binary else { return nil }
        guard let text = String(validating: request.body, as: UTF8.self),
            let value = form.value(text: text, property.type)
        else {
            throw PorticoError.ofOtherType(property.type, own.tables.model, at: property.path)
        }
        return form.version4(value, property.type)
    }
}

/// Handles function imports: parameters are in the query, for every method ([MS-ODATA], section 2.2.3.6.2).
struct Version2Operations: Sendable {
    private let own: Version2Handler
    private var handler: ResourceHandler { own.handler }

    init(_ own: Version2Handler) {
        self.own = own
    }

    func answer(_ call: OperationCall, _ suffix: ResourcePath.Suffix) async throws -> Version2Response {
        if let result = try await CalledResultWriter(handler).result(of: call, suffix) {
            return try answer(result, suffix)
        }
        var plain = own.request.plain
        if call.overloads.first?.kind == .action { plain = plain.saying(try arguments(call)) }
        let handler = ResourceHandler(service: own.service, request: plain)
        let (result, operation) = try await OperationHandler(handler).perform(call)
        switch result {
        case .nothing: return .nothing()
        case .value(let value):
            guard let type = operation.result else { return .nothing() }
            return Version2Response(
                content: .property(Version2Property(name: operation.name.name, value: value, type: type)))
        case .record(let set, let id):
            guard let table = own.tables[set] else { return .nothing() }
            return try await Version2Reading(own).entry(
                at: EntityPath(table: table, type: table.type, origin: .key(id)), status: 200, headers: [:])
        case .records(let set, let ids): return try await feed(set, ids)
        }
    }

    /// The result of a function of another system.
    private func answer(_ result: CalledResult, _ suffix: ResourcePath.Suffix) throws -> Version2Response {
        let options = own.request.plain.target.options
        switch result {
        case .nothing: return .nothing()
        case .value(let value, let function):
            guard let type = function.result else { return .nothing() }
            if suffix == .value, let text = Version2ValueCodec(model: own.tables.model).text(of: value, type) {
                return .text(text)
            }
            return Version2Response(
                content: .property(Version2Property(name: function.name.name, value: value, type: type)))
        case .count(let count): return .text(String(count))
        case .entity(let row, let shape, _):
            let level = try own.level(shape, options)
            var headers: MountHeaders = [:]
            headers["ETag"] = level.tag(of: row)
            return Version2Response(headers: headers, content: .entry(Version2Entry(level: level, row: row)))
        case .entities(let page, _):
            return Version2Response(
                content: .feed(
                    Version2Feed(level: try own.level(page.shape, options), rows: page.held, count: page.count)))
        }
    }

    /// What an action's body would say.
    private func arguments(_ call: OperationCall) throws(PorticoError) -> WireValue {
        let parameters = call.overloads.flatMap(\.callParameters)
        let form = Version2ValueCodec(model: own.tables.model)
        var content = WireDictionary()
        for argument in Version2Arguments(options: own.request.plain.target.options).literals {
            guard let type = parameters.first(where: { $0.name == argument.name })?.type else { continue }
            guard let value = LiteralText(model: own.tables.model).value(argument.literal, as: type) else {
                throw PorticoError.ofOtherType(type, own.tables.model, at: argument.name)
            }
            content[argument.name] = form.version4(value, type)
        }
        return .dictionary(content)
    }

    private func feed(_ set: String, _ ids: [RecordID]) async throws -> Version2Response {
        guard let table = own.tables[set] else { return .nothing() }
        let options = own.request.plain.target.options
        let query = EntityQuery(
            set, base: .records(ids), options: options, pageSize: max(ids.count, 1), now: own.service.clock.now())
        let page = try await handler.runner.page(query)
        let rows = OperationResultWriter(handler).ordered(page, ids, table)
        return Version2Response(
            content: .feed(Version2Feed(level: try own.level(page.shape, options), rows: rows, count: page.count)))
    }
}

/// The header field `sap-message` of a successful write: a JSON text that names the sent values which the server
/// ignored, because they are computed or immutable.
struct SAPMessage: Sendable {
    let tables: ServiceTables

    /// Nil where everything was taken. `content` is the body as version 4's JSON has it, `fields` are the record's after
    /// the request.
    func untaken(_ content: WireValue, of type: StructuredType, _ table: RecordTable, _ fields: WireDictionary)
        -> String?
    {
        guard let members = content.dictionaryValue else { return nil }
        let reader = ValueReader(model: tables.model)
        let names = members.keys.filter { name in
            guard let property = type.property(name), isServers(property, type, table),
                let column = table.columns[name],
                let sent = try? reader.value(members[name] ?? .null, property.type, at: name)
            else { return false }
            return sent != fields[column.field.text] ?? .null
        }
        return names.isEmpty ? nil : Self.text(names.sorted())
    }

    private func isServers(_ property: StructuralProperty, _ type: StructuredType, _ table: RecordTable) -> Bool {
        property.annotations.isTagged(CoreTerm.computed) || property.annotations.isTagged(CoreTerm.immutable)
            || type.isKey(property.name)
            || tables.model.restrictions(of: table.source).nonInsertable.contains(property.name)
    }

    private static func text(_ names: [String]) -> String {
        var output = JSONOutput(capacity: 256)
        message(names[0], more: names.dropFirst(), to: &output)
        // A header field has ASCII's characters only; JSON's escapes say the rest.
        return String(decoding: output.bytes, as: UTF8.self).unicodeScalars.map { scalar in
            scalar.isASCII ? String(scalar) : String(scalar).utf16.map(escape).joined()
        }.joined()
    }

    private static func message(_ name: String, more: ArraySlice<String>, to output: inout JSONOutput) {
        output.beginObject()
        output.member("code", "property.notTaken")
        output.member("message", "\(name) is the server's to set; what was sent is not taken.")
        output.member("severity", "warning")
        output.member("target", name)
        output.key("details")
        output.beginArray()
        for name in more { message(name, more: [], to: &output) }
        output.endArray()
        output.endObject()
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
}
