/// Reads XML 1.0 (fifth edition) with namespaces (1.0, third edition) as a sequence of events, without validation.
///
/// Every rule of well-formedness is kept, of namespaces too. There are no entities beyond the predefined five, since a
/// DOCTYPE is refused; ``DoctypePolicy/propertyList`` lets one pass that declares nothing itself. The input is UTF-8 without a
/// byte order mark (``XMLEncoding`` makes it so), and always the same span for all calls of one scanner: a span cannot
/// be stored in a structure yet.
///
/// Nothing is copied: events name ranges of the input.
public struct XMLScanner: ~Copyable {
    /// What becomes of a document type declaration.
    public enum DoctypePolicy: Sendable, Equatable {
        /// The document is refused.
        case refuse
        /// `<!DOCTYPE plist …>` without an internal subset is accepted, whatever it points to: Apple's own in all its forms,
        /// GNUstep's, a file of an older system. It is never loaded.
        case propertyList
    }

    /// Where the next event starts.
    public internal(set) var position: Int
    /// Where the current event started.
    public internal(set) var eventStart = 0
    /// The name of the current element.
    public internal(set) var name = XMLName()
    /// The attributes of the current start tag.
    public internal(set) var attributes: [XMLAttribute] = []
    /// The current text.
    public internal(set) var content = XMLContent()
    /// The namespaces in scope.
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

    /// Reads on to the next event. Throws at the first violation of well-formedness.
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

extension XMLScanner {
    /// What starts with `<!` inside of the document: a comment or a CDATA section.
    mutating func readDeclaration(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        if follows("<!--", text) { return try readComment(text) }
        if follows("<![CDATA[", text), !open.isEmpty { return try readCDATA(text) }
        throw malformed("an unknown declaration", text)
    }

    private mutating func readComment(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        position += 4
        let start = position
        let hasLineEnds = try skip(until: "--", "a comment is not closed", text)
        content = XMLContent(range: start..<position, resolving: hasLineEnds ? .lineEnds : .none)
        guard follows("-->", text) else { throw malformed("`--` in a comment", text) }
        position += 3
        return .comment
    }

    private mutating func readCDATA(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        position += 9
        let start = position
        let hasLineEnds = try skip(until: "]]>", "a CDATA section is not closed", text)
        content = XMLContent(range: start..<position, resolving: hasLineEnds ? .lineEnds : .none)
        position += 3
        return .cdata
    }

    mutating func readInstruction(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        position += 2
        let target = try takeName(text)
        guard target.prefixLength == 0 else { throw malformed("a colon in a processing instruction's target", text) }
        guard !isReserved(target, text) else { throw malformed("a processing instruction named `xml`", text) }
        if !follows("?>", text) {
            guard position < text.count, XMLCharacters.isSpace(text[position]) else {
                throw malformed("a processing instruction's target is not followed by white space", text)
            }
            skipSpace(text)
        }
        let start = position
        let hasLineEnds = try skip(until: "?>", "a processing instruction is not closed", text)
        content = XMLContent(range: start..<position, resolving: hasLineEnds ? .lineEnds : .none)
        position += 2
        name = target
        return .processingInstruction
    }

    /// `xml` in any case: an XML declaration elsewhere than at the start, or a reserved target.
    private func isReserved(_ target: XMLName, _ text: Span<UInt8>) -> Bool {
        target.length == 3 && text[target.offset] | 0x20 == UInt8(ascii: "x")
            && text[target.offset + 1] | 0x20 == UInt8(ascii: "m")
            && text[target.offset + 2] | 0x20 == UInt8(ascii: "l")
    }

