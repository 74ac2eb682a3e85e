import AdapterKit
import HTTPTypes
import ValueTree
import WireFormats

/// The OpenAPI 3.1 description of every route, with every answer it may give, as generators of clients take it: names are
/// identifiers, and shapes and error answers stand once, among the components.
struct OpenAPI: Sendable {
    private let catalogue: FormatCatalogue
    private let about: ServiceDescription
    /// Whether bodies and answers are described in every wire format; otherwise in JSON alone.
    private let hasAllFormats: Bool
    private var schemas = SchemaComponents()
    private var answers = Components("responses")
    private var parameters = Components("parameters")
    private var headers = Components("headers")

    init(catalogue: FormatCatalogue, about: ServiceDescription, hasAllFormats: Bool) {
        self.catalogue = catalogue
        self.about = about
        self.hasAllFormats = hasAllFormats
    }

    mutating func document(_ routes: [Route]) -> WireValue {
        // What no caller may use is not offered, such as a change of a mirror that is only read.
        let offered = routes.filter { !$0.isForNobody }.sorted {
            ($0.path.description, $0.method.rawValue) < ($1.path.description, $1.method.rawValue)
        }
        let paths = paths(offered)
        return [
            "openapi": "3.1.0", "info": about.info, "servers": [["url": .string(about.server)]],
            "security": SecurityRequirements.usual, "tags": about.tags(of: offered),
            "x-portico-adapters": about.entities, "paths": .dictionary(paths),
            "components": [
                "schemas": .dictionary(schemas.values), "responses": .dictionary(answers.values),
                "parameters": .dictionary(parameters.values), "headers": .dictionary(headers.values),
                "securitySchemes": SecurityRequirements.schemes,
            ],
        ]
    }

    private mutating func paths(_ routes: [Route]) -> WireDictionary {
        let identifiers = OperationIdentifiers(routes)
        var paths = WireDictionary()
        for route in routes {
            let path = route.path.described
            var methods = paths[path]?.dictionaryValue ?? [:]
            methods[Self.key(of: route.method)] = operation(route, identifiers[route])
            paths[path] = .dictionary(methods)
        }
        return paths
    }

    /// A path item has these methods (OpenAPI 3.1, section 4.8.9); any other is an extension.
    private static func key(of method: HTTPRequest.Method) -> String {
        let name = method.rawValue.lowercased()
        let known: Set<String> = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
        return known.contains(name) ? name : "x-\(name)"
    }

    private mutating func operation(_ route: Route, _ identifier: String) -> WireValue {
        let description = route.endpoint.description
        let properties = route.endpoint.properties
        var operation: WireDictionary = [
            "operationId": .string(identifier),
            "summary": .string(description.summary), "tags": [.string(description.tag)],
            "responses": .dictionary(responses(route)),
        ]
        let security = SecurityRequirements(
            accesses: properties.access[route.effect] + (description.access?[route.effect] ?? []),
            isDecidedByOperation: description.isDecidedByOperation
        ).value
        if security != SecurityRequirements.usual { operation["security"] = security }
        operation["x-portico-name"] = .string(properties.name)
        operation["x-portico-effect"] = route.effect == .reads ? "reads" : "writes"
        if let adapter = properties.adapter { operation["x-portico-adapter"] = .string(adapter.text) }
        let parameters = parameters(route)
        if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
        if let body = description.body {
            operation["requestBody"] = [
                "required": .bool(description.needsBody),
                "content": content(schemas.schema(.object(body), of: route.service), reading: true),
            ]
        }
        return .dictionary(operation)
    }
}

extension OpenAPI {
    /// Each in full: a generator (openapi-python-generator 2.1) leaves out what is only referred to. But for those of many
    /// routes that a caller may do without.
    private mutating func parameters(_ route: Route) -> [WireValue] {
        let description = route.endpoint.description
        let named = Set(description.parameters.map(\.name))
        let fromPath = route.path.parameters.filter { !named.contains($0.text) }.map {
            EndpointDescription.Parameter.path($0.text)
        }
        return (fromPath + description.parameters).map { parameter in
            var value: WireDictionary = [
                "name": .string(parameter.name), "in": .string(parameter.location.rawValue),
            ]
            if parameter.isRequired { value["required"] = true }
            if !parameter.summary.isEmpty { value["description"] = .string(parameter.summary) }
            value["schema"] = schemas.schema(parameter.shape, of: route.service)
            guard let shared = parameter.sharedName else { return .dictionary(value) }
            return parameters.reference(shared) { _ in .dictionary(value) }
        }
    }

    private mutating func responses(_ route: Route) -> WireDictionary {
        let description = route.endpoint.description
        var responses = WireDictionary()
        for (status, answer) in description.answers {
            var response = success(answer, route.service).dictionaryValue ?? [:]
            if description.tagsAnswers, status == .ok { response["headers"] = tag() }
            let (code, described) = (String(status.code), WireValue.dictionary(response))
            responses[code] = responses[code].map { Self.merge($0, described) } ?? described
        }
        let failures = DescribedFailures(route)
        let content = content(of: failures)
        for failure in failures.single where responses[String(failure.code)] == nil {
            let name = failures.prefix + failure.reasonPhrase.filter(\.isLetter)
            responses[String(failure.code)] = answers.reference(name) { _ in
                ["description": .string(failure.reasonPhrase), "content": content]
            }
        }
        for range in failures.ranges {
            responses[range.key] = answers.reference(failures.prefix + range.name) { _ in
                [
                    "description": .string(range.statuses.map(\.description).joined(separator: ", ")),
                    "x-portico-statuses": .array(range.statuses.map { .int64(Int64($0.code)) }), "content": content,
                ]
            }
        }
        if route.method == .get {
            responses["304"] = answers.reference("NotModified") { _ in ["description": "Not Modified"] }
        }
        return responses
    }

