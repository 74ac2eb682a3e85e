import AdapterKit

/// A document of a shape to a value. Recursion is bounded by the depth that the scanner allows.
struct ShapedXMLReader: ~Copyable {
    let document: ShapedXML
    var scanner: XMLScanner
    var unknown: [ShapedXML.Unknown] = []
    /// The names of the open elements, for reports.
    var path: [String] = []
    /// The namespace of the document's elements.
    var namespace = XMLNamespaces.none

    init(document: ShapedXML, source: XMLSource, limits: ReadingLimits) {
        self.document = document
        scanner = XMLScanner(start: source.start, maximumDepth: limits.depth)
    }

    mutating func readDocument(_ text: Span<UInt8>) throws(WireFormatError) -> ShapedXML.Reading {
        while try scanner.next(text) != .startElement {}
        guard localName(text) == document.root.text,
            scanner.namespaces.name(scanner.name.namespace).elementsEqual(document.namespace.utf8)
        else { throw malformed("the root element is another one than `\(document.root.text)`", text) }
        namespace = scanner.name.namespace
        let value = try readElement(document.root.text, document.shape, text)
        while try scanner.next(text) != .endDocument {}
        return .init(value: value, unknown: unknown)
    }

    /// The element whose start was just met, up to its end.
    private mutating func readElement(
        _ name: String, _ shape: Shape, _ text: Span<UInt8>
    ) throws(WireFormatError) -> WireValue {
        path.append(name)
        defer { path.removeLast() }
        reportAttributes(text)
        switch shape {
        case .object(let object): return .dictionary(try readMembers(object, text))
        case .list(let element): return .array(try readItems(named: "item", element, text))
        default: return try readScalar(shape, text)
        }
    }

    private mutating func readMembers(
        _ object: ObjectShape, _ text: Span<UInt8>
    ) throws(WireFormatError) -> WireDictionary {
        var found: [String: WireValue] = [:]
        while let name = try nextElement(text) {
            guard let member = object.member(name) else {
                try skipUnknown(name, text)
                continue
            }
            let element = member.shape.listElement
            if let element, let item = document.wrappedLists[member.name] {
                path.append(name)
                defer { path.removeLast() }
                try put(.array(try readItems(named: item.text, element, text)), name, into: &found, text)
            } else if case .list(let element) = member.shape {
                let items = found[name]?.arrayValue ?? []
                found[name] = nil
                found[name] = .array(items + [try readElement(name, element, text)])
            } else {
                try put(try readElement(name, member.shape, text), name, into: &found, text)
            }
        }
        return ordered(found, object)
    }

    private func put(
        _ value: WireValue, _ name: String, into found: inout [String: WireValue], _ text: Span<UInt8>
    ) throws(WireFormatError) {
        guard found.updateValue(value, forKey: name) == nil else {
            throw WireFormatError(
                .duplicateKey, "an element occurs twice", at: .init(offset: scanner.eventStart, in: text))
        }
    }

    /// In declared order, with the lists that have no items.
    private func ordered(_ found: [String: WireValue], _ object: ObjectShape) -> WireDictionary {
        var members = WireDictionary()
        for member in object.members {
            if let value = found[member.name.text] {
                members[member.name.text] = value
            } else if case .list = member.shape {
                members[member.name.text] = []
            }
        }
        return members
    }

    private mutating func readItems(
        named item: String, _ element: Shape, _ text: Span<UInt8>
    ) throws(WireFormatError) -> [WireValue] {
        var items: [WireValue] = []
        while let name = try nextElement(text) {
            if name == item { items.append(try readElement(name, element, text)) } else { try skipUnknown(name, text) }
        }
        return items
    }

    private mutating func readScalar(_ shape: Shape, _ text: Span<UInt8>) throws(WireFormatError) -> WireValue {
        let start = scanner.position
        let words = try scanner.takeWholeText(text)
        guard let value = ShapedXMLText.value(of: words, shape) else {
            throw WireFormatError(
                .malformed, "the text of `\(path.joined(separator: "/"))` is not of its type",
                at: .init(offset: start, in: text))
        }
        return value
    }
}

/// From element to element, and the errors for those that the shape does not have.
extension ShapedXMLReader {
    /// The local name of the next element inside of the current one; nil at its end. An element in another namespace is
    /// reported and skipped.
    mutating func nextElement(_ text: Span<UInt8>) throws(WireFormatError) -> String? {
        while true {
            switch try scanner.next(text) {
            case .endElement, .endDocument: return nil
            case .startElement:
                if scanner.name.namespace == namespace { return localName(text) }
                try skipUnknown(String(decoding: Array(copying: text, scanner.name.range), as: UTF8.self), text)
            case .text where XMLText.isSpace(scanner.content, text): break
            case .text, .cdata: throw malformed("text between elements", text)
            case .comment, .processingInstruction: break
            }
        }
    }

    mutating func skipUnknown(_ name: String, _ text: Span<UInt8>) throws(WireFormatError) {
        report(name, at: scanner.eventStart, text)
        let depth = scanner.depth
        while scanner.depth >= depth { _ = try scanner.next(text) }
    }