    /// Moves to the next `end`, checking the characters; returns whether there was a carriage return.
    private mutating func skip(
        until end: StaticString, _ unclosed: String, _ text: Span<UInt8>
    ) throws(WireFormatError) -> Bool {
        let (start, stop) = (position, end.utf8Start.pointee)
        var hasLineEnds = false
        while true {
            position = SWAR.skipXML(text, from: position, stop, stop)
            guard position < text.count else { throw malformed(unclosed, text, at: start) }
            if follows(end, text) { return hasLineEnds }
            if text[position] == 0x0D { hasLineEnds = true }
            try skipScalar(text)
        }
    }
}

extension XMLScanner {
    /// Takes a start tag or an empty-element tag; returns whether it was the latter.
    @inline(__always)
    mutating func readStartTag(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        guard open.count < maximumDepth else { throw exceeded("depth", maximumDepth, text) }
        position += 1
        var element = try takeName(text)
        if !attributes.isEmpty { attributes.removeAll(keepingCapacity: true) }
        let bindings = namespaces.count
        if position < text.count, text[position] != UInt8(ascii: ">") { try readAttributes(text) }
        if !namespaces.isEmpty || element.prefixLength > 0 {
            element.namespace = try expand(element, text)
        }
        let isEmpty = try closeStartTag(text)
        open.append(OpenElement(name: element, bindings: bindings))
        name = element
        return isEmpty
    }

    @inline(__always)
    private mutating func closeStartTag(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        guard position < text.count else { throw malformed("a tag is not closed", text) }
        let isEmpty = text[position] == UInt8(ascii: "/")
        if isEmpty { position += 1 }
        guard position < text.count, text[position] == UInt8(ascii: ">") else {
            throw malformed("a tag is not closed", text)
        }
        position += 1
        return isEmpty
    }

    @inline(__always)
    mutating func readEndTag(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        guard !open.isEmpty else { throw malformed("an end tag without a start tag", text) }
        let expected = open[open.count - 1].name.range
        let start = position + 2
        let end = start + expected.count
        guard end < text.count, XMLNamespaces.areEqual(expected, start..<end, in: text) else {
            throw malformed("an end tag does not match its start tag", text)
        }
        position = end
        if text[position] != UInt8(ascii: ">") { try closeSpacedEndTag(text) }
        position += 1
        return closeElement()
    }

    private mutating func closeSpacedEndTag(_ text: Span<UInt8>) throws(WireFormatError) {
        skipSpace(text)
        guard position < text.count, text[position] == UInt8(ascii: ">") else {
            throw malformed("an end tag does not match its start tag", text)
        }
    }

    /// The namespace of an element.
    func expand(_ element: XMLName, _ text: Span<UInt8>) throws(WireFormatError) -> Int32 {
        let prefix = element.offset..<element.offset + Int(element.prefixLength)
        guard let namespace = namespaces.lookUp(prefix, in: text) else {
            throw malformed("a namespace prefix is not declared", text, at: element.offset)
        }
        return namespace
    }
}

extension XMLScanner {
    /// Takes a qualified name: at most one colon, with a name on both sides of it.
    @inline(__always)
    mutating func takeName(_ text: Span<UInt8>) throws(WireFormatError) -> XMLName {
        let start = position
        try takePart(text)
        var prefix = 0
        if position < text.count, text[position] == UInt8(ascii: ":") {
            prefix = position - start
            position += 1
            try takePart(text)
            if position < text.count, text[position] == UInt8(ascii: ":") {
                throw malformed("a name with two colons", text)
            }
        }
        guard position - start <= XMLLimits.name else { throw exceeded("bytes of a name", XMLLimits.name, text) }
        return XMLName(offset: start, length: Int32(position - start), prefixLength: Int32(prefix))
    }

    /// Takes an `NCName`.
    @inline(__always)
    mutating func takePart(_ text: Span<UInt8>) throws(WireFormatError) {
        let start = position
        guard position < text.count else { throw malformed("the document ends within markup", text) }
        if XMLCharacters.isASCIINameStart(text[position]) {
            position &+= 1
            while position < text.count, XMLCharacters.isASCIINameByte(text[position]) { position &+= 1 }
            if position == text.count || text[position] < 0x80 { return }
        }
        try takeWidePart(text, start)
    }

    /// The rest of a name that is not plain ASCII.
    @inline(never)
    private mutating func takeWidePart(_ text: Span<UInt8>, _ start: Int) throws(WireFormatError) {
        while position < text.count {
            if text[position] < 0x80 {
                guard position > start, XMLCharacters.isASCIINameByte(text[position]) else { break }
                position += 1
                continue
            }
            guard let (value, length) = XMLCharacters.scalar(text, at: position) else { throw badCharacter(text) }
            guard position > start ? XMLCharacters.isName(value) : XMLCharacters.isNameStart(value) else { break }
            position += length
        }
        if position == start { throw malformed("a name was expected", text) }
    }

