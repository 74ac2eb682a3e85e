import ValueTree

/// XML events to a tape. Iterative: open containers are the builder's.
struct XMLPropertyListReader: ~Copyable {
    var scanner: XMLScanner
    var builder: TapeBuilder
    /// A key was read and its value is due.
    var awaitsValue = false
    /// The document's one value was read.
    private var isComplete = false

    init(_ source: XMLSource, limits: ReadingLimits) {
        self.init(source.bytes, start: source.start, limits: limits)
    }

    /// For UTF-8 that begins with the ``XMLPropertyListPrologue``.
    init(behindPrologueOf input: [UInt8], limits: ReadingLimits) {
        self.init(input, start: XMLPropertyListPrologue.text.utf8CodeUnitCount, limits: limits)
        scanner.adoptRoot(XMLName(offset: XMLPropertyListPrologue.rootName, length: 5))
    }

    /// For one element out of a property list.
    init(fragment: [UInt8], limits: ReadingLimits) {
        self.init(fragment, start: 0, limits: limits)
        scanner.adoptRoot(XMLName())
    }

    private init(_ input: [UInt8], start: Int, limits: ReadingLimits) {
        // Beyond the containers: `plist` and the element of a scalar.
        scanner = XMLScanner(start: start, maximumDepth: limits.depth + 2, doctype: .propertyList)
        builder = TapeBuilder(input: input, limits: limits, positions: .text)
    }

    consuming func finish() -> Tape { builder.finish() }

    mutating func readDocument(_ text: Span<UInt8>) throws(WireFormatError) {
        if scanner.depth == 0 { try openRoot(text) }
        while scanner.depth > 0 {
            try readCommonMembers(text)
            try readNext(text)
        }
        try closeRoot(text)
    }

    /// Reads one element, a value or a key, to the end of the fragment.
    mutating func readFragment(_ text: Span<UInt8>, isKey: Bool) throws(WireFormatError) {
        if isKey {
            guard try scanner.next(text) == .startElement, XMLPropertyListElement(scanner.name, text) == .key,
                scanner.attributes.isEmpty
            else { throw malformed("a key was expected") }
            return try readString(.key, text)
        }
        try readCommonMembers(text)
        while scanner.position < text.count || scanner.depth > 1 {
            try readNext(text)
            try readCommonMembers(text)
        }
    }

    private mutating func readNext(_ text: Span<UInt8>) throws(WireFormatError) {
        switch try scanner.next(text) {
        case .startElement: try readElement(text)
        case .endElement:
            if scanner.depth > 0 { try closeContainer() }
        case .text:
            guard XMLText.isSpace(scanner.content, text) else { throw strayText() }
        case .cdata: throw strayText()
        case .comment, .processingInstruction: break
        case .endDocument: preconditionFailure("the root's end comes first")
        }
    }

    mutating func openRoot(_ text: Span<UInt8>) throws(WireFormatError) {
        while try scanner.next(text) != .startElement {}
        guard XMLPropertyListElement(scanner.name, text) == .plist else {
            throw malformed("the root element is not `plist`")
        }
        for attribute in scanner.attributes {
            let name = Array(copying: text, attribute.name.range)
            guard name == Array("version".utf8) else { throw malformed("an attribute that `plist` does not have") }
        }
    }

    private mutating func closeRoot(_ text: Span<UInt8>) throws(WireFormatError) {
        guard isComplete else { throw malformed("the property list holds no value") }
        while try scanner.next(text) != .endDocument {}
    }

    @inline(__always)
    private mutating func readElement(_ text: Span<UInt8>) throws(WireFormatError) {
        guard let element = XMLPropertyListElement(scanner.name, text) else {
            throw malformed("an element that property lists do not have")
        }
        guard scanner.attributes.isEmpty else { throw malformed("an attribute in a property list's value") }
        if element == .key { return try readKey(text) }
        try enterValue()
        switch element {
        case .dict: try builder.begin(.dictionary, at: scanner.eventStart)
        case .array: try builder.begin(.array, at: scanner.eventStart)
        case .string: try readString(.string, text)
        default: try readScalar(element, text)
        }
    }

    @inline(__always)
    private mutating func readString(_ kind: TapeToken.Kind, _ text: Span<UInt8>) throws(WireFormatError) {
        let start = scanner.position
        let token = try scanner.takeText(kind, text, &builder)
        if kind == .key { try builder.key(token, at: start) } else { try builder.bytes(token, at: start) }
    }

    private mutating func readKey(_ text: Span<UInt8>) throws(WireFormatError) {
        guard builder.depth > 0, builder.isInDictionary, !awaitsValue else { throw malformed("a key in a wrong place") }
        try readString(.key, text)
        awaitsValue = true
    }

    @inline(__always)
    mutating func enterValue() throws(WireFormatError) {
        if builder.depth == 0 {
            guard !isComplete else { throw malformed("a second value in a property list") }
            isComplete = true
        } else if builder.isInDictionary {
            guard awaitsValue else { throw malformed("a value without a key") }
            awaitsValue = false
        }
    }

    mutating func closeContainer() throws(WireFormatError) {
        guard !awaitsValue else { throw malformed("a key without a value") }
        if builder.isInDictionary, let number = builder.soleInteger(ofKey: "CF$UID") {
            return builder.replaceContainer(with: TapeToken(.uid, bits: number))
        }
        try builder.end(at: scanner.eventStart)
    }

    func malformed(_ message: String) -> WireFormatError {
        builder.failure(.malformed, message, at: scanner.eventStart)
    }

    func strayText() -> WireFormatError { malformed("text between the elements of a property list") }
}
