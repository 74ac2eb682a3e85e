/// A name with its namespace (or the alias of one), as `Self.Product`; without one where the source gave none.
///
/// CSDL 4.01, section 15.3. Namespaces contain dots, names do not, so the last dot separates them.
public struct QualifiedName: Sendable, Hashable, CustomStringConvertible {
    public let namespace: String?
    public let name: String

    public init(namespace: String?, name: String) {
        self.namespace = namespace
        self.name = name
    }

    /// Splits at the last dot.
    public init(_ text: String) {
        if let dot = text.lastIndex(of: ".") {
            self.init(namespace: String(text[..<dot]), name: String(text[text.index(after: dot)...]))
        } else {
            self.init(namespace: nil, name: text)
        }
    }

    public var description: String { namespace.map { "\($0).\(name)" } ?? name }
}
