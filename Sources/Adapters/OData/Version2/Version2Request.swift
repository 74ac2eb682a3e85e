import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// A request of version 2: its translation to version 4, and the format of its response.
struct Version2Request: Sendable {
    let plain: ServiceRequest
    let format: any Version2Format
    let scope: Version2Scope

    /// The answer in the format that was asked for, with the header fields that all of version 2's have.
    func write(_ answer: Version2Response) throws(PorticoError) -> MountResponse {
        var headers = answer.headers
        headers["DataServiceVersion"] = Version2Protocol.version
        switch answer.content {
        case .nothing: return MountResponse(answer.status, headers: headers)
        case .raw(let bytes, let type):
            headers["Content-Type"] = type
            return MountResponse(answer.status, headers: headers, body: bytes)
        case .stored(let bytes, let content):
            return MountResponse(answer.status, stored: bytes, as: content, headers: headers)
        case .written(let body, let type):
            headers["Content-Type"] = type
            return MountResponse(answer.status, headers: headers, body: body)
        default:
            let document = try format.document(answer.content, in: scope)
            headers["Content-Type"] = document.mediaType
            return MountResponse(answer.status, headers: headers, body: document.bytes)
        }
    }
}

/// Parses requests of version 2: the effective method, the address and the formats.
struct Version2RequestReader: Sendable {
    let service: ODataService
    let rootPath: String

    func request(_ request: MountRequest) throws -> Version2Request {
        let relative = RootedTarget.relative(request.target, below: rootPath)
        let method = try Self.method(request)
        let reader = Version2Target(tables: service.tables, limits: service.configuration.limits.language)
        let (cachedQuery, target) = try service.cachedQuery(
            method, relative, in: .v2, read: reader.target)
        let root = "\(request.origin)\(rootPath)/"
        let plain = ServiceRequest(
            method: method, relative: relative, target: target, format: ResponseFormat(),
            preferences: Preferences(nil), headers: request.headers, body: request.body, root: root,
            caller: request.caller, records: request.records, ages: request.ages,
            cachedQuery: cachedQuery, calls: service.calls(request.caller, method), language: .v2)
        let scope = Version2Scope(
            model: service.tables.model, root: root, relative: relative, now: service.clock.now())
        return Version2Request(plain: plain, format: try format(target, cachedQuery, request.headers), scope: scope)
    }

    /// Answers that are the same in every format are given whatever was asked for.
    private func format(
        _ target: RequestTarget, _ cachedQuery: CachedQuery?, _ headers: MountHeaders
    ) throws -> any Version2Format {
        let accept = headers["Accept"]
        let negotiate = { try format(target, accept: accept) }
        return try cachedQuery?.version2.format(accept, negotiate) as? any Version2Format ?? negotiate()
    }

    private func format(_ target: RequestTarget, accept: String?) throws(PorticoError) -> any Version2Format {
        switch target.resource {
        case .metadata, .batch: return Version2Formats.likeliest(format: nil, accept: nil)
        case .path(let segments):
            switch segments.last?.form {
            case .value, .count: return Version2Formats.likeliest(format: nil, accept: nil)
            default: break
            }
        default: break
        }
        return try Version2Formats.answer(format: target.formatOption, accept: accept)
    }

    /// `X-HTTP-Method` is the effective method of a `POST`, for proxies that pass only `GET` and `POST`. `MERGE` is what `PATCH`
    /// was called before there was one.
    private static func method(_ request: MountRequest) throws(PorticoError) -> String {
        var method = request.method
        if let meant = request.headers["X-HTTP-Method"] ?? request.headers["X-HTTP-Method-Override"] {
            guard method == "POST", ["PUT", "MERGE", "PATCH", "DELETE"].contains(meant.uppercased()) else {
                throw PorticoError(
                    .requestInvalid, "X-HTTP-Method makes PUT, MERGE, PATCH or DELETE of a POST.",
                    target: "X-HTTP-Method")
            }
            method = meant.uppercased()
        }
        return method == "MERGE" ? "PATCH" : method
    }
}

/// Translates addresses of version 2 to version 4: SAP's names of sets, and parameters of operations.
struct Version2Target: Sendable {
    let tables: ServiceTables
    let limits: LanguageLimits

    /// Throws `request.invalid` with the failing position in the message.
    func target(_ relative: String) throws(PorticoError) -> RequestTarget {
        let target = try TargetReader.target(relative, language: .v2, limits: limits)
        guard case .path(var segments) = target.resource, let first = segments.first, let name = first.name else {
            return target
        }
        if let set = set(name.name) {
            segments[0] = PathSegment(.name(WrittenName(nil, set)), first.range)
        } else if let call = arguments(of: name.name, target.options) {
            segments.insert(PathSegment(.arguments(.named(call)), first.range), at: 1)
        }
        let isOperation = tables.model.container.functionImport(name.name) != nil
        return RequestTarget(
            .path(segments), options: isOperation ? target.options : target.options.map(Self.searching))
    }

    /// SAP's `search`: words that all must be found. An empty text is no search.
    private static func searching(_ option: QueryOption) -> QueryOption {
        guard case .custom("search", let text?, _) = option.form else { return option }
        let words = text.split(whereSeparator: \.isWhitespace).map { SearchExpression.phrase(String($0)) }
        guard let first = words.first else { return option }
        let all = words.dropFirst().reduce(first) { .and($0, $1) }
        return QueryOption(.search(all), nameRange: option.nameRange, range: option.range)
    }

    /// `StudentCollection` is the set of students, by its type's name or by its own. Nil for a set's own name.
    private func set(_ name: String) -> String? {
        guard tables[name] == nil, name.hasSuffix("Collection") else { return nil }
        let stem = name.dropLast("Collection".count)
        if tables[stem] != nil { return String(stem) }
        let candidates = tables.model.container.entitySets.filter { $0.type.name == stem }
        return candidates.count == 1 ? candidates[0].name : nil
    }

    /// The options that are named like a function's parameters, as literals.
    private func arguments(of name: String, _ options: [QueryOption]) -> [NamedArgument]? {
        guard let imported = tables.model.container.functionImport(name) else { return nil }
        let overloads = (tables.model.operations[imported.operation] ?? []).filter { !$0.isBound }
        let names = Set(overloads.flatMap { $0.parameters.map(\.name) })
        return Version2Arguments(options: options).literals.filter { names.contains($0.name) }.map { argument in
            NamedArgument(
                name: argument.name, nameRange: argument.range,
                value: Expression(.literal(argument.literal), argument.range))
        }
    }
}

/// Arguments of a version 2 operation: the custom query options that are literals.
struct Version2Arguments: Sendable {
    let literals: [(name: String, literal: Literal, range: SourceRange)]

    init(options: [QueryOption]) {
        literals = options.compactMap { option in
            guard case .custom(let name, let value?, let range) = option.form,
                let literal = Version2Literal.read(value)
            else { return nil }
            return (name, literal, range)
        }
    }
}
