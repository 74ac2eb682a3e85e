/// A name as a request spells it, with its namespace or the alias of one, or without.
///
/// Namespaces contain dots, names do not, so the last dot separates them.
public struct WrittenName: Sendable, Hashable, CustomStringConvertible {
    public let namespace: String?
    public let name: String

    public init(_ namespace: String?, _ name: String) {
        self.namespace = namespace
        self.name = name
    }

    public var description: String { namespace.map { "\($0).\(name)" } ?? name }
}
