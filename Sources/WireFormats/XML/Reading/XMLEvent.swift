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
    case endDocument
}

/// A qualified name as it stands in the document, and the namespace that it expands to.
public struct XMLName: Sendable, Equatable {
    public var offset = 0
    public var length: Int32 = 0
    /// Bytes before the colon; 0 where there is no prefix.
    public var prefixLength: Int32 = 0
    /// An index into ``XMLScanner/namespaces``.
    public var namespace = XMLNamespaces.none

    public var range: Range<Int> { offset..<offset + Int(length) }

    public var localRange: Range<Int> {
        let start = prefixLength > 0 ? offset + Int(prefixLength) + 1 : offset
        return start..<offset + Int(length)
    }
}

/// A piece of character data or of an attribute's value, as it stands in the document.
public struct XMLContent: Sendable, Equatable {
    public var range: Range<Int> = 0..<0
    public var resolving = Resolving.none

    /// What ``XMLText`` has to do before the bytes are the text.
    public enum Resolving: Sendable, Equatable {
        case none
        /// `&` stands for itself: the inside of CDATA, comments and processing instructions.
        case lineEnds
        /// References, and white space that is normalised.
        case references
    }
}

public struct XMLAttribute: Sendable, Equatable {
    public var name: XMLName
    public var value: XMLContent
}
