import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Function imports: parameters in the query, whatever the method ([MS-ODATA], section 2.2.3.6.2).
struct Version2Operations: Sendable {
    private let own: Version2Handler
    private var handler: ResourceHandler { own.handler }

    init(_ own: Version2Handler) {
        self.own = own
    }

    func answer(_ call: OperationCall, _ suffix: Address.Suffix) async throws -> Version2Answer {
        var plain = own.request.plain
        if call.overloads.first?.kind == .action { plain = plain.saying(try arguments(call)) }
        let handler = ResourceHandler(service: own.service, request: plain)
        let (result, operation) = try await OperationHandler(handler).perform(call)
        switch result {
        case .nothing: return .nothing()
        case .value(let value):
            guard let type = operation.result else { return .nothing() }
            return Version2Answer(
                content: .property(Version2Property(name: operation.name.name, value: value, type: type)))
        case .record(let set, let id):
            guard let table = own.tables[set] else { return .nothing() }
            return try await Version2Reading(own).entry(
                at: EntityPlace(table: table, type: table.type, origin: .key(id)), status: 200, headers: [:])
        case .records(let set, let ids): return try await feed(set, ids)
        }
    }

    /// What an action's body would say.
    private func arguments(_ call: OperationCall) throws(PorticoError) -> WireValue {
        let parameters = call.overloads.flatMap(\.callParameters)
        let form = Version2Form(model: own.tables.model)
        var content = WireDictionary()
        for argument in Version2Arguments(options: own.request.plain.target.options).literals {
            guard let type = parameters.first(where: { $0.name == argument.name })?.type else { continue }
            guard let value = LiteralText(model: own.tables.model).value(argument.literal, as: type) else {
                throw PorticoError(
                    .requestInvalid, "\(argument.name) is of type \(type).", target: argument.name)
            }
            content[argument.name] = form.version4(value, type)
        }
        return .dictionary(content)
    }

    private func feed(_ set: String, _ ids: [RecordID]) async throws -> Version2Answer {
        guard let table = own.tables[set] else { return .nothing() }
        let options = own.request.plain.target.options
        let query = EntityQuery(
            set, base: .records(ids), options: options, pageSize: max(ids.count, 1), now: own.service.clock.now())
        let page = try await handler.runner.page(query)
        let rows = OperationAnswer(handler).ordered(page, ids, table)
        return Version2Answer(
            content: .feed(Version2Feed(level: try own.level(page.shape, options), rows: rows, count: page.count)))
    }
}
