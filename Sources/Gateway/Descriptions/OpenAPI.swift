import AdapterKit
import Crypto
import HTTPTypes
import ValueTree
import WireFormats

/// The OpenAPI 3.1 description of every route, with every answer it may give. Shapes and error answers stand once, among
/// the components.
struct OpenAPI: Sendable {
    let catalogue: FormatCatalogue
    let version: String
    private var schemas: WireDictionary = ["Error": OpenAPI.errorSchema]
    private var responses = WireDictionary()

    init(catalogue: FormatCatalogue, version: String) {
        self.catalogue = catalogue
        self.version = version
    }

    mutating func document(_ routes: [Route]) -> WireValue {
        let paths = paths(routes)
        return [
            "openapi": "3.1.0",
            "info": ["title": "Portico", "version": .string(version)],
            "paths": .dictionary(paths),
            "components": [
                "schemas": .dictionary(schemas), "responses": .dictionary(responses),
                "securitySchemes": SecurityRequirements.schemes,
            ],
        ]
    }

    private mutating func paths(_ routes: [Route]) -> WireDictionary {
        var paths = WireDictionary()
        // What no caller may use is not offered, such as a change of a mirror that is only read.
        let ordered = routes.filter { !$0.isForNobody }.sorted {
            ($0.path.description, $0.method.rawValue) < ($1.path.description, $1.method.rawValue)
        }
        for route in ordered {
            let path = Self.text(route.path)
            var methods = paths[path]?.dictionaryValue ?? [:]
            methods[Self.key(of: route.method)] = operation(route)
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

    private static func text(_ path: PathTemplate) -> String {
        "/"
            + path.parts.map { part in
                switch part {
                case .literal(let text): text
                case .parameter(let name), .remainder(let name): "{\(name)}"
                }
            }.joined(separator: "/")
    }

    private mutating func operation(_ route: Route) -> WireValue {
        let description = route.endpoint.description
        let properties = route.endpoint.properties
        var operation: WireDictionary = [
            "operationId": .string("\(properties.name).\(route.method.rawValue.lowercased())\(Self.text(route.path))"),
            "summary": .string(description.summary), "tags": [.string(description.tag)],
            "responses": .dictionary(responses(route)),
            "security": SecurityRequirements(
                accesses: properties.access[route.effect] + (description.access?[route.effect] ?? []),
                isDecidedByOperation: description.isDecidedByOperation
            ).value,
        ]
        operation["x-portico-name"] = .string(properties.name)
        operation["x-portico-effect"] = properties.effect == .reads ? "reads" : "writes"
        if let adapter = properties.adapter { operation["x-portico-adapter"] = .string(adapter.text) }
        let parameters = Self.parameters(route)
        if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
        if let body = description.body {
            operation["requestBody"] = [
                "required": .bool(description.needsBody),
                "content": content(schema(of: .object(body), description.tag), reading: true),
            ]
        }
        return .dictionary(operation)
    }
}

extension OpenAPI {
    private static func parameters(_ route: Route) -> [WireValue] {
        let description = route.endpoint.description
        let named = Set(description.parameters.map(\.name))
        let fromPath = route.path.parameters.filter { !named.contains($0.text) }.map {
            EndpointDescription.Parameter.path($0.text)
        }
        return (fromPath + description.parameters).map { parameter in
            [
                "name": .string(parameter.name), "in": .string(parameter.location.rawValue),
                "required": .bool(parameter.isRequired), "description": .string(parameter.summary),
                "schema": JSONSchema.schema(parameter.shape),
            ]
        }
    }

    private mutating func responses(_ route: Route) -> WireDictionary {
        let description = route.endpoint.description
        var responses = WireDictionary()
        for (status, answer) in description.answers {
            responses[String(status.code)] = success(answer, description.tag)
        }
        for status in Set(Self.errors(route).map(\.status.code)).sorted() where responses[String(status)] == nil {
            responses[String(status)] =
                description.ownFailures.map { ownFailure($0) }
                ?? failure(route.endpoint.properties.presentation.errors)
        }
        if route.method == .get { responses["304"] = ["description": "Not modified"] }
        return responses
    }

    private mutating func success(_ answer: EndpointDescription.Answer, _ tag: String) -> WireValue {
        switch answer {
        case .nothing: ["description": "Done"]
        case .value(let shape): ["description": "Done", "content": content(schema(of: shape, tag), reading: false)]
        case .document(let mediaType):
            [
                "description": "Done",
                "content": .dictionary(WireDictionary(uncheckedUniqueKeys: [.init(key: mediaType, value: [:])])),
            ]
        }
    }

    /// A reference to the shape's schema, which is added where it is new. Two shapes of one name that differ stand in
    /// full.
    private mutating func schema(of shape: Shape, _ tag: String) -> WireValue {
        let schema = JSONSchema.schema(shape)
        guard case .object(let object) = shape else { return schema }
        let name = "\(tag).\(object.name)".filter { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
        guard schemas[name] == nil || schemas[name] == schema else { return schema }
        schemas[name] = schema
        return ["$ref": .string("#/components/schemas/\(name)")]
    }

    private mutating func failure(_ presentation: ErrorPresentation) -> WireValue {
        let name =
            switch presentation {
            case .standard: "Error"
            case .flat(let code, let message): "Error.\(code).\(message)"
            }
        responses[name] = [
            "description": "Failed", "content": content(Self.schema(presentation), reading: false),
        ]
        return ["$ref": .string("#/components/responses/\(name)")]
    }

    /// In whatever shape: the endpoint's contract says it elsewhere. The gateway's own formats where that has none.
    private func ownFailure(_ mediaType: String) -> WireValue {
        var types = content([:], reading: false).dictionaryValue ?? [:]
        types[mediaType] = [:]
        return ["description": "Failed", "content": .dictionary(types)]
    }

    /// One entry for each format; the schema is that of the JSON form, which all others carry. Bodies may be forms too.
    private func content(_ schema: WireValue, reading: Bool) -> WireValue {
        var content = WireDictionary()
        for format in catalogue.formats {
            let type = reading ? format.mediaTypesRead.first : format.mediaTypeWritten
            if let type { content[type.essence] = ["schema": schema] }
        }
        if reading { content[BodyReader.formType] = ["schema": schema] }
        return .dictionary(content)
    }

    /// What may go wrong: the endpoint's own, and what its kind brings along.
    static func errors(_ route: Route) -> Set<ErrorCode> {
        let properties = route.endpoint.properties
        var errors = route.endpoint.description.errors.union([
            .requestMalformed, .notAcceptable, .requestURITooLong, .requestHeadersTooLarge, .serverInternal,
            .overloaded,
            .deadlineExceeded, .credentialsInvalid, .loginThrottled,
        ])
        if !properties.access.isPublic(route.effect) { errors.insert(.loginRequired) }
        errors.insert(.accessDenied)
        if route.endpoint.description.body != nil {
            errors.formUnion([.requestInvalid, .requestTooLarge, .unsupportedMediaType, .requestTimeout])
        }
        return errors
    }

    private static func schema(_ presentation: ErrorPresentation) -> WireValue {
        switch presentation {
        case .standard: ["$ref": "#/components/schemas/Error"]
        case .flat(let code, let message):
            [
                "type": "object", "required": [.string(code), .string(message)],
                "properties": .dictionary(
                    WireDictionary(uncheckedUniqueKeys: [
                        .init(key: code, value: ["type": "string"]), .init(key: message, value: ["type": "string"]),
                        .init(key: "requestId", value: ["type": "string"]),
                    ])),
            ]
        }
    }

    private static let errorSchema: WireValue = [
        "type": "object", "required": ["error"],
        "properties": [
            "error": [
                "type": "object", "required": ["code", "message", "requestId"],
                "properties": [
                    "code": ["type": "string", "enum": .array(ErrorCode.allCases.map { .string($0.rawValue) })],
                    "message": ["type": "string"], "requestId": ["type": "string"], "target": ["type": "string"],
                ],
            ]
        ],
    ]
}

/// `GET /openapi.json`: written once at start; the declarations do not change while the gateway runs.
struct OpenAPIEndpoint: Endpoint {
    let properties = EndpointProperties(name: "openapi", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "This description.", tag: "Gateway", answers: [(.ok, .document(mediaType: "application/json"))])

    /// Nil until the routes are known, which this endpoint is one of.
    let text: DeferredValue<GatewayResponse>

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard let response = text.value else { throw PorticoError(.stopping, "The gateway is not ready yet.") }
        return response
    }

    /// With a tag of its bytes: they change with the configuration, whatever the gateway's version.
    static func response(_ text: [UInt8]) -> GatewayResponse {
        let tag = EntityTag(version: Hexadecimal.text(SHA256.hash(data: text).prefix(8)), variant: "json")
        return GatewayResponse(
            .ok, headers: [.contentType: "application/json", .cacheControl: "no-cache", .eTag: tag.text], body: text)
    }
}

/// Who may call a route, as OpenAPI says it: a list of alternatives, the empty one for anonymous callers, and beside
/// each scheme the roles that are needed (OpenAPI 3.1, section 4.8.30).
struct SecurityRequirements: Sendable {
    /// What each of them asks for holds.
    let accesses: [Access]
    /// Whether it is the operation that decides, which it may only in favour of an anonymous caller or not.
    let isDecidedByOperation: Bool

    static let schemes: WireValue = [
        "bearer": ["type": "http", "scheme": "bearer"],
        "basic": ["type": "http", "scheme": "basic"],
        "session": ["type": "apiKey", "in": "cookie", "name": "portico_session"],
    ]

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

/// Shapes in JSON Schema 2020-12, as OpenAPI 3.1 uses it.
enum JSONSchema {
    static func schema(_ shape: Shape, isNullable: Bool = false) -> WireValue {
        var members = members(of: shape)
        guard isNullable, let type = members["type"] else { return .dictionary(members) }
        members["type"] = .array([type, "null"])
        // Both hold of a value (JSON Schema Validation, section 6.1.2).
        if let choices = members["enum"]?.arrayValue { members["enum"] = .array(choices + [.null]) }
        return .dictionary(members)
    }

    static func object(_ shape: ObjectShape) -> WireDictionary {
        var properties = WireDictionary()
        for member in shape.members { properties[member.name.text] = property(member) }
        let required = shape.members.filter(\.isRequired).map { WireValue.string($0.name.text) }
        var schema: WireDictionary = [
            "type": "object", "title": .string(shape.name), "properties": .dictionary(properties),
        ]
        if !required.isEmpty { schema["required"] = .array(required) }
        if !shape.isOpen { schema["additionalProperties"] = false }
        return schema
    }

    private static func property(_ member: Member) -> WireValue {
        guard case .dictionary(var schema) = schema(member.shape, isNullable: member.isNullable) else { return [:] }
        if !member.summary.isEmpty { schema["description"] = .string(member.summary) }
        if let value = member.defaultValue { schema["default"] = value }
        guard member.acceptsText, let type = schema["type"] else { return .dictionary(schema) }
        schema["type"] = .array((type.arrayValue ?? [type]) + ["string"])
        return .dictionary(schema)
    }

    private static func members(of shape: Shape) -> WireDictionary {
        switch shape {
        case .any: return [:]
        case .bool: return ["type": "boolean"]
        case .integer(let range): return integer(range.range)
        case .double: return ["type": "number", "format": "double"]
        case .decimal: return ["type": "number"]
        case .string(let limits): return string(limits)
        case .choice(let choices): return ["type": "string", "enum": .array(choices.map(WireValue.string))]
        case .date: return ["type": "string", "format": "date-time"]
        case .data: return ["type": "string", "contentEncoding": "base64"]
        case .list(let item): return ["type": "array", "items": schema(item)]
        case .object(let object): return Self.object(object)
        }
    }

    private static func integer(_ range: ClosedRange<Int64>) -> WireDictionary {
        var schema: WireDictionary = ["type": "integer", "format": "int64"]
        if range.lowerBound != .min { schema["minimum"] = .int64(range.lowerBound) }
        if range.upperBound != .max { schema["maximum"] = .int64(range.upperBound) }
        return schema
    }

    private static func string(_ limits: TextLimits) -> WireDictionary {
        var schema: WireDictionary = ["type": "string"]
        if limits.minimumLength > 0 { schema["minLength"] = .int64(Int64(limits.minimumLength)) }
        if limits.maximumLength != TextLimits.defaultMaximum {
            schema["maxLength"] = .int64(Int64(limits.maximumLength))
        }
        return schema
    }
}
