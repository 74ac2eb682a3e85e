import AdapterKit
import HTTPTypes
import Synchronization

/// An endpoint at its place, with everything that is decided before it is asked.
struct Route: Sendable {
    let method: HTTPRequest.Method
    let path: PathTemplate
    let endpoint: any Endpoint

    init(_ method: HTTPRequest.Method, _ path: PathTemplate, _ endpoint: any Endpoint) {
        self.method = method
        self.path = path
        self.endpoint = endpoint
    }

    var effect: Effect { endpoint.effect(of: method) }

    /// Whether no caller may use it.
    var isForNobody: Bool { endpoint.isForNobody(method) }
}

extension Endpoint {
    /// Whether no caller may make a request of this method.
    func isForNobody(_ method: HTTPRequest.Method) -> Bool {
        properties.access[effect(of: method)].contains(where: \.isNobody)
    }
}

/// The match of a path.
enum RouteMatch: Sendable {
    case endpoint(any Endpoint, parameters: [FieldName: String])
    /// The path is known, the method is not; what it would take.
    case otherMethod(allowed: [HTTPRequest.Method])
    case unknown
}

/// Finds a request's endpoint by its decoded path segments.
///
/// A literal part wins over a parameter, a parameter over a remainder, decided part by part with a way back. Built once
/// at start; looking up is a walk without allocation but for the parameters.
struct RouteTable: Sendable {
    private(set) var nodes: [Node] = [Node()]

    struct Conflict: Error, Equatable, CustomStringConvertible {
        let method: String
        let path: String
        /// The endpoints, whose names begin with their adapters'.
        let claimants: [String]

        var description: String { "Two endpoints claim \(method) \(path): \(claimants.joined(separator: " and "))." }
    }

    /// Throws where two routes have one method and one path.
    init(_ routes: [Route]) throws {
        try add(routes)
    }

    /// Throws where two routes have one method and one path.
    mutating func add(_ routes: [Route]) throws {
        for route in routes { try add(route) }
    }

    func match(_ method: HTTPRequest.Method, _ segments: [String]) -> RouteMatch {
        var captured: [String] = []
        guard let found = find(segments[...], from: 0, &captured) else { return .unknown }
        let place = nodes[found]
        guard let entry = place.entries[method] ?? (method == .head ? place.entries[.get] : nil) else {
            return .otherMethod(allowed: place.allowedMethods)
        }
        return .endpoint(
            entry.endpoint, parameters: Dictionary(zip(entry.parameters, captured), uniquingKeysWith: { $1 }))
    }
}

extension RouteTable {
    var endpoints: [any Endpoint] { nodes.flatMap { $0.entries.values.map(\.endpoint) } }

    /// Any of the endpoints at a path, for what they have in common.
    func endpoint(_ segments: [String]) -> (any Endpoint)? {
        var captured: [String] = []
        let place = find(segments[...], from: 0, &captured)
        return place.flatMap { nodes[$0].entries.values.first?.endpoint }
    }

    /// How errors look at a path that is known for other methods: as its endpoints present them.
    func presentation(_ segments: [String]) -> Presentation {
        endpoint(segments)?.properties.presentation ?? Presentation()
    }
}

extension RouteTable {
    struct Node: Sendable {
        var literals: [String: Int] = [:]
        var parameter: Int?
        var remainder: Int?
        var entries: [HTTPRequest.Method: Entry] = [:]

        var allowedMethods: [HTTPRequest.Method] {
            // What no caller may use is not offered, as in descriptions.
            var methods = Set(entries.filter { !$0.value.endpoint.isForNobody($0.key) }.keys)
            if methods.contains(.get) { methods.insert(.head) }
            methods.insert(.options)
            return methods.sorted { $0.rawValue < $1.rawValue }
        }
    }

    struct Entry: Sendable {
        let endpoint: any Endpoint
        let parameters: [FieldName]
    }

    private mutating func add(_ route: Route) throws {
        let place = route.path.parts.reduce(0) { node, part in child(of: node, for: part) }
        if let taken = nodes[place].entries[route.method] {
            throw Conflict(
                method: route.method.rawValue, path: route.path.description,
                claimants: [taken.endpoint.properties.name, route.endpoint.properties.name])
        }
        nodes[place].entries[route.method] = Entry(endpoint: route.endpoint, parameters: route.path.parameters)
    }

    private mutating func child(of node: Int, for part: PathTemplate.Part) -> Int {
        let known: Int? =
            switch part {
            case .literal(let text): nodes[node].literals[text]
            case .parameter: nodes[node].parameter
            case .remainder: nodes[node].remainder
            }
        if let known { return known }
        nodes.append(Node())
        let created = nodes.count - 1
        switch part {
        case .literal(let text): nodes[node].literals[text] = created
        case .parameter: nodes[node].parameter = created
        case .remainder: nodes[node].remainder = created
        }
        return created
    }

    /// The node of a path, the texts of its parameters in `captured`. The deepest way back is as long as the path.
    private func find(_ segments: ArraySlice<String>, from node: Int, _ captured: inout [String]) -> Int? {
        guard let segment = segments.first else { return nodes[node].entries.isEmpty ? nil : node }
        let rest = segments.dropFirst()
        if let next = nodes[node].literals[segment], let found = find(rest, from: next, &captured) { return found }
        if let next = nodes[node].parameter, !segment.isEmpty {
            captured.append(segment)
            if let found = find(rest, from: next, &captured) { return found }
            captured.removeLast()
        }
        if let next = nodes[node].remainder {
            captured.append(segments.joined(separator: "/"))
            return next
        }
        return nil
    }
}

extension RouteTable {
    /// For a path that is nowhere: an endpoint beside it, where all that are beside and below belong to one adapter. Who
    /// asks there for what is not there speaks that adapter's contract, and understands its errors.
    func neighbour(_ segments: [String]) -> (any Endpoint)? {
        var place = 0
        for segment in segments {
            guard let next = nodes[place].literals[segment] else { break }
            place = next
        }
        guard place != 0 else { return nil }
        let below = endpoints(below: place)
        guard let last = below.last, let adapter = last.properties.adapter,
            below.allSatisfy({ $0.properties.adapter == adapter })
        else { return nil }
        return last
    }

    /// In the order of their paths.
    private func endpoints(below place: Int) -> [any Endpoint] {
        let node = nodes[place]
        let own = node.entries.values.map(\.endpoint)
        let children =
            node.literals.sorted { $0.key < $1.key }.map(\.value) + [node.parameter, node.remainder].compactMap { $0 }
        return own + children.flatMap { endpoints(below: $0) }
    }
}

/// A value that is set once, after what needs it was made: the routes' description, which is itself at a route.
final class DeferredValue<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? { stored.withLock { $0 } }

    func set(_ value: Value) {
        stored.withLock { $0 = value }
    }

    /// What its value refers to refers to it: one that is of no use any more lets go of that.
    func clear() { stored.withLock { $0 = nil } }
}
