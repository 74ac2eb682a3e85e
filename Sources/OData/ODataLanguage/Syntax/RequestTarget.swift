/// What one URL below the service's root asks for, as written. The rule `odataRelativeUri`.
public struct RequestTarget: Sendable, Hashable {
    public let resource: Resource
    public let options: [QueryOption]

    public init(_ resource: Resource, options: [QueryOption]) {
        self.resource = resource
        self.options = options
    }

    public enum Resource: Sendable, Hashable {
        /// The service document: nothing behind the root.
        case service
        case metadata
        case batch
        /// `$entity`, with the type that follows it, if any.
        case entity(WrittenName?)
        case crossJoin([String], [PathSegment])
        /// `$all`, with the type that follows it, if any.
        case all(WrittenName?)
        case path([PathSegment])
    }
}
