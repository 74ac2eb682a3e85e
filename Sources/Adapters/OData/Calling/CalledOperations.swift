import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

// Functions of version 4, and function imports of version 2 that are called with `GET`.
extension CalledSets {
    /// Entities of one result at most.
    private static let mostEntities = 10_000

    func result(
        of call: OperationCall, _ suffix: ResourcePath.Suffix, at base: (EntityQuery.Base, RecordTable)?,
        _ options: [QueryOption], _ runner: QueryRunner, for request: CalledRequest
    ) async throws -> CalledResult {
        try await reporting {
            guard let function = call.overloads.first, function.kind == .function, let type = function.result else {
                throw ODataError.notImplemented("An action of the system \(upstream.name)")
            }
            try service.rights.service.authorize(request.caller, effect: .reads)
            var sources: [String] = []
            var path = ""
            if let base {
                let place = try place(of: base.0, in: base.1.source)
                guard place.filters.isEmpty else {
                    throw ODataError.notImplemented(
                        "A function of filtered entities, asked of the system \(upstream.name),")
                }
                (sources, path) = (place.sources, place.path + "/")
            }
            let target = try target(path, call, function)
            guard case .entity(let name) = type.type else {
                try authorize(sources, nil, request.caller)
                return try await value(of: function, type, suffix, at: target, for: request)
            }
            guard let table = table(of: name, call, function, base?.1) else {
                throw ODataError.notImplemented("\(function.name.name), whose entities are of no set,")
            }
            let query = EntityQuery(
                table.source, base: .records([]), options: options, pageSize: Self.mostEntities, now: runner.now)
            let shape = try runner.plan(query).shape
            try authorize(sources + [table.source], shape, request.caller)
            let asked = try QueryRunner.reportingProblems { () throws(QueryProblem) in
                try CalledQuery(
                    query, filters: [], shape: shape, in: tables, version: upstream.version,
                    limits: service.limits.query)
            }
            let isComposable = function.isComposable && upstream.version == .version4
            if !isComposable { try check(options, of: function) }
            return try await entities(
                asked, table, suffix, target, isCollection: type.isCollection, isComposable: isComposable, for: request)
        }
    }

    /// Where a function is called: the path with its arguments, and the options that it needs.
    private func target(
        _ path: String, _ call: OperationCall, _ function: SchemaOperation
    ) throws -> (path: String, options: [(String, String)]) {
        let imported = model.container.functionImports.first {
            $0.operation == function.name && (call.importedSet == nil || $0.entitySet == call.importedSet)
        }
        guard let name = function.isBound ? function.name.description : imported?.name else {
            throw ODataError.notImplemented("\(function.name.name), which is not imported,")
        }
        var arguments: [(String, String)] = []
        for parameter in function.callParameters {
            guard let value = call.arguments[parameter.name] else { continue }
            guard !value.isNull else {
                // Version 2 has no other null than a parameter that is not there.
                if upstream.version == .version4 { arguments.append((parameter.name, "null")) }
                continue
            }
            guard !parameter.type.isCollection, let literal = exchange.literal(value, parameter.type, model) else {
                throw ODataError.notImplemented(
                    "The parameter \(parameter.name) of \(function.name.name), asked of the system \(upstream.name),")
            }
            arguments.append((parameter.name, literal))
        }
        guard upstream.version == .version4 else { return (path + name, arguments) }
        let texts = arguments.map { "\($0.0)=\(EntityExchange.escaped($0.1).replacing("/", with: "%2F"))" }
        return ("\(path)\(name)(\(texts.joined(separator: ",")))", [])
    }

    /// The set whose entities are answered: as the model says, otherwise the only one with such entities.
    private func table(
        of type: QualifiedName, _ call: OperationCall, _ function: SchemaOperation, _ bound: RecordTable?
    ) -> RecordTable? {
        if let set = call.importedSet { return tables[set] }
        if !function.entitySetPath.isEmpty, var table = bound {
            for name in function.entitySetPath.dropFirst() {
                guard let target = table.relations[name].flatMap({ tables[$0.target] }) else { return nil }
                table = target
            }
            return table
        }
        let own = tables.tables.values.filter { $0.type.name == type }
        let all = own.isEmpty ? tables.tables.values.filter { $0.family.contains(type) } : own
        return all.count == 1 ? all.first : nil
    }