    /// What describes the document itself is expected everywhere: `xsi:schemaLocation`, `xml:lang`.
    mutating func reportAttributes(_ text: Span<UInt8>) {
        for attribute in scanner.attributes {
            let namespace = scanner.namespaces.name(attribute.name.namespace)
            if attribute.name.namespace == XMLNamespaces.xml
                || namespace.elementsEqual("http://www.w3.org/2001/XMLSchema-instance".utf8)
            {
                continue
            }
            let name = String(decoding: Array(copying: text, attribute.name.range), as: UTF8.self)
            report("@" + name, at: attribute.name.offset, text)
        }
    }

    mutating func report(_ name: String, at offset: Int, _ text: Span<UInt8>) {
        guard unknown.count < ShapedXML.reportedUnknowns else { return }
        unknown.append(
            .init(path: (path + [name]).joined(separator: "/"), position: .init(offset: offset, in: text)))
    }

    func localName(_ text: Span<UInt8>) -> String {
        String(decoding: Array(copying: text, scanner.name.localRange), as: UTF8.self)
    }

    func malformed(_ message: String, _ text: Span<UInt8>) -> WireFormatError {
        WireFormatError(.malformed, message, at: .init(offset: scanner.eventStart, in: text))
    }
}

/// Scalars as XML Schema writes them (part 2, section 3.2).
enum ShapedXMLText {
    /// Nil where the value is not of the shape.
    static func text(of value: WireValue, _ shape: Shape) -> String? {
        switch (shape, value) {
        case (.bool, .bool(let flag)), (.any, .bool(let flag)): flag ? "true" : "false"
        case (.integer, .int64), (.integer, .uint64), (.double, _), (.decimal, _): number(value, shape)
        case (.string, .string(let text)), (.choice, .string(let text)), (.any, .string(let text)): text
        case (.date, .date(let instant)), (.any, .date(let instant)): instant.rfc3339
        case (.data, .data(let bytes)), (.any, .data(let bytes)): String(decoding: Base64.encode(bytes), as: UTF8.self)
        case (.any, _): number(value, shape)
        default: nil
        }
    }

    private static func number(_ value: WireValue, _ shape: Shape) -> String? {
        switch value {
        case .int64(let number): String(number)
        case .uint64(let number): String(number)
        case .double(let number) where number.isFinite:
            // `xs:decimal` has no exponent, `xs:double` and a decimal of the same digits do.
            shape == .decimal(scale: nil) ? plain(WireDecimal(number.description)) : number.description
        case .double(let number): number.isNaN ? "NaN" : number < 0 ? "-INF" : "INF"
        case .decimal(let number): plain(number)
        default: nil
        }
    }

    /// Without an exponent.
    private static func plain(_ number: WireDecimal?) -> String? {
        guard let number, number.exponent.magnitude <= WireDecimal.maximumDigits else { return nil }
        guard number.exponent > 0 else {
            let digits = Array(number.digits)
            let padded = Array(repeating: "0", count: max(0, 1 - number.exponent - digits.count)) + digits
            let point = padded.count + number.exponent
            let fraction = point < padded.count ? "." + String(padded[point...]) : ""
            return (number.isNegative ? "-" : "") + String(padded[..<point]) + fraction
        }
        return (number.isNegative ? "-" : "") + number.digits + String(repeating: "0", count: number.exponent)
    }

    /// Nil where the text is not one of the shape's type. Objects and lists have no text.
    static func value(of text: [UInt8], _ shape: Shape) -> WireValue? {
        let word = String(decoding: text, as: UTF8.self)
        let trimmed = text.drop(while: XMLCharacters.isSpace).reversed().drop(while: XMLCharacters.isSpace).reversed()
        switch shape {
        case .any, .string, .choice: return .string(word)
        case .bool: return bool(Array(trimmed))
        case .integer: return integer(Array(trimmed))
        case .double: return double(Array(trimmed))
        case .decimal: return WireDecimal(String(decoding: Array(trimmed), as: UTF8.self)).map { .decimal($0) }
        case .date: return WireDate(rfc3339: String(decoding: Array(trimmed), as: UTF8.self)).map { .date($0) }
        case .data: return Base64.decode(text.filter { !XMLCharacters.isSpace($0) }).map { .data($0) }
        case .list, .object: return nil
        }
    }

    private static func bool(_ text: [UInt8]) -> WireValue? {
        switch String(decoding: text, as: UTF8.self) {
        case "true", "1": .bool(true)
        case "false", "0": .bool(false)
        default: nil
        }
    }

    private static func integer(_ text: [UInt8]) -> WireValue? {
        switch XMLNumbers.Integer(text) {
        case .int64(let number): .int64(number)
        case .uint64(let number): .uint64(number)
        case .larger, nil: nil
        }
    }

    private static func double(_ text: [UInt8]) -> WireValue? {
        if case .double(let number)? = XMLNumbers.Real(text) { .double(number) } else { nil }
    }
}