    @inline(__always)
    mutating func skipSpace(_ text: Span<UInt8>) {
        while position < text.count, XMLCharacters.isSpace(text[position]) { position &+= 1 }
    }

    @inline(__always)
    func follows(_ word: StaticString, _ text: Span<UInt8>) -> Bool {
        let length = word.utf8CodeUnitCount
        guard position + length <= text.count else { return false }
        for index in 0..<length where text[position + index] != word.utf8Start[index] { return false }
        return true
    }
}

extension XMLScanner {
    func malformed(_ message: String, _ text: Span<UInt8>, at offset: Int? = nil) -> WireFormatError {
        WireFormatError(.malformed, message, at: .init(offset: min(offset ?? position, text.count), in: text))
    }

    func exceeded(_ what: String, _ limit: Int, _ text: Span<UInt8>) -> WireFormatError {
        WireFormatError(
            .limitExceeded, "the document exceeds the limit of \(limit) (\(what))",
            at: .init(offset: position, in: text))
    }

    func badCharacter(_ text: Span<UInt8>) -> WireFormatError {
        let isText = UTF8Text.scalarLength(text, at: position) > 0
        return malformed(isText ? "a character that XML does not allow" : "the text is not valid UTF-8", text)
    }
}

extension WireFormatError.Position {
    /// The place of a byte in a text: lines end with LF.
    init(offset: Int, in text: Span<UInt8>) {
        var (line, lineStart) = (1, 0)
        for index in 0..<min(offset, text.count) where text[index] == 0x0A {
            line += 1
            lineStart = index + 1
        }
        self.init(offset: offset, line: line, column: offset - lineStart + 1)
    }
}

extension XMLScanner {
    /// Takes the attributes of a start tag, binds the namespaces that are declared among them, expands the names, and
    /// leaves the declarations out of ``attributes``.
    mutating func readAttributes(_ text: Span<UInt8>) throws(WireFormatError) {
        declarations.removeAll(keepingCapacity: true)
        while try entersAttribute(text) {
            let attribute = try takeAttribute(text)
            guard attributes.count + declarations.count < XMLLimits.attributes else {
                throw exceeded("attributes of one element", XMLLimits.attributes, text)
            }
            if isDeclaration(attribute.name, text) {
                declarations.append(attribute)
            } else {
                attributes.append(attribute)
            }
        }
        for declaration in declarations { try bind(declaration, text) }
        if declarations.count > 1 { try requireDistinct(declarations, text) }
        try expandAttributes(text)
        if attributes.count > 1 { try requireDistinct(attributes, text) }
    }

    /// White space, then whether an attribute follows it.
    private mutating func entersAttribute(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        let start = position
        skipSpace(text)
        guard position < text.count else { throw malformed("a tag is not closed", text) }
        if text[position] == UInt8(ascii: ">") || text[position] == UInt8(ascii: "/") { return false }
        guard position > start else { throw malformed("white space is missing between attributes", text) }
        return true
    }

    private mutating func takeAttribute(_ text: Span<UInt8>) throws(WireFormatError) -> XMLAttribute {
        let name = try takeName(text)
        skipSpace(text)
        guard position < text.count, text[position] == UInt8(ascii: "=") else {
            throw malformed("an attribute without a value", text)
        }
        position += 1
        skipSpace(text)
        guard position < text.count, text[position] == UInt8(ascii: "\"") || text[position] == UInt8(ascii: "'") else {
            throw malformed("an attribute's value is not quoted", text)
        }
        return XMLAttribute(name: name, value: try takeValue(text))
    }

    private mutating func takeValue(_ text: Span<UInt8>) throws(WireFormatError) -> XMLContent {
        let quote = text[position]
        let start = position + 1
        var needsResolving = false
        position = SWAR.skipXML(text, from: start, quote, UInt8(ascii: "<"))
        while position < text.count, text[position] != quote {
            switch text[position] {
            case UInt8(ascii: "<"): throw malformed("`<` in an attribute's value", text)
            case UInt8(ascii: "&"):
                needsResolving = true
                try skipReference(text)
            case 0x09, 0x0A, 0x0D:
                needsResolving = true
                position += 1
            default: try skipScalar(text)
            }
            position = SWAR.skipXML(text, from: position, quote, UInt8(ascii: "<"))
        }
        guard position < text.count else { throw malformed("an attribute's value is not closed", text, at: start) }
        position += 1
        return XMLContent(range: start..<position - 1, resolving: needsResolving ? .references : .none)
    }

