/// Reads XML 1.0 (fifth edition) with namespaces (1.0, third edition) as a sequence of events, without validation.
///
/// Every rule of well-formedness is kept, of namespaces too. There are no entities beyond the predefined five, since a
/// DOCTYPE is refused; ``DoctypePolicy/propertyList`` lets Apple's own pass by its text. The input is UTF-8 without a
/// byte order mark (``XMLEncoding`` makes it so), and always the same span for all calls of one scanner: a span cannot
/// be stored in a structure yet.
///
/// Nothing is copied: events name ranges of the input.
public struct XMLScanner: ~Copyable {
    public enum DoctypePolicy: Sendable, Equatable {
        case refuse
        /// `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" …>` and its older form are accepted, never loaded.
        case propertyList
    }

    /// Where the next event starts.
    public internal(set) var position: Int
    /// Where the current event started.
    public internal(set) var eventStart = 0
    public internal(set) var name = XMLName()
    public internal(set) var attributes: [XMLAttribute] = []
    public internal(set) var content = XMLContent()
    public internal(set) var namespaces = XMLNamespaces()

    var open: [OpenElement] = []
    var declarations: [XMLAttribute] = []
    /// The current element was an empty-element tag; its end is the next event.
    private(set) var closesAtOnce = false
    private var hasRoot = false
    var hasDoctype = false
    let doctype: DoctypePolicy
    let maximumDepth: Int

    struct OpenElement {
        var name: XMLName
        /// How many namespace declarations were in force outside of it.
        var bindings: Int
    }

    /// `start` is where the document begins, after its XML declaration.
    public init(start: Int = 0, maximumDepth: Int = 513, doctype: DoctypePolicy = .refuse) {
        position = start
        self.maximumDepth = maximumDepth
        self.doctype = doctype
    }

    /// For a piece of an element's content.
    init(insideOf root: XMLName, maximumDepth: Int = 513) {
        self.init(maximumDepth: maximumDepth)
        adoptRoot(root)
    }

    /// Continues behind the start tag of a root element that the caller has read itself, its DOCTYPE too.
    mutating func adoptRoot(_ root: XMLName) {
        (hasRoot, hasDoctype) = (true, true)
        adopt(root)
    }

    /// Continues behind a start tag without attributes that the caller has read itself, its namespace is none.
    @inline(__always)
    mutating func adopt(_ element: XMLName) {
        open.append(OpenElement(name: element, bindings: namespaces.count))
    }

    /// How many elements are open.
    public var depth: Int { open.count }

    public mutating func next(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        eventStart = position
        if closesAtOnce {
            closesAtOnce = false
            return closeElement()
        }
        if open.isEmpty { return try nextOutside(text) }
        guard position < text.count else { throw malformed("an element is not closed", text) }
        return text[position] == UInt8(ascii: "<") ? try readMarkup(text) : try readText(text)
    }

    /// Before and after the root element.
    private mutating func nextOutside(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        while true {
            skipSpace(text)
            eventStart = position
            guard position < text.count else { return try endDocument(text) }
            guard text[position] == UInt8(ascii: "<") else {
                throw malformed("text outside of the root element", text)
            }
            guard follows("<!DOCTYPE", text) else { break }
            try readDoctype(text, hasRoot: hasRoot)
        }
        let event = try readMarkup(text)
        guard event == .startElement else { return event }
        guard !hasRoot else { throw malformed("a second root element", text) }
        hasRoot = true
        return event
    }

    private func endDocument(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        guard hasRoot else { throw malformed("the document has no root element", text) }
        return .endDocument
    }

    @inline(__always)
    private mutating func readMarkup(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        guard position + 1 < text.count else { throw malformed("a tag is not closed", text) }
        switch text[position + 1] {
        case UInt8(ascii: "/"): return try readEndTag(text)
        case UInt8(ascii: "!"): return try readDeclaration(text)
        case UInt8(ascii: "?"): return try readInstruction(text)
        default:
            closesAtOnce = try readStartTag(text)
            return .startElement
        }
    }

    @inline(__always)
    mutating func closeElement() -> XMLEvent {
        let closed = open.removeLast()
        name = closed.name
        if namespaces.count != closed.bindings { namespaces.leave(closed.bindings) }
        return .endElement
    }
}
