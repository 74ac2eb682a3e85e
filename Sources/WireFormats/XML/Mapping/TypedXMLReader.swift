import ValueTree

/// Reads a document that says its types to a tape. Everything that such a document does not have is refused: elements in
/// a namespace, other attributes, text between members.
struct TypedXMLReader: ~Copyable {
    var scanner: XMLScanner
    var builder: TapeBuilder
    private let valueNamespace: Int32

    /// The scanner has just met the root element.
    init(_ scanner: consuming XMLScanner, _ builder: consuming TapeBuilder, valueNamespace: Int32) {
        self.scanner = scanner
        self.builder = builder
        self.valueNamespace = valueNamespace
    }

    consuming func finish() -> Tape { builder.finish() }

    mutating func readDocument(_ text: Span<UInt8>) throws(WireFormatError) {
        let (type, key) = try readAttributes(text)
        guard key == nil else { throw malformed("a key outside of a dictionary") }
        try readValue(type, text)
        while scanner.depth > 0 {
            switch try scanner.next(text) {
            case .startElement: try readMember(text)
            case .endElement: try builder.end(at: scanner.eventStart)
            case .text:
                guard XMLText.isSpace(scanner.content, text) else { throw strayText() }
            case .cdata: throw strayText()
            case .comment, .processingInstruction, .endDocument: break
            }
        }
        while try scanner.next(text) != .endDocument {}
    }

    private mutating func readMember(_ text: Span<UInt8>) throws(WireFormatError) {
        let name = scanner.name
        guard name.namespace == XMLNamespaces.none else { throw malformed("an element in a namespace") }
        let (type, key) = try readAttributes(text)
        if builder.isInDictionary {
            try readKey(name, key, text)
        } else {
            guard key == nil, XMLValueType.matches(text, name.range, "item") else {
                throw malformed("an array's element is not named `item`")
            }
        }
        try readValue(type, text)
    }

    private mutating func readKey(
        _ name: XMLName, _ key: XMLContent?, _ text: Span<UInt8>
    ) throws(WireFormatError) {
        guard let key else {
            let token = TapeToken(.key, offset: name.offset, length: Int(name.length))
            return try builder.key(token, at: name.offset)
        }
        guard XMLValueType.matches(text, name.range, "_") else {
            throw malformed("a key on an element that is not named `_`")
        }
        let token = builder.aside(.key, XMLText.attributeValue(key, text))
        try builder.key(token, at: name.offset)
    }

    /// The current element's type and key.
    private func readAttributes(
        _ text: Span<UInt8>
    ) throws(WireFormatError) -> (type: XMLValueType, key: XMLContent?) {
        var (type, key) = (XMLValueType.string, XMLContent?.none)
        for attribute in scanner.attributes {
            let isOurs = attribute.name.namespace == valueNamespace
            if isOurs, XMLValueType.matches(text, attribute.name.localRange, "type") {
                guard let known = XMLValueType(text, attribute.value.range) else { throw malformed("an unknown type") }
                type = known
            } else if isOurs, XMLValueType.matches(text, attribute.name.localRange, "key") {
                key = attribute.value
            } else {
                throw malformed("an attribute that typed XML does not have")
            }
        }
        return (type, key)
    }

    func malformed(_ message: String) -> WireFormatError {
        builder.failure(.malformed, message, at: scanner.eventStart)
    }

    private func strayText() -> WireFormatError { malformed("text between the members of a container") }
}

extension TypedXMLReader {
    /// Opens a container, or takes a whole scalar.
    mutating func readValue(_ type: XMLValueType, _ text: Span<UInt8>) throws(WireFormatError) {
        switch type {
        case .dictionary: try builder.begin(.dictionary, at: scanner.eventStart)
        case .array: try builder.begin(.array, at: scanner.eventStart)
        case .string:
            let start = scanner.position
            try builder.bytes(try scanner.takeText(.string, text, &builder), at: start)
        default: try readScalar(type, text)
        }
    }

    private mutating func readScalar(_ type: XMLValueType, _ text: Span<UInt8>) throws(WireFormatError) {
        let start = scanner.position
        let words = try scanner.takeScalarText(text)
        switch type {
        case .int: try readInteger(words, start)
        case .real: try builder.scalar(TapeToken(.double, bits: try real(words, start)), at: start)
        case .decimal: try readDecimal(words, start)
        case .bool: try builder.scalar(try bool(words, start), at: start)
        case .date: try builder.scalar(TapeToken(date: try date(words, start)), at: start)
        case .data: try readData(words, start)
        case .uid: try builder.scalar(TapeToken(.uid, bits: try uid(words, start)), at: start)
        default:
            guard words.isEmpty else { throw malformed("text in a null", start) }
            try builder.scalar(TapeToken(.null), at: start)
        }
    }

    private mutating func readInteger(_ words: [UInt8], _ start: Int) throws(WireFormatError) {
        switch XMLNumbers.Integer(words) {
        case .int64(let value): try builder.scalar(TapeToken(.int64, bits: UInt64(bitPattern: value)), at: start)
        case .uint64(let value): try builder.scalar(TapeToken(.uint64, bits: value), at: start)
        case .larger: try readDecimal(words, start)
        case nil: throw malformed("an integer is malformed", start)
        }
    }

    private mutating func readDecimal(_ words: [UInt8], _ start: Int) throws(WireFormatError) {
        guard WireDecimal(String(decoding: words, as: UTF8.self)) != nil else {
            throw malformed("a decimal is malformed or too long", start)
        }
        try builder.bytes(builder.aside(.decimal, words), at: start)
    }

    private func real(_ words: [UInt8], _ start: Int) throws(WireFormatError) -> UInt64 {
        switch XMLNumbers.Real(words) {
        case .double(let number): return number.bitPattern
        case .outOfRange: throw builder.failure(.refused, "a real is beyond the range of a double", at: start)
        case nil: throw malformed("a real is malformed", start)
        }
    }

    private func bool(_ words: [UInt8], _ start: Int) throws(WireFormatError) -> TapeToken {
        switch String(decoding: words, as: UTF8.self) {
        case "true", "1": return TapeToken(.true)
        case "false", "0": return TapeToken(.false)
        default: throw malformed("a boolean is malformed", start)
        }
    }

    private func date(_ words: [UInt8], _ start: Int) throws(WireFormatError) -> WireDate {
        let text = String(decoding: words, as: UTF8.self)
        if let instant = WireDate(rfc3339: text) { return instant }
        guard let seconds = WireDecimal(text), let instant = WireDate.referenceDate.adding(decimalSeconds: seconds)
        else {
            throw malformed("a date is malformed", start)
        }
        return instant
    }

    private mutating func readData(_ words: [UInt8], _ start: Int) throws(WireFormatError) {
        let digits = words.contains(where: XMLCharacters.isSpace) ? words.filter { !XMLCharacters.isSpace($0) } : words
        guard let data = Base64.decode(digits) else { throw malformed("data is not strict base64", start) }
        try builder.bytes(builder.aside(.data, data), at: start)
    }

    private func uid(_ words: [UInt8], _ start: Int) throws(WireFormatError) -> UInt64 {
        switch XMLNumbers.Integer(words) {
        case .int64(let value) where value >= 0: return UInt64(value)
        case .uint64(let value): return value
        default: throw malformed("a uid is malformed", start)
        }
    }

    private func malformed(_ message: String, _ offset: Int) -> WireFormatError {
        builder.failure(.malformed, message, at: offset)
    }
}