    private mutating func expandAttributes(_ text: Span<UInt8>) throws(WireFormatError) {
        for index in attributes.indices where attributes[index].name.prefixLength > 0 {
            attributes[index].name.namespace = try expand(attributes[index].name, text)
        }
    }
}

extension XMLScanner {
    /// `xmlns` or `xmlns:…`.
    func isDeclaration(_ name: XMLName, _ text: Span<UInt8>) -> Bool {
        let length = name.prefixLength > 0 ? Int(name.prefixLength) : Int(name.length)
        return length == 5 && Self.isXMLNS(text, name.offset)
    }

    private static func isXMLNS(_ text: Span<UInt8>, _ offset: Int) -> Bool {
        text[offset] == UInt8(ascii: "x") && text[offset + 1] == UInt8(ascii: "m")
            && text[offset + 2] == UInt8(ascii: "l") && text[offset + 3] == UInt8(ascii: "n")
            && text[offset + 4] == UInt8(ascii: "s")
    }

    mutating func bind(_ declaration: XMLAttribute, _ text: Span<UInt8>) throws(WireFormatError) {
        guard namespaces.count < XMLLimits.bindings else {
            throw exceeded("namespace declarations", XMLLimits.bindings, text)
        }
        let prefix = declaration.name.prefixLength > 0 ? declaration.name.localRange : 0..<0
        let namespace = namespaces.intern(XMLText.attributeValue(declaration.value, text))
        try requireBindable(prefix, namespace, text, at: declaration.name.offset)
        namespaces.bind(prefix, to: namespace)
    }

    /// Section 3: `xml` belongs to its namespace and that one to it, `xmlns` is never declared, and a prefix cannot be
    /// undeclared.
    private func requireBindable(
        _ prefix: Range<Int>, _ namespace: Int32, _ text: Span<UInt8>, at offset: Int
    ) throws(WireFormatError) {
        let word = prefix.count <= 5 ? String(decoding: Array(copying: text, prefix), as: UTF8.self) : ""
        guard (word == "xml") == (namespace == XMLNamespaces.xml), word != "xmlns", namespace != XMLNamespaces.xmlns
        else { throw malformed("a reserved namespace or prefix is declared", text, at: offset) }
        guard prefix.isEmpty || namespace != XMLNamespaces.none else {
            throw malformed("a prefix is bound to no namespace", text, at: offset)
        }
    }

    /// No two attributes may have one name, as written or expanded.
    func requireDistinct(_ attributes: [XMLAttribute], _ text: Span<UInt8>) throws(WireFormatError) {
        let collision =
            attributes.count <= 12
            ? firstCollision(pairwise: attributes, text) : firstCollision(hashed: attributes, text)
        if let collision { throw malformed("an attribute occurs twice", text, at: collision) }
    }

    private func firstCollision(pairwise attributes: [XMLAttribute], _ text: Span<UInt8>) -> Int? {
        for later in 1..<attributes.count {
            for earlier in 0..<later where isSame(attributes[earlier].name, attributes[later].name, text) {
                return attributes[later].name.offset
            }
        }
        return nil
    }

    private func firstCollision(hashed attributes: [XMLAttribute], _ text: Span<UInt8>) -> Int? {
        var seen: Set<ExpandedName> = []
        for attribute in attributes {
            let local = Array(copying: text, attribute.name.localRange)
            let isNew = seen.insert(ExpandedName(namespace: attribute.name.namespace, local: local)).inserted
            if !isNew { return attribute.name.offset }
        }
        return nil
    }

