/// What a scanner met. The details are in the scanner's properties, valid until the next event.
public enum XMLEvent: Sendable, Equatable {
    /// ``XMLScanner/name``, ``XMLScanner/attributes``. An empty-element tag gives this and then ``endElement``.
    case startElement
    /// ``XMLScanner/name``, the one of the start.
    case endElement
    /// ``XMLScanner/content``: character data up to the next markup, references included.
    case text
    /// ``XMLScanner/content``: the inside of a CDATA section.
    case cdata
    /// ``XMLScanner/content``: the inside of a comment.
    case comment
    /// ``XMLScanner/name`` is the target, ``XMLScanner/content`` what follows it.
    case processingInstruction
    /// The document has ended.
    case endDocument
}

/// A qualified name as it stands in the document, and the namespace that it expands to.
public struct XMLName: Sendable, Equatable {
    /// Where the name begins, in bytes.
    public var offset = 0
    /// The name's length in bytes.
    public var length: Int32 = 0
    /// Bytes before the colon; 0 where there is no prefix.
    public var prefixLength: Int32 = 0
    /// An index into ``XMLScanner/namespaces``.
    public var namespace = XMLNamespaces.none

    /// The bytes of the qualified name.
    public var range: Range<Int> { offset..<offset + Int(length) }

    /// The bytes of the local name.
    public var localRange: Range<Int> {
        let start = prefixLength > 0 ? offset + Int(prefixLength) + 1 : offset
        return start..<offset + Int(length)
    }
}

/// A piece of character data or of an attribute's value, as it stands in the document.
public struct XMLContent: Sendable, Equatable {
    /// The bytes of the text.
    public var range: Range<Int> = 0..<0
    /// Whether the text has references or line ends that are to be replaced.
    public var resolving = Resolving.none

    /// What ``XMLText`` has to do before the bytes are the text.
    public enum Resolving: Sendable, Equatable {
        /// The bytes are the text.
        case none
        /// `&` stands for itself: the inside of CDATA, comments and processing instructions.
        case lineEnds
        /// References, and white space that is normalised.
        case references
    }
}

/// An attribute.
public struct XMLAttribute: Sendable, Equatable {
    /// The qualified name.
    public var name: XMLName
    /// The value.
    public var value: XMLContent
}

/// The namespace names of a document and the prefixes in force (Namespaces in XML 1.0, third edition).
///
/// Names are interned: two names are equal if their indices are.
public struct XMLNamespaces: Sendable {
    /// No namespace.
    public static let none: Int32 = 0
    /// The namespace of the prefix `xml`.
    public static let xml: Int32 = 1
    /// The namespace of the prefix `xmlns`.
    public static let xmlns: Int32 = 2

    /// The name of the namespace of the prefix `xml`.
    public static let xmlName = "http://www.w3.org/XML/1998/namespace"
    /// The name of the namespace of the prefix `xmlns`.
    public static let xmlnsName = "http://www.w3.org/2000/xmlns/"

    /// None, and the two that every document knows.
    private static let known = [[], Array(xmlName.utf8), Array(xmlnsName.utf8)]
    /// Those that the document declares, the first one at the index after the known ones: most declare none.
    private var names: [[UInt8]] = []
    private var indices: [[UInt8]: Int32] = [:]
    /// In the order in which they were declared.
    private(set) var bindings: [Binding] = []

    struct Binding {
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
