import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Calls functions and actions and writes what they answer (Protocol 4.01, section 11.5).
struct OperationHandler: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }
    private var tables: ServiceTables { handler.tables }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func answer(_ call: OperationCall, _ suffix: Address.Suffix) async throws -> MountResponse {
        let (result, overload) = try await perform(call)
        return try await OperationAnswer(handler).answer(result, of: overload, call, suffix)
    }

    func perform(_ call: OperationCall) async throws -> (ServiceResult, SchemaOperation) {
        let isFunction = call.overloads.first?.kind == .function
        try ResourceHandler.only([isFunction ? "GET" : "POST"], request)
        let (overload, arguments) = try isFunction ? (call.overloads.first, call.arguments) : actionArguments(call)
        guard let overload, let operations = handler.service.operations[overload.name.description] else {
            throw ODataError.notImplemented(call.overloads.first?.name.name ?? "The operation")
        }
        let binding = try await self.binding(call.binding)
        let result = try await operations.perform(
            ServiceCall(
                name: overload.name.description, parameters: overload.callParameters.map(\.name),
                arguments: arguments, binding: binding, service: ServiceHandle(handler: handler), caller: request.caller
            ))
        return (result, overload)
    }

    private func binding(_ binding: OperationCall.Binding) async throws -> ServiceCall.Binding {
        switch binding {
        case .none: return .none
        case .entity(let place): return .record(set: place.table.source, try await handler.finder.found(place))
        case .entities(let place):
            return .records(set: place.table.source, try await handler.finder.filter(place))
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

/// The service's records as its operations have them.
struct ServiceHandle: ServiceRecords {
    let handler: ResourceHandler

    var records: any RecordStore { handler.request.records }

    func entity(of set: String) -> EntityName? { handler.tables[set]?.entity }

    func field(_ property: String, of set: String) -> FieldName? { handler.tables[set]?.columns[property]?.field }

    func reseed() async throws {
        let service = handler.service
        try await service.gate.alone {
            try await ServiceSeed(service.configuration, records: service.own, now: service.clock.now()).reload()
            await service.later.forgetAnswers(of: service.configuration.name)
        }
    }
}