    private func isSame(_ left: XMLName, _ right: XMLName, _ text: Span<UInt8>) -> Bool {
        left.namespace == right.namespace && (left.prefixLength > 0) == (right.prefixLength > 0)
            && XMLNamespaces.areEqual(left.localRange, right.localRange, in: text)
    }
}

private struct ExpandedName: Hashable {
    var namespace: Int32
    var local: [UInt8]
}

extension Array where Element == UInt8 {
    /// The bytes of a range of a span.
    init(copying text: Span<UInt8>, _ range: Range<Int>) {
        self = text.extracting(range).withUnsafeBufferPointer { Array($0) }
    }
}

/// Elements that hold text only: for readers that put it on a tape.
extension XMLScanner {
    /// The text of the current element, up to its end tag: in the input where it stands there in one piece, otherwise put
    /// together aside.
    @inline(__always)
    mutating func takeText(
        _ kind: TapeToken.Kind, _ text: Span<UInt8>, _ builder: inout TapeBuilder
    ) throws(WireFormatError) -> TapeToken {
        var event = try next(text)
        if event == .endElement { return TapeToken(kind, offset: eventStart, length: 0) }
        guard event == .text, content.resolving == .none else { return try takePieces(kind, event, [], text, &builder) }
        let range = content.range
        event = try next(text)
        if event == .endElement { return TapeToken(kind, offset: range.lowerBound, length: range.count) }
        return try takePieces(kind, event, Array(copying: text, range), text, &builder)
    }

    @inline(never)
    private mutating func takePieces(
        _ kind: TapeToken.Kind, _ first: XMLEvent, _ pieces: [UInt8], _ text: Span<UInt8>, _ builder: inout TapeBuilder
    ) throws(WireFormatError) -> TapeToken {
        var pieces = pieces
        try takePieces(first, &pieces, text)
        return builder.aside(kind, pieces)
    }

    /// Text in several pieces, from the event at hand up to the end tag; comments and instructions are left out.
    private mutating func takePieces(
        _ first: XMLEvent, _ pieces: inout [UInt8], _ text: Span<UInt8>
    ) throws(WireFormatError) {
        var event = first
        while event != .endElement {
            switch event {
            case .text, .cdata: XMLText.append(content, text, to: &pieces)
            case .comment, .processingInstruction: break
            default: throw malformed("an element where only text may be", text, at: eventStart)
            }
            event = try next(text)
        }
    }

    /// The text of the current element, white space included.
    mutating func takeWholeText(_ text: Span<UInt8>) throws(WireFormatError) -> [UInt8] {
        var pieces: [UInt8] = []
        try takePieces(try next(text), &pieces, text)
        return pieces
    }

    /// The text of a scalar, without the white space around it.
    mutating func takeScalarText(_ text: Span<UInt8>) throws(WireFormatError) -> [UInt8] {
        var pieces: [UInt8] = []
        try takePieces(try next(text), &pieces, text)
        guard let first = pieces.firstIndex(where: { !XMLCharacters.isSpace($0) }),
            let last = pieces.lastIndex(where: { !XMLCharacters.isSpace($0) })
        else { return [] }
        return first == 0 && last == pieces.count - 1 ? pieces : Array(pieces[first...last])
    }
}

extension XMLScanner {
    /// Takes character data up to the next `<`.
    @inline(__always)
    mutating func readText(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEvent {
        let start = position
        position = SWAR.skipXMLText(text, from: start)
        var needsResolving = false
        if position < text.count, text[position] != UInt8(ascii: "<") {
            needsResolving = try readSpecialText(text)
        }
        content = XMLContent(range: start..<position, resolving: needsResolving ? .references : .none)
        return .text
    }

    /// The rest of character data that is not plain ASCII all through; returns whether it needs resolving.
    @inline(never)
    private mutating func readSpecialText(_ text: Span<UInt8>) throws(WireFormatError) -> Bool {
        var needsResolving = false
        while position < text.count, text[position] != UInt8(ascii: "<") {
            switch text[position] {
            case 0x09: position += 1
            case 0x0D:
                needsResolving = true
                position += 1
            case UInt8(ascii: "&"):
                needsResolving = true
                try skipReference(text)
            case UInt8(ascii: "]"):
                if follows("]]>", text) { throw malformed("`]]>` in text", text) }
                position += 1
            default: try skipScalar(text)
            }
            position = SWAR.skipXMLText(text, from: position)
        }
        return needsResolving
    }

    /// Takes one character that is not plain ASCII.
    @inline(__always)
    mutating func skipScalar(_ text: Span<UInt8>) throws(WireFormatError) {
        let byte = text[position]
        if byte < 0x80 {
            guard byte >= 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D else { throw badCharacter(text) }
            position += 1
            return
        }
        let length = UTF8Text.scalarLength(text, at: position)
        guard length > 0 else { throw badCharacter(text) }
        // U+FFFE and U+FFFF are the only scalars beyond ASCII that are no `Char`.
        if byte == 0xEF, text[position + 1] == 0xBF, text[position + 2] >= 0xBE { throw badCharacter(text) }
        position += length
    }

    /// Takes `&name;`, `&#n;` or `&#xn;` and checks what it refers to.
    mutating func skipReference(_ text: Span<UInt8>) throws(WireFormatError) {
        guard let reference = XMLReference(text, at: position) else {
            throw malformed("a reference to nothing that is known, or `&` as itself", text)
        }
        guard XMLCharacters.isCharacter(reference.scalar) else {
            throw malformed("a reference to a character that XML does not allow", text)
        }
        position += reference.length
    }
}

extension XMLScanner {
    /// Refuses a DOCTYPE, or takes the one of property lists: what it points to is never read.
    mutating func readDoctype(_ text: Span<UInt8>, hasRoot: Bool) throws(WireFormatError) {
        guard !hasRoot, !hasDoctype else { throw malformed("a DOCTYPE in a wrong place", text) }
        guard doctype == .propertyList, takesUsualDoctype(text) || takesPropertyListDoctype(text) else {
            throw WireFormatError(.refused, "a DOCTYPE is refused", at: .init(offset: eventStart, in: text))
        }
        hasDoctype = true
    }

