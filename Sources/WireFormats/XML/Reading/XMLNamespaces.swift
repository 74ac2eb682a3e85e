/// The namespace names of a document and the prefixes in force (Namespaces in XML 1.0, third edition).
///
/// Names are interned: two names are equal if their indices are.
public struct XMLNamespaces: Sendable {
    public static let none: Int32 = 0
    public static let xml: Int32 = 1
    public static let xmlns: Int32 = 2

    public static let xmlName = "http://www.w3.org/XML/1998/namespace"
    public static let xmlnsName = "http://www.w3.org/2000/xmlns/"

    /// None, and the two that every document knows.
    private static let known = [[], Array(xmlName.utf8), Array(xmlnsName.utf8)]
    /// Those that the document declares, the first one at the index after the known ones: most declare none.
    private var names: [[UInt8]] = []
    private var indices: [[UInt8]: Int32] = [:]
    private var bindings: [Binding] = []

    private struct Binding {
        var prefix: Range<Int>
        var namespace: Int32
    }

    /// How many declarations are in force; ``leave(_:)`` takes one back to it.
    var count: Int { bindings.count }
    var isEmpty: Bool { bindings.isEmpty }

    /// The name of a namespace, empty for none.
    public func name(_ index: Int32) -> [UInt8] {
        Self.known.indices.contains(Int(index)) ? Self.known[Int(index)] : names[Int(index) - Self.known.count]
    }

    mutating func intern(_ name: [UInt8]) -> Int32 {
        if let known = Self.known.firstIndex(of: name) { return Int32(known) }
        if let index = indices[name] { return index }
        let index = Int32(Self.known.count + names.count)
        names.append(name)
        indices[name] = index
        return index
    }

    /// An empty range of a prefix binds the default namespace.
    mutating func bind(_ prefix: Range<Int>, to namespace: Int32) {
        bindings.append(Binding(prefix: prefix, namespace: namespace))
    }

    mutating func leave(_ count: Int) {
        bindings.removeLast(bindings.count - count)
    }

    /// The namespace that a prefix is bound to, nil for an unknown prefix; an empty one is always known.
    func lookUp(_ prefix: Range<Int>, in text: Span<UInt8>) -> Int32? {
        var index = bindings.count
        while index > 0 {
            index -= 1
            if Self.areEqual(bindings[index].prefix, prefix, in: text) { return bindings[index].namespace }
        }
        if prefix.isEmpty { return Self.none }
        return Self.isXML(prefix, in: text) ? Self.xml : nil
    }

    @inline(__always)
    static func areEqual(_ left: Range<Int>, _ right: Range<Int>, in text: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        var (a, b) = (left.lowerBound, right.lowerBound)
        while a < left.upperBound {
            if text[a] != text[b] { return false }
            a &+= 1
            b &+= 1
        }
        return true
    }

    private static func isXML(_ prefix: Range<Int>, in text: Span<UInt8>) -> Bool {
        prefix.count == 3 && text[prefix.lowerBound] == UInt8(ascii: "x")
            && text[prefix.lowerBound + 1] == UInt8(ascii: "m") && text[prefix.lowerBound + 2] == UInt8(ascii: "l")
    }
}