    /// Checks that options of a function that is not composable are those that this gateway applies to the whole result.
    private func check(_ options: [QueryOption], of function: SchemaOperation) throws {
        for option in options {
            switch option.form {
            case .select, .top, .skip, .count, .format, .alias, .custom, .schemaVersion: continue
            default:
                throw ODataError.notImplemented(
                    "\(option.form.name ?? "This option") of \(function.name.name), which the system \(upstream.name) does not compose,"
                )
            }
        }
    }

    private func entities(
        _ query: CalledQuery, _ table: RecordTable, _ suffix: ResourcePath.Suffix,
        _ target: (path: String, options: [(String, String)]), isCollection: Bool, isComposable: Bool,
        for request: CalledRequest
    ) async throws -> CalledResult {
        let keeping = upstream.keepingOfFunctions
        var reading = reading(for: request, keeping: keeping)
        switch (suffix, isCollection) {
        case (.none, false):
            let address = try address(target.path, target.options + (isComposable ? query.shaping : []))
            let row = try await reading.entity(query.shape, at: address) { try checkAnswered($0) }
            return row.map { .entity($0, query.shape, table) } ?? .nothing
        case (.count, true) where isComposable:
            let address = try address("\(target.path)/$count", target.options + query.choosing)
            return .count(
                try await ask(address, "text/plain", keeping, for: request) { answer in
                    try checkAnswered(answer)
                    return try number(answer)
                })
        case (.none, true), (.count, true):
            let address = try address(target.path, target.options + (isComposable ? query.result : []))
            var (rows, count) = try await reading.rows(
                Self.mostEntities + 1, query.shape, at: address, isCounted: isComposable && query.isCounted
            ) { try checkAnswered($0) }
            guard rows.count <= Self.mostEntities else {
                throw PorticoError(
                    .requestLimitExceeded,
                    "The system \(upstream.name) answers more than \(Self.mostEntities) entities.")
            }
            if suffix == .count { return .count(rows.count) }
            if !isComposable {
                count = rows.count
                rows = Array(rows.dropFirst(query.offset).prefix(query.top ?? rows.count))
            }
            return .entities(
                CalledPage(shape: query.shape, held: rows, count: query.isCounted ? count : nil, next: nil), table)
        default: throw ODataError.notImplemented("This part of a function's result")
        }
    }

    private func value(
        of function: SchemaOperation, _ type: TypeReference, _ suffix: ResourcePath.Suffix,
        at target: (path: String, options: [(String, String)]), for request: CalledRequest
    ) async throws -> CalledResult {
        guard
            suffix == .none || suffix == .value && !type.isCollection && !type.type.isStructured
                || suffix == .count && type.isCollection
        else { throw ODataError.notImplemented("This part of a function's result") }
        let address = try address(target.path, target.options)
        let value = try await ask(address, nil, upstream.keepingOfFunctions, for: request) { answer in
            try checkAnswered(answer)
            return try self.value(of: function, type, in: answer)
        }
        if suffix == .count { return .count(value.arrayValue?.count ?? 0) }
        return value.isNull ? .nothing : .value(value, function)
    }

    @inline(never) private func value(
        of function: SchemaOperation, _ type: TypeReference, in answer: UpstreamResponse
    ) throws -> WireValue {
        guard answer.status != 204 else { return .null }
        let document = try exchange.document(answer)
        let isComplex = !type.isCollection && type.type.isStructured
        var json: WireValue
        if upstream.version == .version4 {
            json = isComplex ? document : document["value"] ?? .null
            guard isComplex || document["value"] != nil else {
                throw MirrorRefusal(.unexpected, "the answer has no member `value`")
            }
        } else {
            guard let content = document["d"] else {
                throw MirrorRefusal(.unexpected, "the answer has no member `d`")
            }
            // Under the function's name, as Microsoft's and SAP's services have it, or by itself.
            json = content[function.name.name] ?? content
            if type.isCollection { json = json["results"] ?? json }
        }
        guard !json.isNull else { return .null }
        let known: WireValue?
        do {
            known = try AnsweredValues(model: model, version: upstream.version).value(function.name.name, json, type)
        } catch { known = nil }
        guard let known else { throw MirrorRefusal(.unexpected, "the answer is no value of the type \(type)") }
        return known
    }

    /// Throws what a refusal of the function is for its caller, with the other system's words.
    @inline(never) private func checkAnswered(_ answer: UpstreamResponse) throws {
        let code: ErrorCode
        switch answer.status {
        case 400, 422: code = .requestInvalid
        case 404, 410: code = .recordNotFound
        default: return
        }
        throw PorticoError(
            code, ODataFailure.words(of: answer) ?? "The system \(upstream.name) refuses the call.")
    }
}