    /// As Apple's tools and ours write it, taken as one piece: a short property list consists of it to a third.
    private mutating func takesUsualDoctype(_ text: Span<UInt8>) -> Bool {
        let usual: StaticString = """
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            """
        guard follows(usual, text) else { return false }
        position += usual.utf8CodeUnitCount
        return true
    }

    private mutating func takesPropertyListDoctype(_ text: Span<UInt8>) -> Bool {
        position += 9
        guard takesSpace(text), follows("plist", text) else { return false }
        position += 5
        if takesSpace(text) {
            guard takesExternalID(text) else { return false }
            skipSpace(text)
        }
        // An internal subset would stand here.
        guard position < text.count, text[position] == UInt8(ascii: ">") else { return false }
        position += 1
        return true
    }

    /// `SYSTEM "address"`, `PUBLIC "name" "address"`, or nothing.
    private mutating func takesExternalID(_ text: Span<UInt8>) -> Bool {
        if follows("SYSTEM", text) {
            position += 6
            return takesSpace(text) && takesLiteral(text, XMLCharacters.isOfAddress)
        }
        guard follows("PUBLIC", text) else { return true }
        position += 6
        return takesSpace(text) && takesLiteral(text, XMLCharacters.isPublicID) && takesSpace(text)
            && takesLiteral(text, XMLCharacters.isOfAddress)
    }

    private mutating func takesSpace(_ text: Span<UInt8>) -> Bool {
        let start = position
        skipSpace(text)
        return position > start
    }

    private mutating func takesLiteral(_ text: Span<UInt8>, _ isAllowed: (UInt8) -> Bool) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: "\"") || text[position] == UInt8(ascii: "'") else {
            return false
        }
        let quote = text[position]
        position += 1
        while position < text.count, text[position] != quote {
            guard isAllowed(text[position]) else { return false }
            position += 1
        }
        guard position < text.count else { return false }
        position += 1
        return true
    }
}

/// Limits that only XML needs, beside ``ReadingLimits``. They are far above what documents have and keep the checks that
/// look at all attributes or all bindings cheap.
enum XMLLimits {
    /// Bytes of one name, prefix included.
    static let name = 10_000
    /// Attributes of one element, namespace declarations included.
    static let attributes = 2_000
    /// Namespace declarations in force at one place.
    static let bindings = 256
    /// Digits of a character reference; leading zeros are legal, so there may be more than the value needs.
    static let referenceDigits = 32
}
