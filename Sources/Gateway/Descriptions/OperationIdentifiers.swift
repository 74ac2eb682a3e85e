import AdapterKit
import HTTPTypes

/// The `operationId` of each route: the operation's name. Where several routes have it, the method is added if they differ in it,
/// and to all but the shortest path what tells the paths apart.
struct OperationIdentifiers {
    private var identifiers: [String: String] = [:]

    init(_ routes: [Route]) {
        var names = UniqueNames()
        let byName = Dictionary(grouping: routes) { $0.endpoint.properties.name }
        for (name, routes) in byName.sorted(by: { $0.key < $1.key }) {
            let hasSeveralMethods = Set(routes.map(\.method.rawValue)).count > 1
            let shared = Self.sharedParts(routes.map(\.path))
            let shortest = routes.map(\.path.parts.count).min() ?? 0
            for route in routes.sorted(by: Self.isBefore) {
                var parts = [name]
                if hasSeveralMethods { parts.append(route.method.rawValue.lowercased()) }
                if route.path.parts.count > shortest { parts += route.path.parts.dropFirst(shared).map(\.described) }
                identifiers[Self.key(route)] = names.unique(Identifier.of(parts.joined(separator: "_")))
            }
        }
    }

    subscript(route: Route) -> String { identifiers[Self.key(route)] ?? "" }

    private static func key(_ route: Route) -> String { "\(route.method.rawValue) \(route.path)" }

    private static func isBefore(_ left: Route, _ right: Route) -> Bool {
        (left.path.parts.count, left.path.described, left.method.rawValue)
            < (right.path.parts.count, right.path.described, right.method.rawValue)
    }

    /// The number of parts that all paths begin with.
    private static func sharedParts(_ paths: [PathTemplate]) -> Int {
        guard let first = paths.first?.parts else { return 0 }
        return first.indices.first { index in
            paths.contains { $0.parts.count <= index || $0.parts[index] != first[index] }
        } ?? first.count
    }
}

extension PathTemplate {
    /// As OpenAPI has it, which knows no parameter of several segments.
    var described: String { "/" + parts.map(\.described).joined(separator: "/") }
}

extension PathTemplate.Part {
    var described: String {
        switch self {
        case .literal(let text): text
        case .parameter(let name), .remainder(let name): "{\(name)}"
        }
    }
}

extension Route {
    /// Whose shapes it takes and answers: an adapter's, or those of a part of the gateway.
    var service: String { endpoint.properties.adapter?.text ?? endpoint.description.tag.lowercased() }
}
