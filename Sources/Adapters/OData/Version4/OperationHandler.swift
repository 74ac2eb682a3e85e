import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Calls functions and actions and writes their results (Protocol 4.01, section 11.5).
struct OperationHandler: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }
    private var tables: ServiceTables { handler.tables }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func answer(_ call: OperationCall, _ suffix: ResourcePath.Suffix) async throws -> MountResponse {
        let called = CalledResultWriter(handler)
        if let result = try await called.result(of: call, suffix) { return try await called.answer(result, suffix) }
        let (result, overload) = try await perform(call)
        return try await OperationResultWriter(handler).answer(result, of: overload, call, suffix)
    }

    func perform(_ call: OperationCall) async throws -> (ServiceResult, SchemaOperation) {
        let isFunction = call.overloads.first?.kind == .function
        try ResourceHandler.only([isFunction ? "GET" : "POST"], request)
        if !isFunction { try handler.service.configuration.access.authorize(request.caller, effect: .writes) }
        let (overload, arguments) = try isFunction ? (call.overloads.first, call.arguments) : actionArguments(call)
        guard let overload, let operations = handler.service.operations[overload.name.description] else {
            throw ODataError.notImplemented(call.overloads.first?.name.name ?? "The operation")
        }
        let binding = try await self.binding(call.binding)
        if !isFunction { try await checkAnswer(of: overload) }
        let result = try await operations.perform(
            ServiceCall(
                name: overload.name.description, parameters: overload.callParameters.map(\.name),
                arguments: arguments, binding: binding, service: ServiceHandle(handler: handler), caller: request.caller
            ))
        return (result, overload)
    }

    /// Throws where the caller may not read what the answer of an action shows: entities of which set, it alone knows.
    private func checkAnswer(of action: SchemaOperation) async throws {
        guard let result = action.result, let type = tables.model.structured(result.type) else { return }
        for table in tables.tables.values.sorted(by: { $0.source < $1.source })
        where table.family.contains(type.name) || tables.model.type(table.type.name, isA: type.name) {
            try await EntityReading(handler).checkRepresentation(of: table)
        }
    }

    private func binding(_ binding: OperationCall.Binding) async throws -> ServiceCall.Binding {
        switch binding {
        case .none: return .none
        case .entity(let entityPath):
            return .record(set: entityPath.table.source, try await handler.finder.found(entityPath))
        case .entities(let collectionPath):
            return .records(set: collectionPath.table.source, try await handler.finder.filter(collectionPath))
        }
    }

    /// An action's overload is the one whose parameters the body has.
    private func actionArguments(_ call: OperationCall) throws -> (SchemaOperation?, [String: WireValue]) {
        let isEmpty = request.body.isEmpty && request.content == nil
        let body = try isEmpty ? WireValue.dictionary([:]) : EntityWriting(handler).json()
        guard let members = body.dictionaryValue else {
            throw PorticoError(.requestInvalid, "An action's parameters are an object.")
        }
        let given = Set(members.keys.filter { !$0.contains("@") })
        let fitting = call.overloads.filter { overload in
            let names = Set(overload.callParameters.map(\.name))
            let needed = overload.callParameters.filter { !$0.isOptional && !$0.type.isNullable }.map(\.name)
            return given.isSubset(of: names) && Set(needed).isSubset(of: given)
        }
        guard let overload = fitting.first else {
            throw PorticoError(
                .requestInvalid,
                "\(call.overloads.first?.name.name ?? "The action") does not take these parameters.")
        }
        var arguments: [String: WireValue] = [:]
        let reader = ValueReader(model: tables.model)
        for parameter in overload.callParameters {
            guard let value = members[parameter.name] else { continue }
            arguments[parameter.name] = try reader.value(value, parameter.type, at: parameter.name)
        }
        return (overload, arguments)
    }
}

/// The service's records as its operations access them.
struct ServiceHandle: ServiceRecords {
    let handler: ResourceHandler

