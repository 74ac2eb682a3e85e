/// A name within a namespace (CSDL 4.01, section 17): `ComplianceService.Product`.
public struct QualifiedName: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let namespace: String
    public let name: String

    public init(_ namespace: String, _ name: String) {
        self.namespace = namespace
        self.name = name
    }

    /// Splits at the last dot; nil where there is none or a side of it is empty.
    public init?(_ text: some StringProtocol) {
        guard let dot = text.lastIndex(of: "."), dot != text.startIndex else { return nil }
        let name = text[text.index(after: dot)...]
        guard !name.isEmpty else { return nil }
        self.init(String(text[..<dot]), String(name))
    }

    public var description: String { "\(namespace).\(name)" }

    public static func < (left: Self, right: Self) -> Bool {
        (left.namespace, left.name) < (right.namespace, right.name)
    }
}