    private mutating func tag() -> WireValue {
        let reference = headers.reference("ETag") { _ in
            [
                "description": "The record's state, for `If-Match` and `If-None-Match`.",
                "schema": ["type": "string"],
            ]
        }
        return ["ETag": reference]
    }

    private mutating func success(_ answer: EndpointDescription.Answer, _ service: String) -> WireValue {
        switch answer {
        case .nothing: ["description": "Done"]
        case .value(let shape):
            ["description": "Done", "content": content(schemas.schema(shape, of: service), reading: false)]
        case .document(let mediaType):
            // In full: a generator (openapi-python-generator 2.1) takes the name of a shared answer for that of a type.
            ["description": "Done", "content": .dictionary(Self.document(mediaType))]
        }
    }

    /// An answer with the media types of both.
    private static func merge(_ first: WireValue, _ second: WireValue) -> WireValue {
        var (answer, content) = (
            first.dictionaryValue ?? [:], first.dictionaryValue?["content"]?.dictionaryValue ?? [:]
        )
        for type in second.dictionaryValue?["content"]?.dictionaryValue ?? [:] where content[type.key] == nil {
            content[type.key] = type.value
        }
        answer["content"] = .dictionary(content)
        return .dictionary(answer)
    }

    private static func essence(_ mediaType: String) -> String { String(mediaType.prefix { $0 != ";" }) }

    /// Texts are described as such; for others the type says all. Of a stream a schema would be that of each event.
    private static func document(_ mediaType: String) -> WireDictionary {
        let essence = essence(mediaType)
        let hasTextType = essence.hasPrefix("text/") && essence != "text/event-stream"
        let isText = hasTextType || ["xml", "plist"].contains { essence.hasSuffix($0) }
        return WireDictionary(uncheckedUniqueKeys: [
            .init(key: essence, value: ["schema": isText ? ["type": "string"] : [:]])
        ])
    }

    private mutating func content(of failures: DescribedFailures) -> WireValue {
        switch failures.form {
        case .own(let mediaType):
            // In whatever shape: the endpoint's contract says it elsewhere. The gateway's own formats where that has none.
            var types = Self.document(mediaType)
            for entry in content([:], reading: false).dictionaryValue ?? [:] where types[entry.key] == nil {
                types[entry.key] = entry.value
            }
            return .dictionary(types)
        case .presentation(.standard): return content(schemas.error, reading: false)
        case .presentation(.flat(let code, let message)):
            return content(schemas.flatError(code: code, message: message), reading: false)
        }
    }

    /// One entry for each format; the schema is that of the JSON form, which all others carry. Bodies may be forms too.
    private func content(_ schema: WireValue, reading: Bool) -> WireValue {
        var content = WireDictionary()
        for format in catalogue.formats where hasAllFormats || format.name == .json {
            let type = reading ? format.mediaTypesRead.first : format.mediaTypeWritten
            if let type { content[type.essence] = ["schema": schema] }
        }
        if reading, hasAllFormats { content[BodyReader.formType] = ["schema": schema] }
        return .dictionary(content)
    }
}

/// The credentials that a route needs, as OpenAPI says it: a list of alternatives, the empty one for anonymous callers, and beside
/// each scheme the roles that are needed (OpenAPI 3.1, section 4.8.30).
struct SecurityRequirements: Sendable {
    /// Accesses, all of which hold.
    let accesses: [Access]
    /// Whether it is the operation that decides, which it may only in favour of an anonymous caller or not.
    let isDecidedByOperation: Bool

    static let schemes: WireValue = [
        "bearer": ["type": "http", "scheme": "bearer"],
        "basic": ["type": "http", "scheme": "basic"],
        "session": ["type": "apiKey", "in": "cookie", "name": "portico_session"],
    ]

    /// The requirements of most operations, so that the document says them once (OpenAPI 3.1, section 4.8.1): any sign-in.
    static let usual = SecurityRequirements(accesses: [.login], isDecidedByOperation: false).value

    var value: WireValue {
        guard accesses.allSatisfy({ $0 == .public }) else { return .array(signedIn) }
        return .array(isDecidedByOperation ? [[:]] + signedIn : [[:]])
    }

    private var signedIn: [WireValue] {
        ["bearer", "session", "basic"].flatMap { scheme in
            roleSets.map { roles in
                var requirement = WireDictionary()
                requirement[scheme] = .array(roles.map { .string($0.text) })
                return .dictionary(requirement)
            }
        }
    }

    /// Each access lets one of its roles in, so of several accesses every choice of one role each.
    private var roleSets: [[RoleName]] {
        accesses.reduce([[]]) { sets, access in
            guard case .roles(let roles) = access else { return sets }
            return sets.flatMap { set in roles.sorted().map { set + [$0] } }
        }
    }
}