    var records: any RecordStore { handler.request.records }

    func entity(of set: String) -> EntityName? { handler.tables[set]?.entity }

    func field(_ property: String, of set: String) -> FieldName? { handler.tables[set]?.columns[property]?.field }

    func reseed() async throws {
        let service = handler.service
        // The seed is loaded on the adapter's own authority.
        try await records.requireAccess(.writes, to: Set(service.configuration.entities.map(\.name)))
        try await service.gate.alone {
            try await ServiceSeed(service.configuration, records: service.own, now: service.clock.now()).reload()
            await service.asyncResponses.forgetAnswers(of: service.configuration.name)
        }
    }
}

/// Writes results of operations as responses.
struct OperationResultWriter: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func answer(
        _ result: ServiceResult, of operation: SchemaOperation, _ call: OperationCall, _ suffix: ResourcePath.Suffix
    ) async throws -> MountResponse {
        switch result {
        case .nothing: return handler.responses.nothing()
        case .value(let value):
            guard !value.isNull, let type = operation.result else { return handler.responses.nothing() }
            return self.value(value, type, suffix)
        case .record(let set, let id): return try await entity(set, id)
        case .records(let set, let ids): return try await entities(set, ids, suffix)
        }
    }

    func value(_ value: WireValue, _ type: TypeReference, _ suffix: ResourcePath.Suffix) -> MountResponse {
        if suffix == .value, let text = StoredValueCodec(model: handler.tables.model).text(of: value, type: type) {
            return handler.responses.text(Array(text.utf8), type: "text/plain;charset=utf-8")
        }
        let values = ValueWriter(model: handler.tables.model, format: request.format)
        var output = JSONOutput()
        output.beginObject()
        handler.writer.context("\(type)", to: &output)
        if case .complex(let name) = type.type, !type.isCollection {
            values.members(value, name, to: &output)
        } else {
            output.key("value")
            values.write(value, type, to: &output)
        }
        output.endObject()
        return handler.responses.json(output.bytes)
    }

    private func entity(_ set: String, _ id: RecordID) async throws -> MountResponse {
        guard let table = handler.tables[set] else { return handler.responses.nothing() }
        let entityPath = EntityPath(table: table, type: table.type, origin: .key(id))
        return try await EntityReading(handler).representation(entityPath, status: 200, headers: [:])
    }

    private func entities(_ set: String, _ ids: [RecordID], _ suffix: ResourcePath.Suffix) async throws -> MountResponse
    {
        guard let table = handler.tables[set] else { return handler.responses.nothing() }
        let query = EntityQuery(
            set, base: .records(ids), options: request.target.options,
            pageSize: max(ids.count, 1), now: handler.service.clock.now())
        if suffix == .count {
            let count = try await handler.runner.count(query)
            return handler.responses.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
        }
        let page = try await handler.runner.page(query)
        let context = ContextFragment(options: request.target.options, version: request.format.version)
        let fragment = context.collection(EntityCollectionPath(table: table, type: table.type, origin: .all))
        return handler.responses.json(
            handler.writer.collection(page, rows: ordered(page, ids, table), context: fragment, next: nil))
    }

    /// In the operation's order, where the request asks for no other.
    func ordered(_ page: ResultPage, _ ids: [RecordID], _ table: RecordTable) -> [ResultRow] {
        let asksForOrder = request.target.options.contains { option in
            switch option.form {
            case .orderBy, .apply: true
            default: false
            }
        }
        guard !asksForOrder, table.keyNames.count == 1,
            let key = page.shape.columns.firstIndex(where: { $0.path == table.keyNames })
        else { return page.rows }
        let places = Dictionary(ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        return page.rows.sorted { left, right in
            (RecordID(key: left.values[key]).flatMap { places[$0] } ?? .max)
                < (RecordID(key: right.values[key]).flatMap { places[$0] } ?? .max)
        }
    }
}
